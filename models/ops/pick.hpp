// SPDX-License-Identifier: Apache-2.0
// What generators share: choosing names and lengths. They read the model only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "models/reference/model.hpp"
#include "models/source.hpp"

namespace holdfast::model {

/// What a generator may look at.
struct GenerateContext {
  Source& source;
  Model const& model;
  std::uint32_t mean_rows;
};

/// One choice in this many is made without regard to sense: stale names, busy sequences, lengths
/// too long.
inline constexpr std::uint32_t kNonsenseRate = 40;

/// Which sequences make sense for an operation.
enum class SequenceWish : std::uint8_t { kAtRest, kOpen, kOpenAppend, kOpenRound, kLive };

inline bool suits(ModelSequence const& sequence, SequenceWish wish) noexcept {
  switch (wish) {
    case SequenceWish::kAtRest:
      return !sequence.open.open && !sequence.tainted;
    case SequenceWish::kOpen:
      return sequence.open.open;
    case SequenceWish::kOpenAppend:
      return sequence.open.open && !sequence.open.round;
    case SequenceWish::kOpenRound:
      return sequence.open.open && sequence.open.round;
    case SequenceWish::kLive:
      return true;
  }
  return false;
}

/// A sequence that suits; now and then any name that was ever given; nothing when there is none.
inline std::optional<SequenceName> pick_sequence(GenerateContext const& context,
                                                 SequenceWish wish) noexcept {
  if (context.model.next_sequence() != 0 && context.source.one_in(kNonsenseRate)) {
    return SequenceName{context.source.below(context.model.next_sequence())};
  }
  std::uint32_t suitable = 0;
  for (std::uint32_t const name : context.model.live_sequences()) {
    suitable += suits(context.model.sequence({name}), wish) ? 1U : 0U;
  }
  if (suitable == 0) {
    return std::nullopt;
  }
  std::uint32_t chosen = context.source.below(suitable);
  for (std::uint32_t const name : context.model.live_sequences()) {
    if (suits(context.model.sequence({name}), wish) && chosen-- == 0) {
      return SequenceName{name};
    }
  }
  return std::nullopt;
}

/// A live snapshot; now and then any name that was ever given; nothing when there is none.
inline std::optional<SnapshotName> pick_snapshot(GenerateContext const& context) noexcept {
  if (context.model.next_snapshot() != 0 && context.source.one_in(kNonsenseRate)) {
    return SnapshotName{context.source.below(context.model.next_snapshot())};
  }
  auto const live = context.model.live_snapshots();
  if (live.empty()) {
    return std::nullopt;
  }
  return SnapshotName{live[context.source.below(static_cast<std::uint32_t>(live.size()))]};
}

/// Scopes that programs use; most prompts are of the first.
inline constexpr std::uint32_t kScopeCount = 8;

inline std::uint32_t pick_scope(Source& source) noexcept {
  return source.one_in(8) ? source.below(kScopeCount) : 0;
}

/// A live entry, by the name under which it was captured first; now and then any name that was ever
/// given; nothing when there is none.
inline std::optional<EntryName> pick_entry(GenerateContext const& context,
                                           std::uint32_t nonsense_rate = kNonsenseRate) noexcept {
  if (context.model.next_entry() != 0 && context.source.one_in(nonsense_rate)) {
    return EntryName{context.source.below(context.model.next_entry())};
  }
  auto const live = context.model.live_entries();
  if (live.empty()) {
    return std::nullopt;
  }
  return EntryName{live[context.source.below(static_cast<std::uint32_t>(live.size()))]};
}

/// Rows for an append to a sequence with `room` rows left: around the mean, now and then many or
/// too many; 0 when there is no room.
inline std::uint32_t pick_rows(GenerateContext const& context, std::uint32_t room) noexcept {
  Source& source = context.source;
  if (source.one_in(kNonsenseRate)) {
    return room + source.below(3);
  }
  if (room == 0) {
    return 0;
  }
  if (source.one_in(12)) {
    return source.between(1, std::min(room, 8 * context.mean_rows));
  }
  return std::min(room, source.between(1, 2 * context.mean_rows - 1));
}

/// Whether a trace may ask for this many rows and these tokens: token ids stay exact in an f32.
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
  if (!context.source.one_in(shape.states.empty() ? kNonsenseRate : 2)) {
    return StateMode::kFresh;
  }
  bool const rescans = round && context.source.one_in(shape.can_rescan() ? 2 : kNonsenseRate);
  return rescans ? StateMode::kRescan : StateMode::kInPlace;
}

/// Rows of draft planes that the engine leaves out at the end: mostly none.
inline std::uint32_t pick_skip(GenerateContext const& context) noexcept {
  bool const skips = context.model.shape().has_draft() && context.source.one_in(3);
  return skips ? context.source.between(1, 12) : 0;
}

/// Rows left of a live sequence.
inline std::uint32_t room_of(Model const& model, SequenceName name) noexcept {
  return model.sequence(name).live ? model.shape().capacity.tokens - model.position(name) : 1;
}

/// A length to truncate to: near the end, at page and pool edges, or anywhere; rarely too long.
inline std::uint32_t pick_length(GenerateContext const& context, SequenceName name) noexcept {
  Source& source = context.source;
  std::uint32_t const own = context.model.sequence(name).live ? context.model.position(name) : 1;
  if (source.one_in(kNonsenseRate)) {
    return own + 1;
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
