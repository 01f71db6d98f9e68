// SPDX-License-Identifier: Apache-2.0
// IMMUT: bytes that a snapshot or a prefix entry holds never change.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Rows of a plane that a snapshot or entry holds: of windowed ones those that its length needs, of the
/// others all.
model::RowRange held_rows(Check const& check,
                          PlaneBinding const& plane,
                          model::History const& history) {
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  return {plane.needed_rows(check.model.shape(), length).first, plane.rows_of(history)};
}

/// Compares what a snapshot or entry holds on one written page.
void check_page(Check const& check,
                Report& report,
                Place const& place,
                Label name,
                model::History const& history) {
  PlaneBinding const& plane = *place.plane;
  Holder const holder = check.holder(name);
  if (plane.reference == nullptr) {
    if (check.inspection.state(holder, plane.index).slot == place.page) {
      check_state(check, report, "IMMUT", name, history);
    }
    return;
  }
  model::RowRange const held = held_rows(check, plane, history);
  std::uint32_t const page_rows = plane.info.page_rows;
  if (plane.info.window_rows == 0 && place.entry != UINT32_MAX &&
      check.inspection.page(holder, plane.index, place.entry) != place.page) {
    return;  // a shared page has the same entry in every table
  }
  for (std::uint32_t first = held.first / page_rows * page_rows; first < held.last;
       first += page_rows) {
    if (check.inspection.page(holder, plane.index, plane.entry_of_row(first)) == place.page) {
      check_rows(check,
                 report,
                 "IMMUT",
                 plane,
                 name,
                 history,
                 {std::max(held.first, first), std::min(held.last, first + page_rows)});
      return;
    }
  }
}

void cheap(Check const& check, Report& report) {
  for (Place const& place : check.places) {
    if (place.alone) {
      continue;  // the writer's own
    }
    for_each_held(check, [&](Label name, model::History const& history) {
      if (report.is_clean()) {
        check_page(check, report, place, name, history);
      }
    });
  }
}

void deep(Check const& check, Report& report) {
  for_each_held(check, [&](Label name, model::History const& history) {
    for (PlaneBinding const& plane : check.planes) {
      if (report.is_clean() && plane.reference != nullptr) {
        check_rows(check, report, "IMMUT", plane, name, history, held_rows(check, plane, history));
      }
    }
    if (report.is_clean()) {
      check_state(check, report, "IMMUT", name, history);
    }
  });
}

}  // namespace

extern Invariant const kImmut;
Invariant const kImmut{"IMMUT",
                       "immutability",
                       "bytes visible to a snapshot, entry or fork never change",
                       model::Facet::kVisible,
                       model::Facet::kInternals,
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
