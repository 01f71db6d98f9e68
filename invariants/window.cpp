// SPDX-License-Identifier: Apache-2.0
// WINDOW: the rows that a windowed plane says are resident, and those that its length needs, are there and
// right; pages of an absolute table below them are given back.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Entries of an absolute table whose rows are all gone name page 0.
void check_given_back(Check const& check, Report& report, PlaneBinding const& plane, Label name) {
  Holder const holder = check.holder(name);
  PlaneState const state = check.inspection.state(holder, plane.index);
  for (std::uint32_t entry = 0; (entry + 1) * plane.info.page_rows <= state.lo; ++entry) {
    if (std::uint32_t const page = check.inspection.page(holder, plane.index, entry); page != 0) {
      report.add({.id = "WINDOW",
                  .plane = plane.info.name,
                  .layer = plane.info.layers.front(),
                  .position = std::int64_t{entry} * plane.info.page_rows,
                  .holder = name.text(),
                  .text = "page " + std::to_string(page) +
                          " is still held, though rows are resident "
                          "only from " +
                          std::to_string(state.lo) + " on"});
      return;
    }
  }
}

/// Resident rows from `from` on, and those that the length needs.
void check_window(Check const& check,
                  Report& report,
                  PlaneBinding const& plane,
                  Label name,
                  model::History const& history,
                  std::uint32_t from) {
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  std::uint32_t const needed = plane.needed_rows(check.model.shape(), length).first;
  std::uint32_t const lo = check.visible.plane(name, plane.index).resident;
  if (needed < length && lo > needed) {
    report.add({.id = "WINDOW",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = needed,
                .holder = name.text(),
                .text = "rows are needed from " + std::to_string(needed) +
                        " on, but rows are resident only from " + std::to_string(lo)});
    return;
  }
  std::uint32_t const must = check.model.view(history, plane.model_planes.front()).lo;
  if (lo < must) {
    report.add({.id = "WINDOW",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = lo,
                .holder = name.text(),
                .text = "rows from " + std::to_string(lo) +
                        " on count as resident, but those below " + std::to_string(must) +
                        " may be gone"});
    return;
  }
  if (check.internals != nullptr && plane.info.ring_rows == 0) {
    check_given_back(check, report, plane, name);
  }
  std::uint32_t const first = std::max(lo, std::min(from, needed));
  check_rows(check, report, "WINDOW", plane, name, history, {std::min(first, length), length});
}

void cheap(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    if (check.touched && report.is_clean() && plane.window() != nullptr) {
      check_window(check,
                   report,
                   plane,
                   label(*check.subject),
                   check.model.history(check.model.sequence(*check.subject)),
                   check.touched_first);
    }
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(check, [&](model::SequenceName name, model::History const& history) {
    for (PlaneBinding const& plane : check.planes) {
      // While a handle is open its rows may have taken the place of all but those that are needed.
      if (report.is_clean() && plane.window() != nullptr && !check.model.sequence(name).open.open &&
          !check.model.sequence(name).unknown) {
        check_window(check, report, plane, label(name), history, 0);
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
    model::Facet::kVisible,
    {},
    &cheap,
    &deep};

}  // namespace holdfast::invariant
