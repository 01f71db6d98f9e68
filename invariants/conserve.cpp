// SPDX-License-Identifier: Apache-2.0
// CONSERVE: references add up; nothing leaks; dropping frees exactly what only the dropped one
// held.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, PlaneBinding const& plane, std::string text) {
  report.add({.id = "CONSERVE",
              .plane = plane.info.name,
              .layer = plane.info.layers.empty() ? -1 : std::int64_t{plane.info.layers.front()},
              .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = std::move(text)});
}

/// Nothing is alive: everything is free.
void check_idle(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    std::uint32_t const free = check.inspection.pages_free(plane.index);
    bool const chunks =
        check.inspection.chunks_free(plane.index) == check.inspection.chunk_limit(plane.index);
    if (free + 1 != plane.info.pages || !chunks) {
      add(check,
          report,
          plane,
          "nothing is alive, but " + std::to_string(plane.info.pages - 1 - free) +
              " pages or slots are not free" + (chunks ? "" : ", nor all chunks"));
      return;
    }
  }
}

/// References counted from the holders.
struct Counts {
  std::vector<std::uint32_t> pages;
  std::vector<std::uint32_t> chunks;
  std::vector<std::uint32_t> table;  // of one holder
};

void count_holder(Check const& check, PlaneBinding const& plane, Holder holder, Counts& counts) {
  PlaneState const state = check.inspection.state(holder, plane.index);
  if (plane.info.page_rows == 0) {
    if (state.slot < counts.pages.size()) {
      ++counts.pages[state.slot];
    }
  } else if (plane.info.chunk_pages == 0) {
    counts.table.resize(state.pages);
    check.inspection.pages(holder, plane.index, 0, counts.table);
    for (std::uint32_t const page : counts.table) {
      ++counts.pages[page];
    }
  } else {
    for (std::uint32_t entry = 0; entry < state.chunks; ++entry) {
      ++counts.chunks[check.inspection.chunk(holder, plane.index, entry)];
    }
  }
}

/// Every holder of a chunk uses every page in it.
void check_chunks(
    Check const& check, Report& report, PlaneBinding const& plane, Holder holder, Label name) {
  PlaneState const state = check.inspection.state(holder, plane.index);
  std::uint32_t in_chunks = 0;
  for (std::uint32_t entry = 0; entry < state.chunks; ++entry) {
    std::uint32_t const chunk = check.inspection.chunk(holder, plane.index, entry);
    in_chunks +=
        static_cast<std::uint32_t>(check.inspection.chunk_pages(plane.index, chunk).size());
  }
  if (plane.info.chunk_pages != 0 && in_chunks != state.pages) {
    add(check,
        report,
        plane,
        name.text() + " uses " + std::to_string(state.pages) + " pages of chunks that hold " +
            std::to_string(in_chunks));
  }
}

void recount(Check const& check, Report& report, PlaneBinding const& plane) {
  static thread_local Counts counts;
  counts.pages.assign(plane.info.pages, 0);
  counts.chunks.assign(check.inspection.chunk_limit(plane.index), 0);
  for_each_sequence(check, [&](model::SequenceName name, model::History const&) {
    Holder const holder = check.holder(name);
    count_holder(check, plane, holder, counts);
    for (std::uint32_t const page : check.inspection.open_pages(holder.index, plane.index)) {
      ++counts.pages[page];
    }
    if (report.is_clean()) {
      check_chunks(check, report, plane, holder, label(name));
    }
  });
  for_each_held(check, [&](Label name, model::History const&) {
    Holder const holder = check.holder(name);
    count_holder(check, plane, holder, counts);
    if (report.is_clean()) {
      check_chunks(check, report, plane, holder, name);
    }
  });
  std::uint32_t live_chunks = 0;
  for (std::uint32_t chunk = 0; chunk < counts.chunks.size() && report.is_clean(); ++chunk) {
    if (counts.chunks[chunk] != check.inspection.chunk_references(plane.index, chunk)) {
      add(check,
          report,
          plane,
          "chunk " + std::to_string(chunk) + " has " +
              std::to_string(check.inspection.chunk_references(plane.index, chunk)) +
              " references, its holders are " + std::to_string(counts.chunks[chunk]));
    }
    if (counts.chunks[chunk] != 0) {
      ++live_chunks;
      for (std::uint32_t const page : check.inspection.chunk_pages(plane.index, chunk)) {
        ++counts.pages[page];
      }
    }
  }
  std::uint32_t live_pages = 0;
  for (std::uint32_t page = 1; page < counts.pages.size() && report.is_clean(); ++page) {
    live_pages += counts.pages[page] != 0 ? 1U : 0U;
    if (counts.pages[page] != check.inspection.page_references(plane.index, page)) {
      add(check,
          report,
          plane,
          "page or slot " + std::to_string(page) + " has " +
              std::to_string(check.inspection.page_references(plane.index, page)) +
              " references, its holders are " + std::to_string(counts.pages[page]));
    }
  }
  if (report.is_clean() &&
      live_pages + check.inspection.pages_free(plane.index) + 1 != plane.info.pages) {
    add(check,
        report,
        plane,
        std::to_string(live_pages) + " pages or slots are held and " +
            std::to_string(check.inspection.pages_free(plane.index)) + " free, of " +
            std::to_string(plane.info.pages - 1));
  }
  if (report.is_clean() && !counts.chunks.empty() &&
      live_chunks + check.inspection.chunks_free(plane.index) != counts.chunks.size()) {
    add(check, report, plane, "held and free chunks do not add up");
  }
}

void cheap(Check const& check, Report& report) {
  if (check.model.live_sequences().empty() && check.model.live_snapshots().empty() &&
      check.model.live_entries().empty()) {
    check_idle(check, report);
  }
  // A restore takes a part of what an entry holds.
  if (check.touched && model::effects_of(*check.op).loads.has(model::Thing::kEntry)) {
    for (PlaneBinding const& plane : check.planes) {
      if (report.is_clean()) {
        check_chunks(check, report, plane, check.holder(*check.subject), label(*check.subject));
      }
    }
  }
}

void deep(Check const& check, Report& report) {
  if (check.drained) {
    check_idle(check, report);
    return;
  }
  for (PlaneBinding const& plane : check.planes) {
    if (report.is_clean()) {
      recount(check, report, plane);
    }
  }
}

}  // namespace

extern Invariant const kConserve;
Invariant const kConserve{
    "CONSERVE",
    "conservation",
    "references and bytes add up; nothing leaks when idle; nothing is freed twice; dropping frees "
    "exactly what only it held",
    model::Facet::kInternals,
    {},
    &cheap,
    &deep};

}  // namespace holdfast::invariant
