// SPDX-License-Identifier: Apache-2.0
// Notes which parts of a block of memory were written, so that whoever wants it as it was need not
// touch the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <holdfast/device.hpp>
#include <vector>

namespace holdfast::model {

/// Bytes of a device.
struct ByteRange {
  std::byte const* base = nullptr;
  std::uint64_t bytes = 0;
};

/// The parts of one block.
class WrittenParts {
 public:
  /// All of it counts as written.
  explicit WrittenParts(Memory memory)
      : memory_{memory}, words_(memory.bytes / kPartBytes / kWordBits + 1) {}

  [[nodiscard]] Memory const& memory() const noexcept { return memory_; }
  [[nodiscard]] bool contains(std::byte const* place) const noexcept {
    return place >= memory_.base && place < memory_.base + memory_.bytes;
  }
  /// The range, which begins in the block, is written.
  void note(ByteRange range) noexcept {
    if (range.bytes == 0) {
      return;
    }
    auto const first = static_cast<std::uint64_t>(range.base - memory_.base);
    std::uint64_t const last = std::min(first + range.bytes, memory_.bytes) - 1;
    for (std::uint64_t part = first / kPartBytes; part <= last / kPartBytes; ++part) {
      words_[part / kWordBits] |= std::uint64_t{1} << (part % kWordBits);
    }
  }
  void note_all() noexcept { is_all_ = true; }
  /// Calls `visit(base, bytes)` for the written parts, once when all is written, and forgets them.
  template <typename Visit>
  void take(Visit visit) {
    if (is_all_) {
      is_all_ = false;
      std::fill(words_.begin(), words_.end(), 0);
      visit(memory_.base, memory_.bytes);
      return;
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t& word = words_[i]; word != 0;) {
        auto const from = static_cast<std::uint32_t>(std::countr_zero(word));
        auto const count = static_cast<std::uint32_t>(std::countr_one(word >> from));
        std::uint64_t const at = (i * kWordBits + from) * kPartBytes;
        if (at < memory_.bytes) {
          visit(memory_.base + at, std::min(std::uint64_t{count} * kPartBytes, memory_.bytes - at));
        }
        word &= count == kWordBits ? 0 : ~(((std::uint64_t{1} << count) - 1) << from);
      }
    }
  }

 private:
  static constexpr std::uint64_t kPartBytes = 256;
  static constexpr std::uint64_t kWordBits = 64;

  Memory memory_;
  std::vector<std::uint64_t> words_;  // a bit a part
  bool is_all_ = true;
};

}  // namespace holdfast::model
