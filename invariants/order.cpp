// SPDX-License-Identifier: Apache-2.0
// ORDER: whatever two streams, or a stream and the host, do to the same bytes is ordered, and what a sequence may
// see is ordered before the stream that has it. The driver has it looked at there (fuzz/runner_looks.cpp).
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (check.sim == nullptr) {
    return;
  }
  if (auto const& conflict = check.sim->order().conflict(); conflict) {
    report.add({.id = "ORDER",
                .holder = check.subject ? name_of(*check.subject) : "",
                .text = describe(*check.sim, *conflict)});
  }
  if (std::string const& deadlock = check.sim->deadlock(); !deadlock.empty()) {
    report.add({.id = "ORDER", .text = "deadlock: " + deadlock});
  }
}

}  // namespace

extern Invariant const kOrder;
Invariant const kOrder{"ORDER",
                       "order",
                       "every read, write and reuse is ordered by happens-before, and so is all "
                       "that a sequence may see before "
                       "the stream of its last call",
                       model::Facet::kDevices,
                       {},
                       &cheap,
                       &cheap};

}  // namespace holdfast::invariant
