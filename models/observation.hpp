// SPDX-License-Identifier: Apache-2.0
// Names of things in a program, and what an operation answers.
#pragma once

#include <cstdint>
#include <cstring>
#include <holdfast/result.hpp>

#include "models/token.hpp"

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
  KeyRule keys;
  friend bool operator==(StepPart const&, StepPart const&) = default;
};

/// The items of a step, in the engine's row order.
struct StepParts {
  StepPart parts[kStepItemLimit];
  std::uint32_t count = 0;

  [[nodiscard]] StepPart const* begin() const noexcept { return parts; }
  [[nodiscard]] StepPart const* end() const noexcept { return parts + count; }
};

/// Whether a reload of so many rows asks the layout as well: one in eight for the bytes of any entry as
/// long, one for those of pages and slots. Each makes a plan of the layout.
[[nodiscard]] constexpr bool asks_for_entry_bytes(std::uint32_t rows) noexcept {
  return rows % 8 == 4;
}
[[nodiscard]] constexpr bool asks_for_bytes_needed(std::uint32_t rows) noexcept {
  return rows % 8 == 0;
}

/// A prompt that is looked up: the first tokens of an entry, dead or alive, then some of its own.
struct PrefixQuery {
  EntryName entry;
  std::uint32_t first = 0;  // tokens of the entry; more than it has: all
  std::uint32_t rest = 0;   // tokens of its own, from `token` on
  Token token = 1;
  std::uint32_t scope = 0;  // one of the program's few scopes
  std::uint32_t limit = 0;
  KeyRule keys;  // of its own tokens
};

/// How an engine lets go of a handle.
enum class HandleEnd : std::uint8_t {
  kCalled,     // by the call that ends it
  kDestroyed,  // by destroying it
  kReplaced,   // by assigning another one over it
};
inline constexpr std::uint32_t kHandleEndCount = 3;

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

/// What an answer says beside its code and its number: every figure and word that the headers of the
/// calls promise. The system under test fills all of it; the model says what follows from meaning, and
/// leaves unsaid what does not. What the model says the system must say alike.
struct Details {
  static constexpr std::int64_t kUnsaid = INT64_MIN;

  // Of a refusal, as Error has them.
  char const* subject = nullptr;  // nullptr: unsaid
  std::int64_t layer = kUnsaid;
  std::int64_t item = kUnsaid;
  std::int64_t got = kUnsaid;
  std::int64_t limit = kUnsaid;
  // Of a look-up, as PrefixMatch has them.
  char const* limited_by = nullptr;
  std::int64_t limited_at = kUnsaid;
  // Of a restore: the entry that it starts from, by its first name.
  std::int64_t entry = kUnsaid;
  // Of an entry and of the layout, in bytes.
  std::int64_t payload = kUnsaid;
  std::int64_t total = kUnsaid;
  std::int64_t payload_at_length = kUnsaid;  // of any entry as long, by its layout
  std::int64_t per_page = kUnsaid;
  std::int64_t per_slot = kUnsaid;
  // Rows of a handle that draft planes take.
  std::int64_t draft_first = kUnsaid;
  std::int64_t draft_count = kUnsaid;
  // Of the items of a step; the first stands for a single handle.
  struct Item {
    std::int32_t committed = -1;  // -1: unsaid
    std::int32_t to_append = -1;
    std::int32_t exact = -1;  // whether dropping it would be exact
  };
  Item items[kStepItemLimit];
  std::uint32_t item_count = 0;  // of which something is said

  [[nodiscard]] Item& item_at(std::uint32_t index) noexcept {
    item_count = item_count > index ? item_count : index + 1;
    return items[index];
  }

  /// Says what a refusal said, beside what is said already.
  void say_refusal(Details const& refusal) noexcept {
    subject = refusal.subject;
    layer = refusal.layer;
    item = refusal.item;
    got = refusal.got;
    limit = refusal.limit;
  }

