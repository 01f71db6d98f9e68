// SPDX-License-Identifier: Apache-2.0
// What a sequence, snapshot or entry looks like at a moment, so coarsely that all programs together
// meet no more than a few thousand such states. Two programs that take the same operation in the
// same state with the same outcome have tried the same thing.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "models/engine/holdfast_system.hpp"
#include "models/reference/model.hpp"

namespace holdfast::model {

/// What the state is one of, and what is open.
enum class Life : std::uint8_t {
  kNone,  // of an operation that is about nothing yet
  kGone,  // a sequence that is no more, or never was
  kAtRest,
  kTainted,
  kAppend,
  kAppendInPlace,
  kRound,
  kRoundInPlace,
  kRoundRescan,
  kSnapshot,
  kSnapshotGone,
  kEntry,
  kEntryGone,
};
inline constexpr std::uint32_t kLifeCount = 13;

/// Where the position lies.
enum class Edge : std::uint8_t { kEmpty, kPageEdge, kPoolEdge, kInside };
inline constexpr std::uint32_t kEdgeCount = 4;

/// The tail ring: none or not yet full; over its end; fewer rows resident than have room.
enum class Lap : std::uint8_t { kFirst, kLater, kShort };
inline constexpr std::uint32_t kLapCount = 3;

/// Where snapshots and entries of the same history stand.
enum class Others : std::uint8_t { kNone, kBehind, kAhead };  // as many rows or fewer; one has more
inline constexpr std::uint32_t kOthersCount = 3;

/// One abstract state.
struct AbstractState {
  Life life = Life::kNone;
  Edge edge = Edge::kEmpty;
  Lap lap = Lap::kFirst;
  Others others = Others::kNone;
  bool page_shared = false;  // the last page of an addressed plane, or its chunk, has other holders
  bool slot_shared = false;  // the state slot has
  bool drafts_lag = false;   // draft planes have fewer rows than the others

  friend auto operator<=>(AbstractState const&, AbstractState const&) = default;
  /// A number that stands for it; from_key() brings it back.
  [[nodiscard]] std::uint32_t key() const noexcept;
  [[nodiscard]] static AbstractState from_key(std::uint32_t key) noexcept;
};
/// One past the largest key.
inline constexpr std::uint32_t kStateKeyLimit =
    kLifeCount * kEdgeCount * kLapCount * kOthersCount * 8;

/// The words of a state, "at rest, inside a pool, page shared, others behind".
[[nodiscard]] std::string text_of(AbstractState const& state);

/// Without a system nothing is known of what is shared.
[[nodiscard]] AbstractState abstract_state(Model const& model,
                                           HoldfastSystem const* system,
                                           SequenceName name) noexcept;
[[nodiscard]] AbstractState abstract_state(Model const& model,
                                           HoldfastSystem const* system,
                                           SnapshotName name) noexcept;
[[nodiscard]] AbstractState abstract_state(Model const& model,
                                           HoldfastSystem const* system,
                                           EntryName name) noexcept;

/// One operation of a program, as coverage sees it; a step is one for each of its sequences. Only
/// outcomes that tell states apart have whole states.
struct Transition {
  AbstractState from;
  AbstractState to;
  std::uint32_t op = 0;       // kind, by its place in the list
  std::uint32_t outcome = 0;  // outcome_of() the library's answer
  std::uint32_t op_index = 0;
};

/// 0 for success, else one more than the error's code.
[[nodiscard]] constexpr std::uint32_t outcome_of(Observation const& observation) noexcept {
  return observation.ok ? 0 : 1 + static_cast<std::uint32_t>(observation.code);
}
/// "ok", or the name of the error's code.
[[nodiscard]] char const* outcome_name(std::uint32_t outcome) noexcept;

/// Whether such an outcome depends on more than what the operation was asked: planes can refuse, and
/// storage can run out. Otherwise nothing but the life of a state is told apart.
[[nodiscard]] constexpr bool tells_states_apart(std::uint32_t outcome) noexcept {
  return outcome == 0 || outcome == outcome_of(Observation::failure(ErrorCode::kRefused)) ||
         outcome == outcome_of(Observation::failure(ErrorCode::kExhausted));
}

}  // namespace holdfast::model
