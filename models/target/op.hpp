// SPDX-License-Identifier: Apache-2.0
// Operations of engines behind the protocol (docs/PROTOCOL.md): one type with the fields of all kinds, and a table that says
// which kind has which. Text, wire form, generator and minimizer follow from the table.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::model {

enum class EngineKind : std::uint8_t {
#define HOLDFAST_ENGINE_OP(kind, name, weight, fields, traits, meaning) kind,
#include "models/target/op_table.def"
  kCount
};
inline constexpr std::uint32_t kEngineKindCount = static_cast<std::uint32_t>(EngineKind::kCount);

/// No bound of a range.
inline constexpr std::uint32_t kNoBound = UINT32_MAX;
/// Most rows of an item, and most items of a batch, that a trace may ask for.
inline constexpr std::uint32_t kMostItemRows = 4096;
inline constexpr std::uint32_t kMostItems = 64;

/// After which rows of an item logits are wanted.
enum class Ask : std::uint8_t { kNone, kLast, kFirst, kEverySecond, kAll };
inline constexpr std::array<char const*, 5> kAskNames = {"none", "last", "first", "second", "all"};

/// Rows of one sequence in a batch: "s0:3:17:last" is three rows of s0, tokens 17 to 19.
struct EngineItem {
  std::uint32_t sequence = 0;
  std::uint32_t rows = 0;
  std::uint32_t token = 1;
  Ask ask = Ask::kNone;

  [[nodiscard]] bool wants(std::uint32_t row) const noexcept;
  friend bool operator==(EngineItem const&, EngineItem const&) = default;
};

/// One operation; fields that its kind does not have keep their first value.
struct EngineOp {
  EngineKind kind = EngineKind::kDecode;
  std::uint32_t sequence = 0;
  std::uint32_t to = 0;
  std::uint32_t entry = 0;
  std::uint32_t snapshot = 0;
  std::uint32_t rows = 0;
  std::uint32_t token = 1;
  std::uint32_t keep = 0;
  std::uint32_t first = 0;
  std::uint32_t end = kNoBound;
  std::int32_t by = 0;
  std::uint32_t flip = 0;
  std::uint32_t cut = 0;  // not 0: bytes are cut off, and no bit is flipped
  std::vector<EngineItem> items;

  friend bool operator==(EngineOp const&, EngineOp const&) = default;
};

/// Fields, in the order in which the text has them.
enum EngineField : std::uint32_t {
  kNothing = 0,
  kItems = 1U << 0U,
  kSequence = 1U << 2U,
  kTo = 1U << 3U,
  kEntry = 1U << 4U,
  kSnapshotName = 1U << 5U,
  kRows = 1U << 6U,
  kToken = 1U << 7U,
  kKeep = 1U << 8U,
  kBy = 1U << 9U,
  kFirst = 1U << 10U,
  kEnd = 1U << 11U,
  kFlip = 1U << 12U,
  kCut = 1U << 13U,
};

/// What model, session and oracles ask of a kind.
enum EngineTrait : std::uint32_t {
  kPlain = 0,
  kOnlyReads = 1U << 0U,  // its field `sequence` stays as it is
  kForAll = 1U << 1U,     // it may change every sequence
  kCuts = 1U << 2U,       // it takes rows back or moves them
  kFills = 1U << 3U,      // what it writes becomes something else as a whole
  kSaves = 1U << 4U,      // it makes an entry
  kLoads = 1U << 5U,      // it reads an entry
};

struct EngineKindInfo {
  char const* name;
  std::uint32_t weight;
  std::uint32_t fields;
  std::uint32_t traits;
  char const* meaning;

  [[nodiscard]] bool has(EngineField field) const noexcept { return (fields & field) != 0; }
  [[nodiscard]] bool is(EngineTrait trait) const noexcept { return (traits & trait) != 0; }
};

[[nodiscard]] EngineKindInfo const& info_of(EngineKind kind) noexcept;
/// The kind that makes the entries which this one loads; kCount for one that loads none.
[[nodiscard]] EngineKind saver_of(EngineKind kind) noexcept;
/// The kind with this name; kCount when there is none.
[[nodiscard]] EngineKind engine_kind_named(std::string_view name) noexcept;
[[nodiscard]] inline char const* name_of(EngineOp const& op) noexcept {
  return info_of(op.kind).name;
}

/// Rows that the operation adds, before anything is taken back.
[[nodiscard]] std::uint32_t rows_of(EngineOp const& op) noexcept;
/// The sequence with the greatest number that it names; 0 when it names none.
[[nodiscard]] std::uint32_t last_sequence_of(EngineOp const& op) noexcept;
/// Logits that its answer has when it is done.
[[nodiscard]] std::uint32_t wanted_of(EngineOp const& op) noexcept;

/// The line of a trace.
[[nodiscard]] std::string text_of(EngineOp const& op);
/// The line that is sent: the same with its tokens spelled out.
[[nodiscard]] std::string wire_of(EngineOp const& op, std::uint32_t vocabulary);
/// Reads a line of a trace. Throws InputError "origin:line:column: what is wrong".
[[nodiscard]] EngineOp parse_engine_op(std::string_view line,
                                       std::string const& origin,
                                       std::size_t number);

/// A program for an engine, with everything that is needed to run it again on another version.
struct EngineTrace {
  std::vector<std::string> comments;  // before the version line, without the '#'
  std::string target;                 // its name; a command is never in a trace
  std::string knobs;                  // "unified=1 ubatch=4"; empty: first values
  std::vector<EngineOp> ops;
};

[[nodiscard]] std::string print_engine_trace(EngineTrace const& trace);
/// Throws InputError "origin:line:column: what is wrong".
[[nodiscard]] EngineTrace parse_engine_trace(std::string_view text, std::string const& origin);
/// Whether a text is a trace for an engine rather than for our own library.
[[nodiscard]] bool is_engine_trace(std::string_view text) noexcept;

}  // namespace holdfast::model
