// SPDX-License-Identifier: Apache-2.0
// FINAL: every ready key is the reduction of the accepted rows of its pool.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

bool is_mine(PlaneBinding const& plane) noexcept {
  return plane.info.kind == PlaneKind::kPoolKeys;
}

void cheap(Check const& check, Report& report) {
  check_touched_rows(check, report, "FINAL", &is_mine);
}

void deep(Check const& check, Report& report) {
  check_all_rows(check, report, "FINAL", &is_mine);
}

}  // namespace

extern Invariant const kFinal;
Invariant const kFinal{"FINAL",
                       "index-pool finality",
                       "key p equals the reduction of the accepted rows of pool p; final keys "
                       "do not change while visible to anyone",
                       model::Facet::kVisible,
                       {},
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
