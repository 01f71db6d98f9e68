// SPDX-License-Identifier: Apache-2.0
// UNITS: tables count in the plane's own unit, stay inside themselves, and the device's table names
// the same live pages as the host's.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(
    Report& report, PlaneBinding const& plane, Label name, std::uint32_t entry, std::string text) {
  report.add({.id = "UNITS",
              .plane = plane.info.name,
              .layer = layer_of(plane),
              .position = std::int64_t{entry} * plane.info.page_rows * plane.info.unit_tokens,
              .holder = name.text(),
              .text = std::move(text)});
}

/// Entries that so many rows take; where rows wrap around, all.
std::uint32_t entries_for(PlaneBinding const& plane, std::uint32_t rows) noexcept {
  return plane.info.ring_rows != 0 ? plane.info.entries : pages_for(plane, rows);
}

/// The table has the entries of its rows, and is long enough for them.
bool check_size(Report& report,
                PlaneBinding const& plane,
                Label name,
                PlaneState const& state,
                std::uint32_t rows) {
  std::uint32_t const want = entries_for(plane, rows);
  if (state.pages == want && want <= plane.info.entries) {
    return true;
  }
  add(report,
      plane,
      name,
      want,
      "the table has " + std::to_string(state.pages) + " pages for " + std::to_string(rows) +
          " rows, must have " + std::to_string(want) + " of at most " +
          std::to_string(plane.info.entries));
  return false;
}

/// Entries [first, last) name live pages of the plane's arena, on the device as on the host. Where rows
/// wrap around, an entry without a page says nothing; in an absolute table it names page 0 once its rows
/// are gone.
void check_entries(Check const& check,
                   Report& report,
                   PlaneBinding const& plane,
                   model::SequenceName name,
                   std::uint32_t rank,
                   std::uint32_t first,
                   std::uint32_t last) {
  constexpr std::uint32_t kBlock = 64;
  Holder const holder = check.holder(name);
  std::uint32_t device[kBlock];
  std::uint32_t host[kBlock];
  for (std::uint32_t entry = first; entry < last; ++entry) {
    std::uint32_t const in_block = (entry - first) % kBlock;
    if (in_block == 0) {
      std::uint32_t const count = last - entry < kBlock ? last - entry : kBlock;
      if (!check.inspection.read_table(holder.index, plane.index, entry, {device, count}, rank)) {
        add(report, plane, label(name), entry, "the device's table cannot be read");
        return;
      }
      check.inspection.pages(holder, plane.index, entry, {host, count});
    }
    std::uint32_t const page = host[in_block];
    if (page == 0 && plane.info.ring_rows != 0) {
      continue;
    }
    bool const is_gone = page == 0 && (entry + 1) * plane.info.page_rows <=
                                          check.inspection.state(holder, plane.index).lo;
    bool const is_live =
        is_gone || (page != 0 && check.inspection.page_references(plane.index, page) != 0);
    if (!is_live || (check.settled && device[in_block] != page)) {
      add(report,
          plane,
          label(name),
          entry,
          "entry " + std::to_string(entry) + " of the device's table names page " +
              std::to_string(device[in_block]) + ", the host's page " + std::to_string(page) +
              (is_live ? "" : ", which is not a live page"));
      return;
    }
  }
}

/// Committed and open rows of a sequence.
std::uint32_t rows_of(Check const& check,
                      PlaneBinding const& plane,
                      PlaneState const& state,
                      SequenceInfo const& sequence) {
  return plane.is_draft()
             ? state.length +
                   PlaneBinding::draft_rows(
                       check.model.shape(), state.length, sequence.position, sequence.open_rows)
             : plane.units(sequence.position + sequence.open_rows);
}

void cheap(Check const& check, Report& report) {
  if (!check.subject || !check.model.sequence(*check.subject).live || !check.got.ok) {
    return;
  }
  SequenceInfo const sequence = check.inspection.sequence(check.holder(*check.subject).index);
  if (check.before.live && sequence == check.before.sequence) {
    return;  // nothing has touched it
  }
  for (PlaneBinding const& plane : check.planes) {
    if (plane.info.page_rows == 0) {
      continue;
    }
    PlaneState const& state = check.now[plane.index];
    if (!check_size(
            report, plane, label(*check.subject), state, rows_of(check, plane, state, sequence))) {
      return;
    }
    // From the first entry on that may have been written; of rollback and fork the last one.
    std::uint32_t first = 0;
    if (plane.info.ring_rows == 0 && state.pages != 0) {
      std::uint32_t const before = plane.is_draft() ? check.before.planes[plane.index].length
                                                    : plane.units(check.before.sequence.position);
      first = check.before.live ? before / plane.info.page_rows : state.pages - 1;
      first = first < state.pages ? first : state.pages - 1;
    }
    for (std::uint32_t rank = 0; rank < plane.bases.size() && report.is_clean(); ++rank) {
      check_entries(check, report, plane, *check.subject, rank, first, state.pages);
    }
    if (!report.is_clean()) {
      return;
    }
  }
}

void deep(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    if (plane.info.page_rows == 0) {
      continue;
    }
    for_each_sequence(check, [&](model::SequenceName name, model::History const&) {
      Holder const holder = check.holder(name);
      if (check.model.sequence(name).unknown) {
        return;  // the device's table was perhaps not told
      }
      PlaneState const state = check.inspection.state(holder, plane.index);
      std::uint32_t const rows =
          rows_of(check, plane, state, check.inspection.sequence(holder.index));
      if (report.is_clean() && check_size(report, plane, label(name), state, rows)) {
        for (std::uint32_t rank = 0; rank < plane.bases.size() && report.is_clean(); ++rank) {
          check_entries(check, report, plane, name, rank, 0, state.pages);
        }
      }
    });
    for_each_held(check, [&](Label name, model::History const&) {
      Holder const holder = check.holder(name);
      PlaneState const state = check.inspection.state(holder, plane.index);
      if (report.is_clean()) {
        std::uint32_t const position = check.inspection.snapshot(holder.index).position;
        check_size(
            report, plane, name, state, plane.is_draft() ? state.length : plane.units(position));
      }
    });
  }
}

}  // namespace

extern Invariant const kUnits;
Invariant const kUnits{"UNITS",
                       "units",
                       "table arithmetic uses the plane's own unit and stays inside the table; the "
                       "device's table names the host's live pages",
                       model::Facet::kInternals,
                       {},
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
