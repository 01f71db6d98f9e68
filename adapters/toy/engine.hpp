// SPDX-License-Identifier: Apache-2.0
// A tiny engine to try the harness on: attention rows, a window, a recurrent state with a rollback depth, and pooled keys.
// Logits are a function of all of them. It knows nothing of the protocol; main.cpp does.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adapters/lines.hpp"

namespace toy {

inline constexpr std::uint32_t kVocabulary = 64;
inline constexpr std::uint32_t kSequences = 4;
inline constexpr std::uint32_t kContext = 128;
inline constexpr std::uint32_t kBatch = 32;
inline constexpr std::uint32_t kWindow = 8;
inline constexpr std::uint32_t kPool = 4;
inline constexpr std::uint32_t kNoBound = UINT32_MAX;

enum class Bug : std::uint8_t {
  kNone,
#define HOLDFAST_TOY_BUG(name, oracle, blamed, text) name,
#include "adapters/toy/bugs.def"
};

struct Knobs {
  std::uint32_t unified = 1;
  std::uint32_t ubatch = 16;
  std::uint32_t depth = 0;
  std::uint32_t whole = 1;  // window rows are kept as far back as the state goes
};

struct Row {
  std::uint32_t position = 0;
  std::uint32_t token = 0;
};

inline constexpr std::uint64_t kFreshState = 0x746f79U;

struct Sequence {
  std::vector<Row> rows;
  std::vector<Row> window;          // the newest rows once more
  std::vector<std::uint64_t> keys;  // of each whole pool of rows
  std::vector<std::uint64_t> past;  // the state before each of the last rows
  std::uint64_t state = kFreshState;
  std::uint32_t first = 0;  // position of its first row
  std::uint32_t twins = 0;  // sequences that share its cells
};

using Logits = std::array<float, kVocabulary>;
using Bytes = std::vector<std::uint8_t>;

enum class Answer : std::uint8_t { kOk, kWeak, kRefused };

using holdfast::adapters::BatchRow;

class Engine {
 public:
  Engine(Knobs knobs, Bug bug) : knobs_{knobs}, bug_{bug} {}

  Answer decode(std::vector<BatchRow> const& batch, std::vector<Logits>& logits);
  Answer draft(std::vector<BatchRow> const& batch, std::uint32_t keep, std::vector<Logits>& logits);
  Answer remove(std::uint32_t sequence, std::uint32_t first, std::uint32_t end);
  Answer remove_every(std::uint32_t first, std::uint32_t end);
  Answer copy(std::uint32_t from, std::uint32_t to);
  Answer keep(std::uint32_t sequence);
  Answer shift(std::uint32_t sequence, std::int32_t by, std::uint32_t first, std::uint32_t end);
  Answer clear();
  /// The bytes, and how many they were said to be.
  std::uint32_t save(std::uint32_t sequence, Bytes& bytes) const;
  std::uint32_t save_all(Bytes& bytes) const;
  Answer load(Bytes const& bytes, std::uint32_t sequence);
  Answer load_all(Bytes const& bytes);
  void save_part(std::uint32_t sequence, Bytes& bytes) const;
  Answer load_part(Bytes const& bytes, std::uint32_t sequence);
  Answer snapshot(std::uint32_t sequence, std::uint32_t name);
  Answer rollback(std::uint32_t sequence, std::uint32_t name);
  Answer fork(std::uint32_t name, std::uint32_t sequence);
  Answer drop_snapshot(std::uint32_t name);
  void cold(std::vector<BatchRow> const& batch, std::uint32_t first, std::vector<Logits>& logits);
  [[nodiscard]] Sequence const& sequence(std::uint32_t name) const { return sequences_[name]; }

 private:
  struct LateCopy {
    std::uint32_t to = 0;
    std::vector<Row> rows;
    bool loaded = false;  // meanwhile
  };

  [[nodiscard]] bool has(Bug bug) const { return bug_ == bug; }
  void append(Sequence& sequence, std::uint32_t token, bool begins_micro_batch);
  void purge(Sequence& sequence, std::uint32_t rows_to_come) const;
  void logits_of(Sequence const& sequence, Logits& logits) const;
  Answer remove_end(std::uint32_t name, std::uint32_t count);
  void empty(Sequence& sequence) const;
  void before_batch(std::vector<BatchRow> const& batch);

  Knobs knobs_;
  Bug bug_;
  std::array<Sequence, kSequences> sequences_;
  std::map<std::uint32_t, Sequence> snapshots_;
  std::map<std::uint32_t, std::uint32_t> forks_;   // sequence -> snapshot
  std::map<std::uint32_t, std::uint64_t> spoilt_;  // states of snapshots
  std::vector<LateCopy> late_;
};

}  // namespace toy
