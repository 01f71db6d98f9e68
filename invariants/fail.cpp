// SPDX-License-Identifier: Apache-2.0
// FAIL: an operation that answered an error has changed nothing and written nothing. When a device
// call failed in it, the sequence may be tainted instead.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, PlaneBinding const* plane, std::string const& text) {
  report.add(
      {.id = "FAIL",
       .plane = plane == nullptr ? "" : plane->info.name,
       .layer = plane == nullptr ? -1 : layer_of(*plane),
       .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
       .holder = check.subject ? name_of(*check.subject) : "",
       .text = std::string{"the operation answered "} + name_of(check.got.code) + ", but " + text});
}

void check_free(Check const& check, Report& report, PlaneBinding const& plane) {
  model::FreeCounts const& then = check.free_before[plane.index];
  model::FreeCounts const now{.pages = check.inspection.pages_free(plane.index),
                              .chunks = check.inspection.chunks_free(plane.index)};
  if (now != then) {
    add(check,
        report,
        &plane,
        "of " + std::to_string(then.pages) + " free pages or slots and " +
            std::to_string(then.chunks) + " chunks there are now " + std::to_string(now.pages) +
            " and " + std::to_string(now.chunks));
  }
}

void check_subject(Check const& check, Report& report) {
  bool const is_released = check.before.live && !check.model.sequence(*check.subject).live;
  if (is_released) {
    return;
  }
  SequenceInfo const now = info_of(check, *check.subject);
  if (check.failed_calls != 0 && now.tainted) {
    return;
  }
  if (now != check.before.sequence) {
    add(check,
        report,
        nullptr,
        "the sequence changed: it was at " + std::to_string(check.before.sequence.position) +
            " with " + std::to_string(check.before.sequence.open_rows) + " open rows, and is at " +
            std::to_string(now.position) + " with " + std::to_string(now.open_rows));
    return;
  }
  for (PlaneBinding const& plane : check.planes) {
    PlaneState const& then = check.before.planes[plane.index];
    if (check.before.live && report.is_clean() && !(check.now[plane.index] == then)) {
      add(check,
          report,
          &plane,
          "the plane changed: length " + std::to_string(then.length) + " became " +
              std::to_string(check.now[plane.index].length));
    }
  }
}

void cheap(Check const& check, Report& report) {
  model::Effects const effects = model::effects_of(*check.op);
  bool const has_erased =  // before there was no room to load it again
      effects.ends.has(model::Thing::kEntry) && effects.makes.has(model::Thing::kEntry) &&
      check.got.is(ErrorCode::kExhausted);
  if (check.got.ok || has_erased) {
    return;
  }
  for (PlaneBinding const& plane : check.planes) {
    if (check.internals != nullptr && report.is_clean() && !check.left_unknown) {
      check_free(check, report, plane);
    }
  }
  if (check.subject && report.is_clean()) {
    check_subject(check, report);
  }
  if (!check.places.empty() && report.is_clean()) {
    Place const& place = check.places.front();
    add(check, report, place.plane, "it wrote page or slot " + std::to_string(place.page));
  }
}

}  // namespace

extern Invariant const kFail;
Invariant const kFail{"FAIL",
                      "failure",
                      "a failed operation leaves the state before it, or a tainted sequence",
                      model::Facet::kVisible,
                      model::Facet::kInternals | model::Facet::kDevices,
                      &cheap,
                      nullptr};

}  // namespace holdfast::invariant
