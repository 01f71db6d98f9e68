// SPDX-License-Identifier: Apache-2.0
// The happens-before check: vector clocks over the lines of a simulation - the host, and every
// stream of every device - and, for every word of device memory, who wrote it last and who has read
// it since. Two accesses conflict when one of them writes and nothing orders them.
//
// What is checked does not depend on the order in which work happens to run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::model {

/// Most lines of a simulation.
inline constexpr std::uint32_t kLineLimit = 32;

/// What a line has seen of every line.
using Clock = std::array<std::uint32_t, kLineLimit>;

inline void join(Clock& clock, Clock const& other) noexcept {
  for (std::uint32_t line = 0; line < kLineLimit; ++line) {
    clock[line] = clock[line] < other[line] ? other[line] : clock[line];
  }
}

/// One piece of work, for reports.
struct WorkNote {
  char const* name = "";        // kernel, "copy", "fill"
  std::uint32_t operation = 0;  // of the program
  std::uint32_t line = 0;
  std::uint32_t time = 0;    // on its line
  std::uint64_t number = 0;  // of all work, in the order in which it was enqueued
};

/// "toy.rows of operation 3".
[[nodiscard]] inline std::string name_of(WorkNote const& note) {
  return note.name + std::string{" of operation "} + std::to_string(note.operation);
}

/// Two accesses that nothing orders; the first was enqueued first, whenever it ran.
struct Conflict {
  WorkNote first;
  WorkNote second;
  bool first_writes = false;
  bool second_writes = false;
  std::byte const* place = nullptr;
};

/// Who touched which word of the memory of one simulation.
class OrderCheck {
 public:
  /// Forgets all accesses. The clocks of the program that follows start at what it returns.
  [[nodiscard]] Clock start() noexcept;
  void add_memory(Memory memory);
  void remove_memory(Memory memory) noexcept;

  /// Starts a piece of work on a line; the accesses that follow are its own.
  void begin(WorkNote note, Clock const& clock);
  void read(void const* base, std::uint64_t bytes) noexcept { touch(base, bytes, false); }
  void write(void const* base, std::uint64_t bytes) noexcept { touch(base, bytes, true); }

  /// The first conflict since start().
  [[nodiscard]] std::optional<Conflict> const& conflict() const noexcept { return conflict_; }
  [[nodiscard]] std::uint64_t touched_words() const noexcept { return words_; }

 private:
  /// Times of one line in the words of one block. Up to where this program's clocks start they are
  /// those of other programs.
  using Times = std::vector<std::uint32_t>;
  struct Block {
    Memory memory;
    std::vector<std::uint8_t> writer;  // line of the last write
    Times written;                     // its time there
    std::array<Times, kLineLimit> read;
    std::uint32_t readers = 0;  // lines that have read anything
  };
  struct Words {
    std::size_t first;
    std::size_t last;  // one past
  };

  void touch(void const* base, std::uint64_t bytes, bool writes) noexcept;
  void check_writers(Block const& block, Words words, bool writes) noexcept;
  void check_readers(Block const& block, Words words, std::uint32_t line) noexcept;
  void report(Block const& block,
              std::size_t word,
              std::uint32_t line,
              std::uint32_t time,
              bool first_writes,
              bool second_writes) noexcept;
  [[nodiscard]] WorkNote note_of(std::uint32_t line, std::uint32_t time) const noexcept;

  std::vector<Block> blocks_;
  std::vector<Block> retired_;  // of this program's memory that is gone
  std::vector<Block> spare_;    // of other programs: their words are used again as they are
  std::array<std::vector<WorkNote>, kLineLimit> notes_;  // by line, in order of time
  WorkNote now_;
  Clock clock_{};
  std::uint32_t latest_ = 0;  // time of any line
  std::optional<Conflict> conflict_;
  std::uint64_t words_ = 0;
  std::size_t last_block_ = 0;
};

}  // namespace holdfast::model
