// SPDX-License-Identifier: Apache-2.0
// LIVE: what can be truncated is not refused, and what fits is not refused.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (check.want.ok && !check.got.ok) {
    report.add({.id = "LIVE",
                .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
                .holder = check.subject ? name_of(*check.subject) : "",
                .text = std::string{"refused with "} + holdfast::name_of(check.got.code) +
                        " what must succeed"});
  }
}

}  // namespace

extern Invariant const kLive;
Invariant const kLive{"LIVE",
                      "liveness",
                      "what can be truncated is not refused; what fits is not refused",
                      &cheap,
                      nullptr};

}  // namespace holdfast::invariant
