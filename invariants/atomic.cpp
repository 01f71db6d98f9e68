// SPDX-License-Identifier: Apache-2.0
// ATOMIC: rollback and truncate are exact on all planes, or refused with nothing changed.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

bool is_same(PlaneState const& a, PlaneState const& b) {
  return a.length == b.length && a.sealed == b.sealed && a.lo == b.lo && a.pages == b.pages &&
         a.chunks == b.chunks && a.slot == b.slot && a.read_slot == b.read_slot;
}

/// Whose row the plane of the operation's sequence has too many or lacks.
std::string story(Check const& check, PlaneBinding const& plane) {
  model::History const& history = check.model.history(check.model.sequence(*check.subject));
  return describe_length(check,
                         plane,
                         label(*check.subject),
                         history,
                         check.now[plane.index].length,
                         plane.rows_of(history));
}

/// A refused operation: every plane of the sequence is what it was.
void check_unchanged(Check const& check, Report& report) {
  for (PlaneBinding const& plane : check.planes) {
    PlaneState const& now = check.now[plane.index];
    PlaneState const& then = check.before.planes[plane.index];
    if (!is_same(now, then)) {
      report.add({.id = "ATOMIC",
                  .plane = plane.info.name,
                  .layer = plane.info.layers.front(),
                  .position = check.before.sequence.position,
                  .holder = name_of(*check.subject),
                  .text = "the operation was refused, but the plane changed: length " +
                          std::to_string(then.length) + " became " + std::to_string(now.length)});
      return;
    }
  }
}

/// A rollback or fork: every plane names what the snapshot names.
void check_equals_snapshot(Check const& check, Report& report) {
  Label const held = label(*check.snapshot);
  std::size_t const position =
      check.model.history(check.model.snapshot_of(*check.snapshot)).tokens.size();
  for (PlaneBinding const& plane : check.planes) {
    PlaneState const& a = check.now[plane.index];
    PlaneState const b = state_of(check, held, plane.index);
    if (a.length == b.length && a.pages == b.pages && a.slot == b.slot) {
      continue;
    }
    report.add({.id = "ATOMIC",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = static_cast<std::int64_t>(b.length) * plane.info.unit_tokens,
                .holder = name_of(*check.subject),
                .text = "after taking " + name_of(*check.snapshot) + " the plane has length " +
                        std::to_string(a.length) + " and " + std::to_string(a.pages) +
                        " pages, the snapshot " + std::to_string(b.length) + " and " +
                        std::to_string(b.pages) + story(check, plane) +
                        describe_length(
                            check,
                            plane,
                            held,
                            check.model.history(check.model.snapshot_of(*check.snapshot)),
                            b.length,
                            plane.is_draft() ? b.length
                                             : plane.units(static_cast<std::uint32_t>(position)))});
    return;
  }
}

/// A truncation: every plane is at the new length and holds no page above it.
void check_shortened(Check const& check, Report& report) {
  std::uint32_t const position = check.visible.sequence(*check.subject).position;
  for (PlaneBinding const& plane : check.planes) {
    PlaneState const& state = check.now[plane.index];
    std::uint32_t const rows = plane.is_draft()
                                   ? std::min(check.before.planes[plane.index].length, position)
                                   : plane.units(position);
    bool const has_pages = plane.info.page_rows != 0 && plane.info.ring_rows == 0;
    std::uint32_t const pages =
        has_pages ? (rows + plane.info.page_rows - 1) / plane.info.page_rows : state.pages;
    if (state.length == rows && state.pages == pages) {
      continue;
    }
    report.add({.id = "ATOMIC",
                .plane = plane.info.name,
                .layer = plane.info.layers.front(),
                .position = position,
                .holder = name_of(*check.subject),
                .text = "after the truncation the plane has length " +
                        std::to_string(state.length) + " and " + std::to_string(state.pages) +
                        " pages, must have " + std::to_string(rows) + " and " +
                        std::to_string(pages) + story(check, plane)});
    return;
  }
}

void cheap(Check const& check, Report& report) {
  if (!check.subject || !check.model.sequence(*check.subject).live) {
    return;
  }
  if (!check.got.ok) {
    bool const may_differ = check.failed_calls != 0 && check.model.sequence(*check.subject).unknown;
    if (check.before.live && !may_differ) {
      check_unchanged(check, report);
    }
    return;
  }
  model::Effects const effects = model::effects_of(*check.op);
  if (effects.loads.has(model::Thing::kSnapshot)) {
    check_equals_snapshot(check, report);
  } else if (effects.ends.has(model::Thing::kRows)) {
    check_shortened(check, report);
  }
}

}  // namespace

extern Invariant const kAtomic;
Invariant const kAtomic{
    "ATOMIC",
    "atomic rollback",
    "rollback and truncate are exact on all planes, or refused with nothing changed",
    model::Facet::kVisible,
    model::Facet::kInternals,
    &cheap,
    nullptr};

}  // namespace holdfast::invariant
