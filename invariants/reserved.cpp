// SPDX-License-Identifier: Apache-2.0
// RESERVED: page 0, slot 0 and sequence 0 are scratch: nobody gets them, nothing is kept in them.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, PlaneBinding const* plane, std::string text) {
  report.add({.id = "RESERVED",
              .plane = plane == nullptr ? "" : plane->info.name,
              .layer = plane == nullptr ? -1 : layer_of(*plane),
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = std::move(text)});
}

/// The device's record of sequence 0 says nothing: padding rows find no row and no state there.
void check_record(Check const& check, Report& report) {
  if (!check.settled) {
    return;
  }
  auto const mirror = check.inspection.mirror(0);
  if (mirror && mirror->committed == 0 && mirror->open == 0 && mirror->generation == 0 &&
      mirror->read_slot == 0) {
    return;
  }
  add(check,
      report,
      nullptr,
      "the device's record of sequence 0 says " + std::to_string(mirror ? mirror->committed : 0) +
          " committed and " + std::to_string(mirror ? mirror->open : 0) +
          " open rows; it is for padding, and has none");
}

/// What the subject was given.
void check_subject(Check const& check, Report& report) {
  Holder const own = check.holder(*check.subject);
  if (own.index == 0) {
    add(check, report, nullptr, "a sequence has the reserved index 0");
    return;
  }
  for (PlaneBinding const& plane : check.planes) {
    PlaneState const& now = check.now[plane.index];
    auto const open = check.inspection.open_pages(own.index, plane.index);
    bool const is_open = std::find(open.begin(), open.end(), 0U) != open.end();
    bool const is_state = plane.info.page_rows == 0 && now.slot == 0;
    bool const is_page = plane.info.page_rows != 0 && plane.info.ring_rows == 0 && now.pages != 0 &&
                         check.inspection.page(own, plane.index, now.pages - 1) == 0;
    if (is_open || is_state || is_page) {
      add(check, report, &plane, "the sequence was given the reserved page or slot 0");
      return;
    }
  }
}

void cheap(Check const& check, Report& report) {
  for (Place const& place : check.places) {
    if (place.page == 0 && report.is_clean()) {
      add(check, report, place.plane, "the reserved page or slot 0 was written");
    }
  }
  for (model::ByteRange const& range : check.poison_reads) {
    std::vector<Place> read;
    add_place(check.planes, range, read);
    if (!read.empty() && read[0].page == 0 && report.is_clean()) {
      add(check, report, read[0].plane, "the reserved page or slot 0 was read");
    }
  }
  if (model::step_items(*check.op) != nullptr) {
    check_record(check, report);  // steps have padding
  }
  if (check.snapshot && check.model.snapshot_of(*check.snapshot).live &&
      check.holder(label(*check.snapshot)).index == 0) {
    add(check, report, nullptr, name_of(*check.snapshot) + " has the reserved index 0");
  }
  if (check.subject && check.got.ok && check.model.sequence(*check.subject).live &&
      report.is_clean()) {
    check_subject(check, report);
  }
}

/// The table of sequence 0 names page 0 throughout, and nobody refers to page 0 or wrote it.
void check_plane(Check const& check, Report& report, PlaneBinding const& plane) {
  static thread_local std::vector<std::uint32_t> entries;
  entries.assign(plane.info.entries, 0);
  Status const read = check.inspection.read_table(0, plane.index, 0, entries);
  if (!read || std::any_of(entries.begin(), entries.end(), [](auto page) { return page != 0; })) {
    add(check, report, &plane, "the device's table of sequence 0 names another page than 0");
  }
  if (check.inspection.page_references(plane.index, 0) != 0 ||
      check.inspection.page_writer(plane.index, 0) != 0) {
    add(check, report, &plane, "the reserved page or slot 0 has a holder or a writer");
  }
  auto const free = check.inspection.free_pages(plane.index);
  if (std::find(free.begin(), free.end(), 0U) != free.end()) {
    add(check, report, &plane, "the reserved page or slot 0 can be handed out");
  }
}

void deep(Check const& check, Report& report) {
  check_record(check, report);
  for (PlaneBinding const& plane : check.planes) {
    if (report.is_clean()) {
      check_plane(check, report, plane);
    }
  }
}

}  // namespace

extern Invariant const kReserved;
Invariant const kReserved{"RESERVED",
                          "reserved",
                          "page 0, slot 0 and sequence 0 are never handed out, held, published, "
                          "written or read as anybody's",
                          model::Facet::kInternals | model::Facet::kDevices,
                          {},
                          &cheap,
                          &deep};

}  // namespace holdfast::invariant
