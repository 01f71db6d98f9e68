// SPDX-License-Identifier: Apache-2.0
// FINAL: every ready key is the reduction of the accepted rows of its pool.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

bool is_mine(PlaneKind kind) noexcept {
  return kind == PlaneKind::kPoolKeys;
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
                    "FINAL",
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
                       "FINAL",
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

extern Invariant const kFinal;
Invariant const kFinal{"FINAL",
                       "index-pool finality",
                       "key p equals the reduction of the accepted rows of pool p; final keys do "
                       "not change while visible to anyone",
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
