// SPDX-License-Identifier: Apache-2.0
// LIVE: what can be truncated is not refused, and what fits is not refused.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// A ring that forgets resident rows would refuse a truncation that is legal.
void check_resident(Check const& check, Report& report, PlaneBinding const& plane) {
  model::History const& history = check.model.history(check.model.sequence(*check.subject));
  std::uint32_t const must = check.model.view(history, plane.model_planes.front()).lo;
  std::uint32_t const lo = check.now[plane.index].lo;
  if (lo > must) {
    report.add({.id = "LIVE",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = must,
                .holder = name_of(*check.subject),
                .text = "rows from " + std::to_string(must) +
                        " on are resident, but the ring says from " + std::to_string(lo) +
                        ", and would refuse to be shortened to them"});
  }
}

void cheap(Check const& check, Report& report) {
  if (check.want.ok && !check.got.ok) {
    report.add({.id = "LIVE",
                .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
                .holder = check.subject ? name_of(*check.subject) : "",
                .text = std::string{"refused with "} + holdfast::name_of(check.got.code) +
                        " what must succeed"});
  }
  for (PlaneBinding const& plane : check.planes) {
    if (check.touched && report.is_clean() && plane.info.ring_rows != 0) {
      check_resident(check, report, plane);
    }
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
