// SPDX-License-Identifier: Apache-2.0
// OWNER: an operation writes only storage that its sequence, or a loaded entry, may write. The witness is
// the recorder's list of declared writes, not the library's own word.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, Place const& place, std::string const& text) {
  report.add({.id = "OWNER",
              .plane = place.plane->info.name,
              .layer = place.plane->info.layers.empty()
                           ? -1
                           : std::int64_t{place.plane->info.layers.front()},
              .position = check.before.sequence.position,
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = text});
}

/// Whether the operation appends to its sequence in place.
bool appends_in_place(Check const& check) {
  bool found = false;
  model::for_each_opening(*check.op, [&](model::OpenedHandle const& handle) {
    found = found || (!handle.round && handle.mode == model::StateMode::kInPlace &&
                      handle.sequence == *check.subject);
  });
  // One that is open goes on where it is.
  model::OpenHandle const& open = check.model.sequence(*check.subject).open;
  return found || (open.open && !open.round && open.mode == model::StateMode::kInPlace);
}

/// Whether a slot was free before, or belongs to the subject's open handle, and nobody else's
/// state. Only an in-place append may write the slot that it starts from.
bool may_write_slot(Check const& check, Place const& place, std::string& why) {
  std::uint32_t const index = place.plane->index;
  if (place.open) {
    return true;  // what has become of it since does not count
  }
  if (check.inspection.page_references(index, place.page) == 1) {
    auto const open = check.inspection.open_pages(check.holder(*check.subject).index, index);
    bool const fresh = !check.before.live || check.before.planes[index].slot != place.page;
    if (std::find(open.begin(), open.end(), place.page) != open.end() ||
        (fresh && check.now[index].slot == place.page)) {
      return true;  // nobody else holds it
    }
  }
  bool allowed = true;
  for_each_held(check, [&](Label name, model::History const&) {
    Holder const holder = check.holder(name);
    bool const is_taken = check.snapshot && label(*check.snapshot) == name;
    if (check.inspection.state(holder, index).slot == place.page && !is_taken) {
      allowed = false;
      why = "the state that " + name.text() + " holds";
    }
  });
  for_each_sequence(check, [&](model::SequenceName name, model::History const&) {
    Holder const holder = check.holder(name);
    bool const own = check.subject == name;
    if (!own && check.inspection.state(holder, index).slot == place.page) {
      allowed = false;
      why = "the state of " + name_of(name);
    }
  });
  if (check.before.live && check.before.planes[index].slot == place.page &&
      !appends_in_place(check)) {
    allowed = false;
    why = "the state that an open handle starts from";
  }
  return allowed;
}

/// Tokens whose rows a holder sees.
std::uint32_t seen_length(PlaneBinding const& plane, model::History const& history) {
  return plane.is_draft() ? history.watermark : static_cast<std::uint32_t>(history.tokens.size());
}

/// Rows of the page at table entry `entry` that a holder is sure to see: of the page's rows, [first, last).
model::RowRange seen_rows(Check const& check,
                          PlaneBinding const& plane,
                          std::uint32_t entry,
                          std::uint32_t length) {
  std::uint32_t const page_rows = plane.info.page_rows;
  model::RowRange const needed = plane.needed_rows(check.model.shape(), length);
  std::uint32_t page = entry;
  if (plane.info.ring_rows != 0) {
    page = needed.first / page_rows;
    while (page * page_rows < needed.last && plane.entry_of_row(page * page_rows) != entry) {
      ++page;
    }
  }
  std::uint32_t const start = page * page_rows;
  std::uint32_t const first = std::max(needed.first, start);
  std::uint32_t const last = std::min(needed.last, start + page_rows);
  return first < last ? model::RowRange{first - start, last - start} : model::RowRange{};
}

/// Whether a handle that was open before goes around the ring: its base's rows are held apart then, and
/// where they were in the table the handle has a page of its own.
bool goes_around(Check const& check, PlaneBinding const& plane) {
  SequenceInfo const& before = check.before.sequence;
  model::RowRange const needed = plane.needed_rows(check.model.shape(), before.position);
  return before.open && plane.info.ring_rows != 0 &&
         before.position + before.open_rows > needed.first + plane.info.ring_rows;
}