  [[nodiscard]] static bool is_said(char const* word) noexcept { return word != nullptr; }
  [[nodiscard]] static bool is_said(std::int64_t number) noexcept { return number != kUnsaid; }
  [[nodiscard]] static bool is_said(std::int32_t number) noexcept { return number != -1; }
  [[nodiscard]] static bool are_same(char const* a, char const* b) noexcept {
    return a == b || (is_said(a) && is_said(b) && std::strcmp(a, b) == 0);
  }
  [[nodiscard]] static bool are_same(std::int64_t a, std::int64_t b) noexcept { return a == b; }

  /// Calls visit(name, value in a, value in b) for every part; for those of an item with its number.
  template <typename Visitor>
  static void fields(Details const& a, Details const& b, Visitor&& visit) {
    visit("subject", a.subject, b.subject);
    visit("layer", a.layer, b.layer);
    visit("item", a.item, b.item);
    visit("got", a.got, b.got);
    visit("limit", a.limit, b.limit);
    visit("limited_by", a.limited_by, b.limited_by);
    visit("limited_at", a.limited_at, b.limited_at);
    visit("entry", a.entry, b.entry);
    visit("payload", a.payload, b.payload);
    visit("total", a.total, b.total);
    visit("payload_at_length", a.payload_at_length, b.payload_at_length);
    visit("per_page", a.per_page, b.per_page);
    visit("per_slot", a.per_slot, b.per_slot);
    visit("draft_first", a.draft_first, b.draft_first);
    visit("draft_count", a.draft_count, b.draft_count);
    std::uint32_t const count = a.item_count > b.item_count ? a.item_count : b.item_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      visit("committed", a.items[i].committed, b.items[i].committed, i);
      visit("to_append", a.items[i].to_append, b.items[i].to_append, i);
      visit("exact", a.items[i].exact, b.items[i].exact, i);
    }
  }
  friend bool operator==(Details const& a, Details const& b) noexcept {
    bool same = true;
    fields(a, b, [&](char const* /*name*/, auto of_a, auto of_b, std::uint32_t /*item*/ = 0) {
      same = same && are_same(of_a, of_b);
    });
    return same;
  }
};

/// What an operation answers: an error code, or success with one number (rows, position), and what else
/// it says.
struct Observation {
  bool ok = true;
  ErrorCode code = ErrorCode::kInvalidArgument;  // when !ok
  std::uint32_t value = 0;                       // when ok
  bool asked = true;  // false: the harness answers, since there was no handle to call
  Details says{};

  /// Code and number; what else is said is for ANSWER.
  friend bool operator==(Observation const& a, Observation const& b) noexcept {
    return a.ok == b.ok && (a.ok ? a.value == b.value : a.code == b.code);
  }
  [[nodiscard]] static Observation success(std::uint32_t value) noexcept {
    return {.ok = true, .value = value};
  }
  [[nodiscard]] static Observation failure(ErrorCode code) noexcept {
    return {.ok = false, .code = code};
  }
  /// All that an error says.
  [[nodiscard]] static Observation failure(Error const& error) noexcept {
    Observation answer = failure(error.code);
    answer.says.subject = error.subject;
    answer.says.layer = error.layer;
    answer.says.item = error.item;
    answer.says.got = error.got;
    answer.says.limit = error.limit;
    return answer;
  }
  /// A refusal that is about one thing, and about no layer and no item.
  [[nodiscard]] static Observation failure(ErrorCode code, char const* subject) noexcept {
    Observation answer = failure(code);
    answer.says.subject = subject;
    answer.says.layer = answer.says.item = -1;
    return answer;
  }
  /// The same with the offending number and what it was held against.
  [[nodiscard]] static Observation failure(ErrorCode code,
                                           char const* subject,
                                           std::int64_t got,
                                           std::int64_t limit) noexcept {
    Observation answer = failure(code, subject);
    answer.says.got = got;
    answer.says.limit = limit;
    return answer;
  }
  [[nodiscard]] bool is(ErrorCode wanted) const noexcept { return !ok && code == wanted; }
  /// The answer of an operation of two calls, of which the first succeeded and said something.
  [[nodiscard]] Observation after(Observation const& first) const noexcept {
    Observation answer = *this;
    answer.says = ok ? first.says : says;
    return answer;
  }
};

}  // namespace holdfast::model
