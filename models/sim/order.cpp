// SPDX-License-Identifier: Apache-2.0
// Clocks of words.
#include "models/sim/order.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::model {
namespace {

constexpr std::size_t kWord = 4;  // bytes: the smallest thing that two lines may hold side by side
constexpr std::uint32_t kLatestStart = 1U << 31U;  // no program takes so many steps again

/// Whether all of the values are the same.
bool is_uniform(std::uint8_t const* values, std::size_t count) noexcept {
  std::uint8_t differences = 0;
  for (std::size_t i = 1; i < count; ++i) {
    differences |= values[i] ^ values[0];
  }
  return differences == 0;
}

std::uint32_t latest_of(std::uint32_t const* times, std::size_t count) noexcept {
  std::uint32_t latest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    latest = std::max(latest, times[i]);
  }
  return latest;
}

}  // namespace

Clock OrderCheck::start() noexcept {
  for (std::vector<Block>* const old : {&blocks_, &retired_}) {
    std::move(old->begin(), old->end(), std::back_inserter(spare_));
    old->clear();
  }
  // Clocks go on where those of the program before ended: its times are then before everything, and
  // words need not be cleared.
  if (latest_ > kLatestStart) {
    spare_.clear();
    latest_ = 0;
  }
  for (auto& notes : notes_) {
    notes.clear();
  }
  conflict_.reset();
  words_ = 0;
  last_block_ = 0;
  Clock clock;
  clock.fill(latest_);
  return clock;
}

void OrderCheck::add_memory(Memory memory) {
  Block block;
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  }
  block.memory = memory;
  block.readers = 0;
  std::size_t const words = (memory.bytes + kWord - 1) / kWord;
  block.writer.resize(words);
  block.written.resize(words);
  blocks_.push_back(std::move(block));
}

void OrderCheck::remove_memory(Memory memory) noexcept {
  auto const found = std::find_if(blocks_.begin(), blocks_.end(), [&](Block const& block) {
    return block.memory.base == memory.base;
  });
  if (found == blocks_.end()) {
    return;
  }
  retired_.push_back(std::move(*found));
  blocks_.erase(found);
  last_block_ = 0;
}

void OrderCheck::begin(WorkNote note, Clock const& clock) {
  now_ = note;
  clock_ = clock;
  latest_ = std::max(latest_, note.time);
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
    if (conflict_->second.number < conflict_->first.number) {
      std::swap(conflict_->first, conflict_->second);
      std::swap(conflict_->first_writes, conflict_->second_writes);
    }
  }
}

void OrderCheck::check_writers(Block const& block, Words words, bool writes) noexcept {
  // Most words that are touched together were written by one line.
  std::size_t const count = words.last - words.first;
  if (is_uniform(&block.writer[words.first], count) &&
      latest_of(&block.written[words.first], count) <= clock_[block.writer[words.first]]) {
    return;
  }
  for (std::size_t word = words.first; word < words.last; ++word) {
    std::uint32_t const writer = block.writer[word];
    if (block.written[word] > clock_[writer]) {
      report(block, word, writer, block.written[word], true, writes);
    }
  }
}

void OrderCheck::check_readers(Block const& block, Words words, std::uint32_t line) noexcept {
  std::uint32_t const* const times = block.read[line].data();
  if (latest_of(times + words.first, words.last - words.first) > clock_[line]) {
    std::uint32_t const* const found =
        std::find_if(times + words.first, times + words.last, [&](std::uint32_t time) {
          return time > clock_[line];
        });
    report(block, static_cast<std::size_t>(found - times), line, *found, false, true);
  }
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
  // Of rows that are no multiple of a word only whole words are looked at: their ends lie in words
  // that the rows beside them have a part of.
  std::size_t first = (offset + kWord - 1) / kWord;
  std::size_t last = (offset + bytes) / kWord;
  if (first >= last) {
    first = offset / kWord;
    last = (offset + bytes + kWord - 1) / kWord;
  }
  last = std::min(last, block.written.size());
  if (first >= last) {
    return;
  }
  Words const words{first, last};
  words_ += last - first;
  check_writers(block, words, writes);
  auto const at = static_cast<std::ptrdiff_t>(first);
  auto const count = static_cast<std::ptrdiff_t>(last - first);
  if (!writes) {
    Times& times = block.read[now_.line];
    if (times.size() < block.written.size()) {
      times.resize(block.written.size());
    }
    block.readers |= 1U << now_.line;
    std::fill_n(times.begin() + at, count, now_.time);
    return;
  }
  for (std::uint32_t readers = block.readers; readers != 0; readers &= readers - 1) {
    check_readers(block, words, static_cast<std::uint32_t>(__builtin_ctz(readers)));
  }
  std::fill_n(block.writer.begin() + at, count, static_cast<std::uint8_t>(now_.line));
  std::fill_n(block.written.begin() + at, count, now_.time);
}

}  // namespace holdfast::model
