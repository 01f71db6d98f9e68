// SPDX-License-Identifier: Apache-2.0
// Clocks of words.
#include "models/sim/order.hpp"

#include <algorithm>

namespace holdfast::model {
namespace {

constexpr std::size_t kWord = 4;  // bytes: the smallest thing that two lines may hold side by side

}  // namespace

void OrderCheck::clear() noexcept {
  blocks_.clear();
  for (auto& notes : notes_) {
    notes.clear();
  }
  conflict_.reset();
  words_ = 0;
  last_block_ = 0;
}

void OrderCheck::add_memory(Memory memory) {
  Block block{.memory = memory};
  std::size_t const words = (memory.bytes + kWord - 1) / kWord;
  block.writer.assign(words, 0);
  block.written.assign(words, 0);
  blocks_.push_back(std::move(block));
}

void OrderCheck::remove_memory(Memory memory) noexcept {
  std::erase_if(blocks_, [&](Block const& block) { return block.memory.base == memory.base; });
  last_block_ = 0;
}

void OrderCheck::begin(WorkNote note, Clock const& clock) {
  now_ = note;
  clock_ = clock;
  notes_[note.line].push_back(note);
}

WorkNote OrderCheck::note_of(std::uint32_t line, std::uint32_t time) const noexcept {
  auto const& notes = notes_[line];
  auto const found = std::lower_bound(
      notes.begin(), notes.end(), time, [](WorkNote const& note, std::uint32_t wanted) {
        return note.time < wanted;
      });
  return found != notes.end() && found->time == time ? *found
                                                     : WorkNote{.line = line, .time = time};
}

void OrderCheck::report(Block const& block,
                        std::size_t word,
                        std::uint32_t line,
                        std::uint32_t time,
                        bool first_writes,
                        bool second_writes) noexcept {
  if (!conflict_) {
    conflict_ = Conflict{.first = note_of(line, time),
                         .second = now_,
                         .first_writes = first_writes,
                         .second_writes = second_writes,
                         .place = block.memory.base + word * kWord};
  }
}

void OrderCheck::touch_word(Block& block, std::size_t word, bool writes) noexcept {
  std::uint32_t const writer = block.writer[word];
  if (block.written[word] > clock_[writer]) {
    report(block, word, writer, block.written[word], true, writes);
  }
  if (!writes) {
    block.read[now_.line][word] = now_.time;
    return;
  }
  for (std::uint32_t readers = block.readers; readers != 0; readers &= readers - 1) {
    auto const line = static_cast<std::uint32_t>(__builtin_ctz(readers));
    if (block.read[line][word] > clock_[line]) {
      report(block, word, line, block.read[line][word], false, true);
    }
  }
  block.writer[word] = static_cast<std::uint8_t>(now_.line);
  block.written[word] = now_.time;
}

void OrderCheck::touch(void const* base, std::uint64_t bytes, bool writes) noexcept {
  auto const* const place = static_cast<std::byte const*>(base);
  auto const holds = [&](Block const& block) {
    return place >= block.memory.base && place < block.memory.base + block.memory.bytes;
  };
  if (last_block_ >= blocks_.size() || !holds(blocks_[last_block_])) {
    auto const found = std::find_if(blocks_.begin(), blocks_.end(), holds);
    if (found == blocks_.end()) {
      return;  // host memory
    }
    last_block_ = static_cast<std::size_t>(found - blocks_.begin());
  }
  Block& block = blocks_[last_block_];
  auto const offset = static_cast<std::size_t>(place - block.memory.base);
  std::size_t const first = offset / kWord;
  std::size_t const last = std::min((offset + bytes + kWord - 1) / kWord, block.written.size());
  if (!writes && block.read[now_.line].empty()) {
    block.read[now_.line].assign(block.written.size(), 0);
    block.readers |= 1U << now_.line;
  }
  words_ += last - first;
  for (std::size_t word = first; word < last; ++word) {
    touch_word(block, word, writes);
  }
}

}  // namespace holdfast::model
