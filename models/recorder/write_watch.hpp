// SPDX-License-Identifier: Apache-2.0
// A second copy of memory that follows what is declared to be written. What differs from it was
// written by somebody who did not say so.
#pragma once

#include <algorithm>
#include <cstring>
#include <holdfast/device.hpp>
#include <optional>
#include <vector>

#include "models/recorder/written_parts.hpp"

namespace holdfast::model {

/// Follows some blocks of memory that the host can read.
class WriteWatch {
 public:
  /// Forgets all blocks.
  void clear() noexcept {
    blocks_.clear();
    written_.clear();
  }
  void add(Memory memory) {
    blocks_.push_back({memory, {memory.base, memory.base + memory.bytes}});
  }
  void remove(Memory memory) {
    std::erase_if(blocks_, [&](Block const& block) { return block.memory.base == memory.base; });
  }
  /// The range is written, now or before the next look.
  void note(ByteRange range) { written_.push_back(range); }
  /// The first byte that differs though nobody declared to write it since the last look. Takes the memory as it is for the next one.
  [[nodiscard]] std::optional<ByteRange> look() {
    std::optional<ByteRange> found;
    for (Block& block : blocks_) {
      for (ByteRange const& range : written_) {
        if (range.base >= block.memory.base &&
            range.base < block.memory.base + block.memory.bytes) {
          std::memcpy(
              block.copy.data() + (range.base - block.memory.base), range.base, range.bytes);
        }
      }
      if (std::memcmp(block.copy.data(), block.memory.base, block.copy.size()) != 0) {
        auto const [was, is] =
            std::mismatch(block.copy.begin(), block.copy.end(), block.memory.base);
        if (!found) {
          found = ByteRange{is, 1};
        }
        std::copy_n(block.memory.base, block.copy.size(), block.copy.begin());
      }
    }
    written_.clear();
    return found;
  }

 private:
  struct Block {
    Memory memory;
    std::vector<std::byte> copy;
  };
  std::vector<Block> blocks_;
  std::vector<ByteRange> written_;
};

}  // namespace holdfast::model
