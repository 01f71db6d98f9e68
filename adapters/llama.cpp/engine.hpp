// SPDX-License-Identifier: Apache-2.0
// One llama.cpp context under test, and a plain one beside it that says what a history's logits are.
// Every call does what the line of the protocol says through llama.h alone, and tells what llama.h
// answered. Nothing here judges an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "adapters/llama.cpp/tiny_models.hpp"
#include "llama.h"

namespace holdfast::llama_cpp {

/// Rows that all sequences have room for together; llama.cpp rounds contexts up to it anyway.
inline constexpr std::uint32_t kContext = 256;

/// Most rows of one batch.
inline constexpr std::uint32_t kBatch = 64;

inline constexpr int kSequences = 4;

/// Settings of a context, by the knobs that name them.
struct Knobs {
  Architecture const* architecture = nullptr;
  std::uint32_t micro_batch = kBatch;
  std::uint32_t rollback = 0;  ///< states kept for going back (n_rs_seq)
  bool unified = false;        ///< sequences share one buffer (kv_unified)
  bool whole_window = false;   ///< windowed layers keep all rows (swa_full)
};

/// One row of a batch.
struct Row {
  int sequence;
  llama_token token;
  bool wants_logits;
};

/// Half-open range of positions; a bound of -1 is none.
struct Range {
  llama_pos first = -1;
  llama_pos end = -1;

  [[nodiscard]] bool has(llama_pos position) const noexcept {
    return position >= first && (end < 0 || position < end);
  }
};

using Logits = std::vector<float>;

/// What an operation came to.
struct Answer {
  enum class Kind : std::uint8_t { kOk, kWeak, kRefused };

  Kind kind = Kind::kOk;
  std::string text;            ///< fields after `ok`, or the reason of a refusal
  std::vector<Logits> logits;  ///< one for each row that wanted them, in the batch's order

  static Answer ok(std::string fields = {}) { return {Kind::kOk, std::move(fields), {}}; }
  static Answer weak() { return {Kind::kWeak, {}, {}}; }
  static Answer refused(std::string reason) { return {Kind::kRefused, std::move(reason), {}}; }
};

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};
using Context = std::unique_ptr<llama_context, FreeContext>;

class Engine {
 public:
  /// Makes everything new: a context with these knobs, no rows, no entries.
  Answer reset(Knobs const& knobs);

  /// The extent of each sequence of which anything is left.
  Answer positions() const;

  /// Logits of a history, the first token of which is at `first`, in the plain context.
  Answer cold(std::vector<Row> const& rows, llama_pos first);

  Answer decode(std::vector<Row> const& rows);
  Answer remove(int sequence, Range range);
  Answer remove_every(Range range);
  Answer copy(int from, int to);
  Answer keep(int sequence);
  Answer shift(int sequence, Range range, llama_pos by);
  Answer clear();

  /// Bytes of one sequence or, with nothing for `sequence`, of all; `part` for what cannot be rolled back.
  Answer save(std::optional<int> sequence, int entry, bool part);
  Answer load(std::optional<int> sequence, int entry, bool part);
  Answer flip(int entry, std::uint64_t bit);
  Answer cut(int entry, std::uint64_t bytes);

 private:
  using Given = std::map<int, std::set<llama_pos>>;  // positions of the rows of each sequence

  struct Entry {
    std::vector<std::uint8_t> bytes;
    Given given;         // of all sequences, or in [0] that of the one that was saved
    llama_pos next = 0;  // the position after the saved rows of one sequence
  };

  struct Loaded {
    Model model;
    Context plain;
  };

  Loaded const* load_model(Architecture const& architecture, std::string& why);
  llama_memory_t memory() const { return llama_get_memory(context_.get()); }
  llama_pos next_position(int sequence) const;
  bool lacks_window(int sequence);
  bool is_weakened(int sequence, Range range, llama_pos before);

  std::map<std::string, Loaded, std::less<>> models_;
  Loaded const* loaded_ = nullptr;
  Context context_;
  Given given_;  // whether the engine still has the rows or not
  std::map<int, Entry> entries_;
};

}  // namespace holdfast::llama_cpp