bool overlaps(model::RowRange seen, Place const& place) {
  return std::max(seen.first, place.first_row) < std::min(seen.last, place.last_row);
}

void check_page(Check const& check, Report& report, Place const& place) {
  PlaneBinding const& plane = *place.plane;
  std::uint32_t const entry = place.entry;
  if (place.gone) {
    return;
  }
  if (entry == UINT32_MAX) {
    add(check,
        report,
        place,
        "wrote page " + std::to_string(place.page) +
            ", which its table does not have where it writes");
    return;
  }
  // Its own committed rows, on a page that it had before.
  auto const& kept = check.before.pages[plane.index];
  if (check.before.live && std::find(kept.begin(), kept.end(), place.page) != kept.end() &&
      !goes_around(check, plane) &&
      overlaps(seen_rows(check,
                         plane,
                         entry,
                         plane.is_draft() ? check.before.planes[plane.index].length
                                          : check.before.sequence.position),
               place)) {
    add(check,
        report,
        place,
        "wrote over its own committed rows in page " + std::to_string(place.page));
    return;
  }
  if (place.alone) {
    return;
  }
  for_each_held(check, [&](Label name, model::History const& history) {
    Holder const holder = check.holder(name);
    if (report.is_clean() && check.inspection.page(holder, plane.index, entry) == place.page &&
        overlaps(seen_rows(check, plane, entry, seen_length(plane, history)), place)) {
      add(check,
          report,
          place,
          "wrote rows of page " + std::to_string(place.page) + " that " + name.text() + " sees");
    }
  });
  for_each_sequence(check, [&](model::SequenceName name, model::History const& history) {
    Holder const holder = check.holder(name);
    if (report.is_clean() && name != *check.subject && !check.model.sequence(name).unknown &&
        check.inspection.page(holder, plane.index, entry) == place.page &&
        overlaps(seen_rows(check, plane, entry, seen_length(plane, history)), place)) {
      add(check,
          report,
          place,
          "wrote rows of page " + std::to_string(place.page) + " that " + name_of(name) + " sees");
    }
  });
}

/// Whether the page or slot is the operation's entry's own, and nobody else's.
bool is_of_entry(Check const& check, Place const& place) {
  if (!check.entry) {
    return false;
  }
  PlaneInfo const& info = place.plane->info;
  std::uint32_t const plane = place.plane->index;
  Holder const holder = check.holder(label(*check.entry));
  if (check.inspection.page_references(plane, place.page) != 1) {
    return false;
  }
  std::uint32_t const pages = info.page_rows == 0 ? 1 : check.inspection.state(holder, plane).pages;
  for (std::uint32_t entry = 0; entry < pages; ++entry) {
    if (check.inspection.page(holder, plane, entry) == place.page) {
      return info.chunk_pages == 0 ||
             check.inspection.chunk_references(
                 plane, check.inspection.chunk(holder, plane, entry / info.chunk_pages)) == 1;
    }
  }
  return false;
}

}  // namespace

void check_owner(Check const& check, Report& report) {
  bool const live = check.subject && check.model.sequence(*check.subject).live;
  for (Place const& place : check.places) {
    if (!report.is_clean()) {
      return;
    }
    if (place.page == 0) {
      continue;  // RESERVED looks at it
    }
    if (!check.subject && is_of_entry(check, place)) {
      continue;
    }
    if (!live) {
      add(check,
          report,
          place,
          "wrote page or slot " + std::to_string(place.page) + " for a sequence that is not alive");
    } else if (place.plane->reference == nullptr) {
      std::string why;
      if (!may_write_slot(check, place, why)) {
        add(check, report, place, "wrote slot " + std::to_string(place.page) + ": " + why);
      }
    } else {
      check_page(check, report, place);
    }
  }
}

extern Invariant const kOwner;
Invariant const kOwner{"OWNER",
                       "ownership",
                       "an operation writes only storage that its sequence or entry may write",
                       model::Facet::kInternals | model::Facet::kDevices,
                       {},
                       &check_owner,
                       nullptr};

}  // namespace holdfast::invariant
