// SPDX-License-Identifier: Apache-2.0
// INUSE: what the host wrote for enqueued work stays as it is until that work ran. Device memory
// needs no such check: whoever uses it again is ordered behind (ORDER).
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (check.sim == nullptr || !check.sim->overwritten()) {
    return;
  }
  model::WorkNote const& work = *check.sim->overwritten();
  report.add({.id = "INUSE",
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = "the parameters of " + name_of(work) + " on " +
                      check.sim->name_of_line(work.line) +
                      " were written again before it had run"});
}

}  // namespace

extern Invariant const kInuse;
Invariant const kInuse{
    "INUSE",
    "in use",
    "pinned memory that enqueued work reads is not written again before that work "
    "has run",
    model::Facet::kDevices,
    {},
    &cheap,
    &cheap};

}  // namespace holdfast::invariant
