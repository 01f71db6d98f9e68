// SPDX-License-Identifier: Apache-2.0
// PROV: every visible row of an append-only plane is that of the accepted token at its position.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// One row a token, all of them kept.
bool is_mine(PlaneBinding const& plane) noexcept {
  return plane.reference != nullptr && plane.info.unit_tokens == 1 && plane.window() == nullptr;
}

void cheap(Check const& check, Report& report) {
  check_touched_rows(check, report, "PROV", &is_mine);
}

void deep(Check const& check, Report& report) {
  check_all_rows(check, report, "PROV", &is_mine);
}

}  // namespace

extern Invariant const kProv;
Invariant const kProv{"PROV",
                      "provenance",
                      "every visible row is the row of this sequence's accepted token at "
                      "that position",
                      model::Facet::kVisible,
                      {},
                      &cheap,
                      &deep};

}  // namespace holdfast::invariant
