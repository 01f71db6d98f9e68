// SPDX-License-Identifier: Apache-2.0
// WINDOW: the rows that a ring says are resident, and those of the open pool, are there and right.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Resident rows from `from` on, and the open pool.
void check_ring(Check const& check,
                Report& report,
                PlaneBinding const& plane,
                Holder holder,
                Label name,
                model::History const& history,
                std::uint32_t from) {
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  std::uint32_t const pool = check.model.shape().planes[plane.model_planes.front()].pool;
  std::uint32_t const open_pool = length / pool * pool;
  PlaneState const state = check.inspection.state(holder, plane.index);
  if (length % pool != 0 && state.lo > open_pool) {
    report.add({.id = "WINDOW",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = open_pool,
                .holder = name.text(),
                .text = "the open pool starts at " + std::to_string(open_pool) +
                        ", but rows are resident only from " + std::to_string(state.lo)});
    return;
  }
  std::uint32_t const must = check.model.view(history, plane.model_planes.front()).lo;
  if (state.lo < must) {
    report.add({.id = "WINDOW",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = state.lo,
                .holder = name.text(),
                .text = "rows from " + std::to_string(state.lo) +
                        " on count as resident, but those below " + std::to_string(must) +
                        " may have been overwritten"});
    return;
  }
  std::uint32_t const first = std::max(state.lo, std::min(from, open_pool));
  check_rows(
      check, report, "WINDOW", plane, holder, name, history, {std::min(first, length), length});
}

void cheap(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    if (check.touched && report.is_clean() && plane.info.kind == PlaneKind::kTailRing) {
      check_ring(check,
                 report,
                 plane,
                 check.holder(*check.subject),
                 label(*check.subject),
                 check.model.history(check.model.sequence(*check.subject)),
                 check.touched_first);
    }
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(
      check, [&](model::SequenceName name, Holder holder, model::History const& history) {
        for (PlaneBinding const& plane : check.planes) {
          // While a handle is open its rows may have lapped all but the open pool's.
          if (report.is_clean() && plane.info.kind == PlaneKind::kTailRing &&
              !check.model.sequence(name).open.open && !check.model.sequence(name).unknown) {
            check_ring(check, report, plane, holder, label(name), history, 0);
          }
        }
      });
}

}  // namespace

extern Invariant const kWindow;
Invariant const kWindow{
    "WINDOW",
    "window",
    "rows that a windowed plane must have are resident and right; what is not resident is refused",
    &cheap,
    &deep};

}  // namespace holdfast::invariant
