// SPDX-License-Identifier: Apache-2.0
// LIVE: what can be truncated is not refused, and what fits is not refused.
#include <algorithm>
#include <string_view>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, PlaneBinding const* plane, std::string text) {
  report.add({.id = "LIVE",
              .plane = plane == nullptr ? "" : plane->info.name,
              .layer = plane == nullptr ? -1 : layer_of(*plane),
              .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = std::move(text)});
}

/// A windowed plane that forgets resident rows would refuse a truncation that is legal.
void check_resident(Check const& check, Report& report, PlaneBinding const& plane) {
  model::History const& history = check.model.history(check.model.sequence(*check.subject));
  std::uint32_t const must = check.model.view(history, plane.model_planes.front()).lo;
  std::uint32_t const lo = check.now[plane.index].lo;
  if (lo > must) {
    add(check,
        report,
        &plane,
        "rows from " + std::to_string(must) + " on are resident, but the plane says from " +
            std::to_string(lo) + ", and would refuse to be shortened to them");
  }
}

/// What one begin asks for.
struct Opened {
  std::uint32_t position;
  std::uint32_t watermark;
  model::OpenedHandle handle;
};

/// Calls `visit(opened)` for each begin of the operation.
template <typename Visit>
void for_each_begin(Check const& check, Visit visit) {
  model::for_each_opening(*check.op, [&](model::OpenedHandle const& handle) {
    model::ModelSequence const& sequence = check.model.sequence(handle.sequence);
    bool const live = sequence.live;
    visit(Opened{.position = live ? check.model.position(handle.sequence) : 0,
                 .watermark = live ? check.model.history(sequence).watermark : 0,
                 .handle = handle});
  });
}

/// Most pages or slots that a begin can take from a plane: exact for states and for rows that start
/// a page; else one more, for the page that may have to be copied.
std::uint32_t most_needed(model::ModelShape const& shape,
                          PlaneBinding const& plane,
                          Opened const& opened) noexcept {
  std::uint32_t const rows = opened.handle.rows;
  if (plane.info.page_rows == 0) {
    bool const has_columns = opened.handle.round && opened.handle.mode == model::StateMode::kFresh;
    return has_columns ? rows : std::min(rows, 1U);
  }
  if (plane.info.ring_rows != 0) {
    std::uint32_t const offset = opened.position % plane.info.page_rows;
    return rows == 0 ? 0 : std::min(plane.info.entries, pages_for(plane, offset + rows));
  }
  std::uint32_t from = plane.units(opened.position);
  std::uint32_t to = plane.units(opened.position + rows);
  if (plane.is_draft()) {
    from = opened.watermark;
    to = from + PlaneBinding::draft_rows(shape, from, opened.position, rows);
  }
  bool const may_copy = from != to && from % plane.info.page_rows != 0;
  return pages_for(plane, to) - pages_for(plane, from) + (may_copy ? 1 : 0);
}

/// Whether a refusal names this plane, with as much as can be needed and with what is free.
bool is_named(Check const& check, PlaneBinding const& plane, std::uint32_t most) {
  model::Details const& says = check.got.says;
  return says.subject != nullptr && std::string_view{says.subject} == plane.info.name &&
         says.got > says.limit && says.got <= most &&
         says.limit == check.free_before[plane.index].pages;
}

/// A begin, or a new sequence, that is refused for want of storage: some plane lacks it, and is named.
void check_lacking(Check const& check, Report& report) {
  model::Effects const effects = model::effects_of(*check.op);
  bool asks = effects.makes.has(model::Thing::kSequence) && effects.loads.is_empty();
  bool lacks =
      asks && check.model.live_sequences().size() >= check.model.shape().capacity.sequences;
  bool named = asks;  // of a new sequence it is for ANSWER
  for (PlaneBinding const& plane : check.planes) {
    std::uint32_t need = asks && plane.info.page_rows == 0 ? 1 : 0;
    for_each_begin(check, [&](Opened const& opened) {
      asks = true;
      need += most_needed(check.model.shape(), plane, opened);
    });
    lacks = lacks || need > check.free_before[plane.index].pages;
    named = named || is_named(check, plane, need);
  }
  char const* const wanted = check.want.says.subject;
  if (check.want.is(ErrorCode::kExhausted) && wanted != nullptr &&
      std::string_view{wanted} == "steps") {
    return;  // it has no record left, as the model says
  }
  if (asks && !lacks) {
    add(check, report, nullptr, "refused as exhausted, but every plane has enough that is free");
  } else if (asks && !named) {
    model::Details const& says = check.got.says;
    add(check,
        report,
        nullptr,
        std::string{"refused because "} + (says.subject == nullptr ? "something" : says.subject) +
            " needs " + std::to_string(says.got) + " and has " + std::to_string(says.limit) +
            ", but no plane of that name has so much free and needs so much more");
  }
}

void cheap(Check const& check, Report& report) {
  if (check.want.ok && !check.got.ok) {
    add(check,
        report,
        nullptr,
        std::string{"refused with "} + holdfast::name_of(check.got.code) + " what must succeed");
  }
  if (check.internals != nullptr && check.got.is(ErrorCode::kExhausted) && report.is_clean()) {
    check_lacking(check, report);
  }
  for (PlaneBinding const& plane : check.planes) {
    if (check.touched && report.is_clean() && plane.window() != nullptr) {
      check_resident(check, report, plane);
    }
  }
}

}  // namespace

extern Invariant const kLive;
Invariant const kLive{"LIVE",
                      "liveness",
                      "what can be truncated is not refused; what fits is not refused",
                      model::Facet::kVisible,
                      model::Facet::kInternals,
                      &cheap,
                      nullptr};

}  // namespace holdfast::invariant
