// SPDX-License-Identifier: Apache-2.0
// What generators share: choosing names and lengths. They read the model only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "models/ops/habits.hpp"
#include "models/reference/model.hpp"
#include "models/source.hpp"

namespace holdfast::model {

/// What a generator may look at.
struct GenerateContext {
  Source& source;
  Model const& model;
  Habits habits = {};
  LastNames last = {};

  /// Whether this choice is made without regard to sense.
  [[nodiscard]] bool is_nonsense() const noexcept { return source.one_in(habits.nonsense_rate); }
};

/// One of `count` names, in the order of their creation, as the habit says; `last` is the place of the
/// last operation's name, `count` when it is not among them.
inline std::uint32_t pick_place(GenerateContext const& context,
                                std::uint32_t count,
                                std::uint32_t last) noexcept {
  Source& source = context.source;
  std::uint32_t place = 0;
  switch (context.habits.names) {
    case NameHabit::kAny:
      return source.below(count);
    case NameHabit::kLast:
      return last < count && !source.one_in(4) ? last : source.below(count);
    default:
      while (place + 1 < count && source.one_in(2)) {
        ++place;
      }
      return context.habits.names == NameHabit::kOldest ? place : count - 1 - place;
  }
}

/// One of the names that are alive.
inline std::uint32_t pick_live(GenerateContext const& context,
                               std::span<std::uint32_t const> live,
                               std::optional<std::uint32_t> last) noexcept {
  auto const count = static_cast<std::uint32_t>(live.size());
  std::uint32_t at = count;
  if (last && context.habits.names == NameHabit::kLast) {
    at = static_cast<std::uint32_t>(std::find(live.begin(), live.end(), *last) - live.begin());
  }
  return live[pick_place(context, count, at)];
}

/// One in this many of the operations that mean nothing on a device that runs everything at once.
inline constexpr std::uint32_t kRareRate = 8;

/// Which sequences make sense for an operation.
enum class SequenceWish : std::uint8_t { kAtRest, kOpen, kOpenAppend, kOpenRound, kLive };

inline bool suits(ModelSequence const& sequence, SequenceWish wish) noexcept {
  switch (wish) {
    case SequenceWish::kAtRest:
      return !sequence.open.open && !sequence.tainted;
    case SequenceWish::kOpen:
      return sequence.open.open && !sequence.open.in_step;
    case SequenceWish::kOpenAppend:
      return sequence.open.open && !sequence.open.in_step && !sequence.open.round;
    case SequenceWish::kOpenRound:
      return sequence.open.open && !sequence.open.in_step && sequence.open.round;
    case SequenceWish::kLive:
      return true;
  }
  return false;
}

/// A sequence that suits; now and then any name that was ever given; nothing when there is none.
inline std::optional<SequenceName> pick_sequence(GenerateContext const& context,
                                                 SequenceWish wish) noexcept {
  if (context.model.next_sequence() != 0 && context.is_nonsense()) {
    return SequenceName{context.source.below(context.model.next_sequence())};
  }
  std::uint32_t suitable = 0;
  std::uint32_t last = UINT32_MAX;
  for (std::uint32_t const name : context.model.live_sequences()) {
    if (suits(context.model.sequence({name}), wish)) {
      last = context.last.sequence == SequenceName{name} ? suitable : last;
      ++suitable;
    }
  }
  if (suitable == 0) {
    return std::nullopt;
  }
  std::uint32_t chosen = pick_place(context, suitable, last);
  for (std::uint32_t const name : context.model.live_sequences()) {
    if (suits(context.model.sequence({name}), wish) && chosen-- == 0) {
      return SequenceName{name};
    }
  }
  return std::nullopt;
}

/// A sequence that is or was an item of an open step; now and then any name that was ever given; nothing
/// when no step is open.
inline std::optional<SequenceName> pick_step(GenerateContext const& context) noexcept {
  std::uint32_t const names = context.model.next_sequence();
  if (names != 0 && context.is_nonsense()) {
    return SequenceName{context.source.below(names)};
  }
  std::uint32_t suitable = 0;
  for (std::uint32_t name = 0; name < names; ++name) {
    suitable += context.model.step_of({name}) != nullptr ? 1U : 0U;
  }
  std::uint32_t chosen = suitable == 0 ? 0 : context.source.below(suitable);
  for (std::uint32_t name = 0; name < names && suitable != 0; ++name) {
    if (context.model.step_of({name}) != nullptr && chosen-- == 0) {
      return SequenceName{name};
    }
  }
  return std::nullopt;
}

/// A live snapshot; now and then any name that was ever given; nothing when there is none.
inline std::optional<SnapshotName> pick_snapshot(GenerateContext const& context) noexcept {
  if (context.model.next_snapshot() != 0 && context.is_nonsense()) {
    return SnapshotName{context.source.below(context.model.next_snapshot())};
  }
  auto const live = context.model.live_snapshots();
  if (live.empty()) {
    return std::nullopt;
  }
  auto const& last = context.last.snapshot;
  return SnapshotName{pick_live(context, live, last ? std::optional{last->value} : std::nullopt)};
}

/// Scopes that programs use; most prompts are of the first.
inline constexpr std::uint32_t kScopeCount = 8;

inline std::uint32_t pick_scope(Source& source) noexcept {
  return source.one_in(8) ? source.below(kScopeCount) : 0;
}

/// A live entry, by the name under which it was captured first; now and then any name that was ever
/// given; nothing when there is none.
inline std::optional<EntryName> pick_entry(GenerateContext const& context,
                                           std::uint32_t nonsense_rate) noexcept {
  if (context.model.next_entry() != 0 && context.source.one_in(nonsense_rate)) {
    return EntryName{context.source.below(context.model.next_entry())};
  }
  auto const live = context.model.live_entries();
  if (live.empty()) {
    return std::nullopt;
  }
  auto const& last = context.last.entry;
  return EntryName{pick_live(context, live, last ? std::optional{last->value} : std::nullopt)};
}
inline std::optional<EntryName> pick_entry(GenerateContext const& context) noexcept {
  return pick_entry(context, context.habits.nonsense_rate);
}

/// A power of two up to 32, or one beside it.
inline std::uint32_t pick_power(Source& source) noexcept {
  std::uint32_t const power = 1U << source.below(6);
  return source.one_in(3) ? power - 1 + source.below(3) : power;
}

/// What has edges: a page, a chunk's pages cannot be seen by rows; a window, what stays of it, the largest
/// round.
inline std::uint32_t pick_edge(GenerateContext const& context) noexcept {
  ModelShape const& shape = context.model.shape();
  Source& source = context.source;
  if (!shape.windows.empty() && source.one_in(2)) {
    auto const count = static_cast<std::uint32_t>(shape.windows.size());
    PlaneShape const& plane = shape.windows[source.below(count)].plane;
    return source.one_in(2) ? plane.window_rows : plane.kept_rows;
  }
  return source.one_in(4) ? std::max(1U, shape.capacity.largest_round) : shape.page_rows;
}

/// Rows from `position` on that end at an edge, or one row beside it; at least 1.
inline std::uint32_t rows_to_edge(GenerateContext const& context, std::uint32_t position) noexcept {
  std::uint32_t const edge = pick_edge(context);
  std::uint32_t const to_edge = edge - position % edge;
  std::uint32_t const end = to_edge + context.source.below(3);
  return end <= 1 ? 1 : end - 1;
}

/// The habit for one length: every other one is as in the plain mix.
inline LengthHabit length_habit(GenerateContext const& context) noexcept {
  LengthHabit const habit = context.habits.lengths;
  return habit == LengthHabit::kAroundMean || context.source.one_in(2) ? LengthHabit::kAroundMean
                                                                       : habit;
}

/// Rows for an append to a sequence with `room` rows left: as the habit says, now and then many or
/// too many; 0 when there is no room.
inline std::uint32_t pick_rows(GenerateContext const& context, std::uint32_t room) noexcept {
  Source& source = context.source;
  std::uint32_t const mean = context.habits.mean_rows;
  if (context.is_nonsense()) {
    return room + source.below(3);
  }
  if (room == 0) {
    return 0;
  }
  switch (length_habit(context)) {
    case LengthHabit::kPowers:
      return std::min(room, std::max(1U, pick_power(source)));
    case LengthHabit::kEdges:
      return std::min(room, rows_to_edge(context, context.model.shape().capacity.tokens - room));
    default:
      return source.one_in(12) ? source.between(1, std::min(room, 8 * mean))
                               : std::min(room, source.between(1, 2 * mean - 1));
  }
}

/// Rows for a round on a sequence with `room` rows left.
inline std::uint32_t pick_round_rows(GenerateContext const& context, std::uint32_t room) noexcept {
  Source& source = context.source;
  std::uint32_t const largest = context.model.shape().capacity.largest_round;
  std::uint32_t rows = 0;
  switch (length_habit(context)) {
    case LengthHabit::kPowers:
      rows = pick_power(source);
      break;
    case LengthHabit::kEdges:
      rows = source.one_in(2) ? rows_to_edge(context, context.model.shape().capacity.tokens - room)
             : source.one_in(2) ? source.below(2)
                                : largest - std::min(largest, source.below(2));
      break;
    default:
      rows = source.below(largest + 1);
      break;
  }
  return std::min({room, largest, rows});
}

/// Whether a trace may ask for this many rows and these tokens: tokens stay exact in an f32.
inline bool are_sane(std::uint32_t rows, Token token) noexcept {
  constexpr std::uint32_t kMostRows = 1U << 20U;
  constexpr Token kLastToken = 1U << 23U;
  return rows <= kMostRows && token != 0 && token <= kLastToken;
}

/// Rows of one write call: mostly all at once.
inline std::uint32_t pick_piece(Source& source) noexcept {
  return source.one_in(4) ? source.between(1, 5) : 0;
}

/// What a handle does to the state: out of place as often as not, where there is a state; rounds
/// that are not are rescanned as often as in place, where there is a stash.
inline StateMode pick_mode(GenerateContext const& context, bool round) noexcept {
  ModelShape const& shape = context.model.shape();
  if (!context.source.one_in(shape.states.empty() ? context.habits.nonsense_rate
                                                  : context.habits.mode_rate)) {
    return StateMode::kFresh;
  }
  bool const rescans =
      round && context.source.one_in(shape.can_rescan() ? 2 : context.habits.nonsense_rate);
  return rescans ? StateMode::kRescan : StateMode::kInPlace;
}

/// Rows of draft planes that the engine leaves out at the end: mostly none, and now and then more
/// than a handle can catch up.
inline std::uint32_t pick_skip(GenerateContext const& context) noexcept {
  bool const skips = context.model.shape().has_draft() && context.source.one_in(3);
  return skips ? context.source.between(1, 2 * context.model.shape().draft_lag()) : 0;
}

/// How a handle ends: mostly by its call.
inline std::uint32_t pick_gone(Source& source) noexcept {
  return source.one_in(8) ? source.between(1, kHandleEndCount - 1) : 0;
}

/// A write that is not as usual; through other streams where there are several.
inline WritePlan any_plan(Source& source, bool has_streams) noexcept {
  WritePlan plan{.liberty = static_cast<Liberty>(source.below(kLibertyCount))};
  plan.mistake =
      source.one_in(2) ? static_cast<Mistake>(source.below(kMistakeCount)) : Mistake::kNone;
  plan.part = source.below(64);
  plan.via = has_streams && source.one_in(2) ? source.below(kStreamNames) : kStreamNames;
  plan.reversed = source.one_in(4);
  return plan;
}

/// How a write is made: mostly as usual.
inline WritePlan pick_plan(GenerateContext const& context) noexcept {
  return context.source.one_in(context.habits.freedom_rate)
             ? any_plan(context.source, context.model.is_asynchronous())
             : WritePlan{};
}

/// A rule with keys at edges of 64 bits, or any, and with repeats.
inline KeyRule any_keys(Source& source) noexcept {
  constexpr TokenKey kHigh = TokenKey{1} << 63U;
  constexpr TokenKey kKeys[] = {
      0, 1, 2, UINT32_MAX, TokenKey{1} << 32U, kHigh - 1, kHigh, UINT64_MAX};
  constexpr TokenKey kSteps[] = {1, TokenKey{1} << 32U, kHigh, UINT64_MAX};
  constexpr std::uint32_t kPeriods[] = {
      1, 1, 2, 2, 3, 1U << 20U};  // the last is longer than a prompt
  KeyRule rule;
  rule.key =
      source.one_in(4) ? mix(source.below(UINT32_MAX), 0) : kKeys[source.below(std::size(kKeys))];
  rule.period = kPeriods[source.below(std::size(kPeriods))];
  rule.step = rule.period == 1 ? 0 : kSteps[source.below(std::size(kSteps))];
  return rule;
}

/// One of the few rules of a program: the first, or one that differs from it in the low or the high half,
/// in the sign or by one, or another one.
inline KeyRule key_rule(std::uint64_t prompts, std::uint32_t index) noexcept {
  constexpr TokenKey kChanges[] = {0, 1, TokenKey{1} << 32U, TokenKey{1} << 63U, UINT64_MAX};
  Source first{prompts};
  Source own{mix(prompts, index)};
  KeyRule rule = any_keys(first);
  if (index != 0 && own.one_in(3)) {
    return any_keys(own);
  }
  rule.key += index == 0 ? 0 : kChanges[own.between(1, std::size(kChanges) - 1)];
  return rule;
}

/// Rules of one program.
inline constexpr std::uint32_t kKeyRules = 4;

/// The rule of the tokens from `token` on: as often as not the program's first, so that prompts begin alike.
/// Told by the token, so that it takes no draw from what follows.
inline KeyRule pick_keys(GenerateContext const& context, Token token) noexcept {
  if (context.habits.prompts == 0) {
    return {};
  }
  Source own{mix(context.habits.prompts, token)};
  if (own.one_in(8)) {
    return {};
  }
  return key_rule(context.habits.prompts, own.one_in(2) ? 0 : own.below(kKeyRules));
}

/// Rows left of a live sequence.
inline std::uint32_t room_of(Model const& model, SequenceName name) noexcept {
  return model.sequence(name).live ? model.shape().capacity.tokens - model.position(name) : 1;
}

/// A length to truncate to: near the end, at page and pool edges, or anywhere; rarely too long.
inline std::uint32_t pick_length(GenerateContext const& context, SequenceName name) noexcept {
  Source& source = context.source;
  std::uint32_t const own = context.model.sequence(name).live ? context.model.position(name) : 1;
  if (context.is_nonsense()) {
    return own + 1;
  }
  if (length_habit(context) == LengthHabit::kEdges) {
    std::uint32_t const edge = pick_edge(context);
    std::uint32_t const back = own / edge - std::min(own / edge, source.below(2));
    return std::min(own, std::max(1U, back * edge + source.below(3)) - 1);
  }
  std::uint32_t const page = context.model.shape().page_rows;
  switch (source.below(4)) {
    case 0:
      return own - std::min(own, source.below(4));
    case 1:
      return own / page * page;
    case 2:
      return own - std::min(own, source.below(2 * page + 2));
    default:
      return source.below(own + 1);
  }
}

}  // namespace holdfast::model
