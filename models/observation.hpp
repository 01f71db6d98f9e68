// SPDX-License-Identifier: Apache-2.0
// Names of things in a program, and what an operation answers.
#pragma once

#include <cstdint>
#include <holdfast/result.hpp>

namespace holdfast::model {

/// Most names of sequences, of snapshots, and of prefix entries, in one program.
inline constexpr std::uint32_t kNameLimit = 64;

/// Streams that programs use.
inline constexpr std::uint32_t kStreamNames = 3;

/// Mean length of an append in programs, if their geometry does not say otherwise.
inline constexpr std::uint32_t kMeanRows = 7;

/// A sequence of a program: s0, s1, ... in the order of creation; a name is never used twice.
struct SequenceName {
  std::uint32_t value = 0;
  friend bool operator==(SequenceName, SequenceName) = default;
};

/// A snapshot of a program: h0, h1, ...
struct SnapshotName {
  std::uint32_t value = 0;
  friend bool operator==(SnapshotName, SnapshotName) = default;
};

/// A prefix entry of a program: e0, e1, ... A capture under a key that exists gives the entry one more
/// name.
struct EntryName {
  std::uint32_t value = 0;
  friend bool operator==(EntryName, EntryName) = default;
};

/// A token id, unique in a program from 1 on: it names who wrote a row. 0 is no token.
using Token = std::uint32_t;

/// Most items of a step that a program writes down.
inline constexpr std::uint32_t kStepItemLimit = 6;

/// What an item of a step does.
enum class StepDeed : std::uint8_t { kAppend, kVerify, kPad };
inline constexpr std::uint32_t kStepDeedCount = 3;

/// What a handle does to the recurrent state: the mode of an append, the kind of a round. Only
/// rounds are rescanned.
enum class StateMode : std::uint8_t { kFresh, kInPlace, kRescan };
inline constexpr std::uint32_t kStateModeCount = 3;

/// One item of a step: what it opens, and what it keeps in the end.
struct StepPart {
  StepDeed deed = StepDeed::kPad;
  SequenceName sequence;  // not of padding
  std::uint32_t rows = 0;
  std::uint32_t keep = 0;  // of an append its rows or 0
  Token token = 1;         // of its first row; not of padding
  StateMode mode = StateMode::kFresh;
  friend bool operator==(StepPart const&, StepPart const&) = default;
};

/// The items of a step, in the engine's row order.
struct StepParts {
  StepPart parts[kStepItemLimit];
  std::uint32_t count = 0;

  [[nodiscard]] StepPart const* begin() const noexcept { return parts; }
  [[nodiscard]] StepPart const* end() const noexcept { return parts + count; }
};

/// A prompt that is looked up: the first tokens of an entry, dead or alive, then some of its own.
struct PrefixQuery {
  EntryName entry;
  std::uint32_t first = 0;  // tokens of the entry; more than it has: all
  std::uint32_t rest = 0;   // tokens of its own, from `token` on
  Token token = 1;
  std::uint32_t scope = 0;  // one of the program's few scopes
  std::uint32_t limit = 0;
};

/// What is wrong with bytes that are loaded. What the writer could have said is sealed again with a
/// right checksum.
enum class Damage : std::uint8_t {
  kFlip,     // one bit behind the version
  kCut,      // bytes are missing at the end
  kLonger,   // a byte too many
  kMagic,    // no entry at all
  kVersion,  // sealed: another version
  kLayout,   // sealed: another layout
  kRanks,    // sealed: another number of ranks
  kTokens,   // sealed: one token more than its planes have
  kScope,    // loaded under another scope
};
inline constexpr std::uint32_t kDamageCount = 9;

/// What an operation answers: an error code, or success with one number (rows, position).
struct Observation {
  bool ok = true;
  ErrorCode code = ErrorCode::kInvalidArgument;  // when !ok
  std::uint32_t value = 0;                       // when ok

  friend bool operator==(Observation const& a, Observation const& b) noexcept {
    return a.ok == b.ok && (a.ok ? a.value == b.value : a.code == b.code);
  }
  [[nodiscard]] static Observation success(std::uint32_t value) noexcept {
    return {.ok = true, .value = value};
  }
  [[nodiscard]] static Observation failure(ErrorCode code) noexcept {
    return {.ok = false, .code = code};
  }
  [[nodiscard]] bool is(ErrorCode wanted) const noexcept { return !ok && code == wanted; }
};

}  // namespace holdfast::model
