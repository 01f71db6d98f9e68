// SPDX-License-Identifier: Apache-2.0
// LATENT: latent rows, indexer rows and ready keys follow one length.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (!check.touched) {
    return;
  }
  std::uint32_t const position = check.model.position(*check.subject);
  for (PlaneBinding const& plane : check.planes) {
    bool const keys = plane.info.kind == PlaneKind::kPoolKeys;
    if (!keys && plane.info.kind != PlaneKind::kLatent && plane.info.kind != PlaneKind::kTailRing) {
      continue;
    }
    std::uint32_t const length = check.now[plane.index].length;
    if (length != plane.units(position)) {
      report.add({.id = "LATENT",
                  .plane = plane.info.name,
                  .layer = plane.info.layers.front(),
                  .position = position,
                  .holder = name_of(*check.subject),
                  .text = (keys ? "ready is " : "the length is ") + std::to_string(length) +
                          ", must be " +
                          (keys ? "floor(" + std::to_string(position) + " / " +
                                      std::to_string(plane.info.unit_tokens) + ") = "
                                : std::string{}) +
                          std::to_string(plane.units(position)) +
                          describe_length(check,
                                          plane,
                                          label(*check.subject),
                                          check.model.history(check.model.sequence(*check.subject)),
                                          length,
                                          plane.units(position))});
      return;
    }
  }
}

}  // namespace

extern Invariant const kLatent;
Invariant const kLatent{"LATENT",
                        "latent length",
                        "latent rows, indexer rows and ready keys follow one length; at rest ready "
                        "== floor(length / pool)",
                        model::Facet::kVisible,
                        {},
                        &cheap,
                        nullptr};

}  // namespace holdfast::invariant
