// SPDX-License-Identifier: Apache-2.0
// The model of an engine behind the protocol: it knows the history of each sequence, and nothing of how an engine keeps it. It
// adopts refusals; whether one was legal is what conditions say on the state before the operation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/target/answer.hpp"
#include "models/target/hello.hpp"
#include "models/target/op.hpp"

namespace holdfast::model {

/// Bits by name of a sequence.
using SequenceSet = std::uint64_t;

struct HistoryRow {
  std::uint32_t position = 0;
  std::uint32_t token = 0;  // an id of the vocabulary
};

/// What a sequence has been given.
struct EngineHistory {
  std::vector<HistoryRow> rows;
  bool weak = false;  // logits are not defined: rows before others were removed or moved
  bool lost = false;  // nothing is known of it: the engine said weak, or it came from damaged bytes
  std::uint32_t last = 0;  // rows at its end that came with its last decode, and nothing since
  std::uint32_t added =
      0;  // rows at its end that were added one after the other since anything else
  std::uint32_t widest = 0;  // span that it had since it was empty

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(rows.size());
  }
  [[nodiscard]] std::uint32_t next() const noexcept {
    return rows.empty() ? 0 : rows.back().position + 1;
  }
  /// Positions from its first row to its last.
  [[nodiscard]] std::uint32_t span() const noexcept {
    return rows.empty() ? 0 : next() - rows.front().position;
  }
  void append(std::uint32_t token);
};

/// Logits that must equal those of a history in a context of its own.
struct Expected {
  std::uint32_t first = 0;            // position of the first token
  std::vector<std::uint32_t> tokens;  // empty: nothing is expected of these
};

class HistoryModel {
 public:
  HistoryModel(Hello const& hello, Knobs const& knobs);

  /// Whether a program may say this here. A part only goes back to where it was taken, no position becomes
  /// negative, and all that is left to do with a sequence of which nothing is known is to empty it or to
  /// write over it.
  [[nodiscard]] bool makes_sense(EngineOp const& op) const;
  /// Whether an engine may answer this, which makes sense here, with anything but ok.
  [[nodiscard]] bool has_choice(EngineOp const& op) const {
    return may_refuse(op) || may_be_weak(op);
  }
  /// What an engine is likely to answer: refused or weak where it may.
  [[nodiscard]] Reply likely(EngineOp const& op) const;
  [[nodiscard]] bool may_refuse(EngineOp const& op) const;
  [[nodiscard]] bool may_be_weak(EngineOp const& op) const;
  [[nodiscard]] bool holds(Clause const& clause, EngineOp const& op) const;
  /// Sequences that the operation may change.
  [[nodiscard]] SequenceSet named(EngineOp const& op) const;
  /// Does what the engine said that it did. The operation makes sense here.
  void apply(EngineOp const& op, Reply reply);
  /// What the logits of the last operation must be, in the order of its rows.
  [[nodiscard]] std::vector<Expected> const& expected() const noexcept { return expected_; }
  [[nodiscard]] EngineHistory const& history(std::uint32_t sequence) const {
    return sequences_[sequence];
  }
  [[nodiscard]] std::uint32_t sequences() const noexcept {
    return static_cast<std::uint32_t>(sequences_.size());
  }
  /// Rows of all sequences.
  [[nodiscard]] std::uint32_t total() const noexcept;
  /// Names of what was saved, and of snapshots.
  [[nodiscard]] std::vector<std::uint32_t> entries(EngineKind saved_by) const;
  [[nodiscard]] std::vector<std::uint32_t> snapshots() const;
  [[nodiscard]] std::uint32_t snapshot_of(std::uint32_t snapshot) const;
  [[nodiscard]] Hello const& hello() const noexcept { return *hello_; }
  [[nodiscard]] Knobs const& knobs() const noexcept { return *knobs_; }

 private:
  struct Entry {
    EngineKind kind = EngineKind::kSave;  // what made it
    bool damaged = false;
    std::vector<EngineHistory> histories;
  };
  struct Snapshot {
    std::uint32_t of = 0;
    EngineHistory history;
  };
  /// Rows of a sequence that an operation would take away or move.
  struct Cut {
    std::uint32_t rows = 0;  // that are in the range
    bool ends = false;       // they are the last ones
    bool is_whole = false;   // and all of them
  };

  [[nodiscard]] bool is_said_of_what_is_there(EngineOp const& op) const;
  [[nodiscard]] bool reads_lost(EngineOp const& op) const;
  [[nodiscard]] Cut cut_of(std::uint32_t sequence, EngineOp const& op) const;
  [[nodiscard]] std::vector<std::uint32_t> cut_sequences(EngineOp const& op) const;
  [[nodiscard]] bool holds_for_cut(Clause const& clause, EngineOp const& op) const;
  [[nodiscard]] bool is_full(EngineOp const& op) const;
  [[nodiscard]] bool is_longer(EngineOp const& op, std::uint32_t most) const;
  [[nodiscard]] bool reads_empty(EngineOp const& op) const;
  [[nodiscard]] bool writes_live(EngineOp const& op) const;
  [[nodiscard]] bool is_missing(EngineOp const& op) const;
  [[nodiscard]] bool touches_lost(EngineOp const& op) const;
  [[nodiscard]] std::vector<std::uint32_t> growth(EngineOp const& op) const;
  void decode(EngineOp const& op, bool done);
  void draft(EngineOp const& op, bool done);
  void remove(std::uint32_t sequence, EngineOp const& op);
  [[nodiscard]] std::uint32_t depth() const;
  void shift(EngineOp const& op);
  void load(EngineOp const& op);
  void save(EngineOp const& op);
  void change(EngineOp const& op);
  void empty(std::uint32_t sequence) { sequences_[sequence] = {}; }

  Hello const* hello_;
  Knobs const* knobs_;
  std::vector<EngineHistory> sequences_;
  std::map<std::uint32_t, Entry> entries_;
  std::map<std::uint32_t, Snapshot> snapshots_;
  std::vector<Expected> expected_;
};

}  // namespace holdfast::model
