// SPDX-License-Identifier: Apache-2.0
// LEN: at rest every plane reports the sequence's position, and the device's record agrees.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void check_lengths(Check const& check, Report& report, Label name, model::History const& history) {
  auto const position = static_cast<std::uint32_t>(history.tokens.size());
  for (PlaneBinding const& plane : check.planes) {
    std::uint32_t const length = check.visible.plane(name, plane.index).length;
    if (length != plane.rows_of(history)) {
      report.add(
          {.id = "LEN",
           .plane = plane.info.name,
           .layer = plane.info.layers.empty() ? -1 : std::int64_t{plane.info.layers.front()},
           .position = position,
           .holder = name.text(),
           .text = "the plane reports length " + std::to_string(length) + ", must be " +
                   std::to_string(plane.rows_of(history)) + " at position " +
                   std::to_string(position) +
                   describe_length(check, plane, name, history, length, plane.rows_of(history))});
      return;
    }
  }
}

/// The slot of the stage that a device belongs to.
std::uint32_t slot_on(Check const& check,
                      model::SequenceName name,
                      Holder holder,
                      std::uint32_t stage) {
  std::uint32_t slot = 0;
  for (PlaneBinding const& plane : check.planes) {
    if (plane.info.stage != stage || plane.info.page_rows != 0) {
      continue;
    }
    // In place a kernel reads the copy that it writes, where there is one.
    auto const open = check.inspection.open_pages(holder.index, plane.index);
    bool const copied = plane.reference == nullptr && !open.empty() &&
                        check.model.sequence(name).open.mode == model::StateMode::kInPlace;
    slot = std::max(slot, copied ? open.front() : check.inspection.state(holder, plane.index).slot);
  }
  return slot;
}

void check_mirror(Check const& check, Report& report, model::SequenceName name) {
  if (!check.settled || check.internals == nullptr) {
    return;
  }
  Holder const holder = check.holder(name);
  SequenceInfo const sequence = check.inspection.sequence(holder.index);
  std::uint32_t const ranks = check.inspection.ranks();
  std::uint32_t const devices = ranks * check.inspection.stages();
  for (std::uint32_t device = 0; device < devices && report.is_clean(); ++device) {
    auto const mirror = check.inspection.mirror(holder.index, device);
    if (mirror && mirror->committed == sequence.position && mirror->open == sequence.open_rows &&
        mirror->generation == sequence.generation &&
        mirror->read_slot == slot_on(check, name, holder, device / ranks)) {
      continue;
    }
    report.add({.id = "LEN",
                .position = sequence.position,
                .holder = name_of(name),
                .text = "the record on device " + std::to_string(device) + " says " +
                        std::to_string(mirror ? mirror->committed : 0) + " committed and " +
                        std::to_string(mirror ? mirror->open : 0) + " open rows, the host " +
                        std::to_string(sequence.position) + " and " +
                        std::to_string(sequence.open_rows) + "; it reads slot " +
                        std::to_string(mirror ? mirror->read_slot : 0) + ", must read " +
                        std::to_string(slot_on(check, name, holder, device / ranks))});
  }
}

void check_sequence(Check const& check, Report& report, model::SequenceName name) {
  std::uint32_t const position = check.model.position(name);
  std::uint32_t const found = check.visible.sequence(name).position;
  if (found != position) {
    report.add({.id = "LEN",
                .position = position,
                .holder = name_of(name),
                .text = "the sequence is at " + std::to_string(found) + ", must be at " +
                        std::to_string(position)});
    return;
  }
  check_lengths(check, report, label(name), check.model.history(check.model.sequence(name)));
  check_mirror(check, report, name);
}

void cheap(Check const& check, Report& report) {
  if (check.touched) {
    check_sequence(check, report, *check.subject);
  } else if (check.subject && check.model.sequence(*check.subject).live &&
             !check.model.sequence(*check.subject).tainted) {
    check_mirror(check, report, *check.subject);  // a handle is open, or nothing has changed
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(check, [&](model::SequenceName name, model::History const&) {
    if (report.is_clean() && !check.model.sequence(name).open.open &&
        !check.model.sequence(name).tainted) {
      check_sequence(check, report, name);
    }
  });
  for_each_held(check, [&](Label name, model::History const& history) {
    if (report.is_clean()) {
      check_lengths(check, report, name, history);
    }
  });
}

}  // namespace

extern Invariant const kLen;
Invariant const kLen{"LEN",
                     "length",
                     "at rest every plane reports length == position, draft planes their "
                     "watermark, and the device's records agree with the host",
                     model::Facet::kVisible,
                     model::Facet::kInternals,
                     &cheap,
                     &deep};

}  // namespace holdfast::invariant
