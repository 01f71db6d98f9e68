// SPDX-License-Identifier: Apache-2.0
// PROV: every visible row of an append-only plane is that of the accepted token at its position.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

bool is_mine(PlaneKind kind) noexcept {
  return kind == PlaneKind::kAttentionKv || kind == PlaneKind::kLatent;
}

void cheap(Check const& check, Report& report) {
  if (!check.touched) {
    return;
  }
  model::History const& history = check.model.history(check.model.sequence(*check.subject));
  for (PlaneBinding const& plane : check.planes) {
    if (is_mine(plane.info.kind) &&
        !check_rows(check,
                    report,
                    "PROV",
                    plane,
                    check.holder(*check.subject),
                    label(*check.subject),
                    history,
                    {plane.units(check.touched_first), plane.units(check.touched_last)})) {
      return;
    }
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(
      check, [&](model::SequenceName name, Holder holder, model::History const& history) {
        for (PlaneBinding const& plane : check.planes) {
          if (report.is_clean() && is_mine(plane.info.kind)) {
            check_rows(check,
                       report,
                       "PROV",
                       plane,
                       holder,
                       label(name),
                       history,
                       {0, plane.units(static_cast<std::uint32_t>(history.tokens.size()))});
          }
        }
      });
}

}  // namespace

extern Invariant const kProv;
Invariant const kProv{
    "PROV",
    "provenance",
    "every visible row is the row of this sequence's accepted token at that position",
    &cheap,
    &deep};

}  // namespace holdfast::invariant
