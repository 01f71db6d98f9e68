// SPDX-License-Identifier: Apache-2.0
// ONCE: an open handle is used up exactly once; afterwards it is stale, and nothing of it is left.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, char const* plane, std::string text) {
  report.add({.id = "ONCE",
              .plane = plane,
              .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = std::move(text)});
}

/// A sequence is open exactly when the program has opened it and not yet closed it.
void check_open(Check const& check, Report& report, model::SequenceLook const& sequence) {
  model::OpenHandle const& open = check.model.sequence(*check.subject).open;
  std::uint32_t const rows = open.open ? open.rows : 0;
  if (sequence.open != open.open || sequence.round != (open.open && open.round) ||
      sequence.open_rows != rows) {
    add(check,
        report,
        "",
        std::string{sequence.open ? "a handle is open" : "no handle is open"} + " with " +
            std::to_string(sequence.open_rows) + " rows, there must be " +
            (open.open ? "one" : "none") + " with " + std::to_string(rows));
  }
}

/// At rest no column and no page is kept for a handle.
void check_columns(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    std::size_t const pages =
        check.inspection.open_pages(check.holder(*check.subject).index, plane.index).size();
    if (pages != 0) {
      add(check,
          report,
          plane.info.name,
          std::to_string(pages) + " pages or slots are kept for a handle that is closed");
      return;
    }
  }
}

void cheap(Check const& check, Report& report) {
  if (check.want.is(ErrorCode::kStale) && check.got.ok) {
    add(check, report, "", "a handle that was used up, released or dropped still works");
    return;
  }
  if (!check.subject || !check.model.sequence(*check.subject).created) {
    return;
  }
  model::SequenceLook const sequence = check.visible.sequence(*check.subject);
  if (!check.model.sequence(*check.subject).live) {
    if (sequence.live) {
      add(check, report, "", "the sequence was released, and its id still names it");
    }
    return;
  }
  if (check.model.sequence(*check.subject).unknown) {
    return;  // a device call failed while it was open: it keeps what it took until it is released
  }
  check_open(check, report, sequence);
  if (check.internals != nullptr && report.is_clean() &&
      !check.model.sequence(*check.subject).open.open) {
    check_columns(check, report);
  }
}

}  // namespace

extern Invariant const kOnce;
Invariant const kOnce{"ONCE",
                      "once",
                      "pending choices (open handle, kept rows, columns) are consumed exactly once "
                      "and reset on reuse; what is used up stays stale",
                      model::Facet::kVisible,
                      model::Facet::kInternals,
                      &cheap,
                      nullptr};

}  // namespace holdfast::invariant
