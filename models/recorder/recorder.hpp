// SPDX-License-Identifier: Apache-2.0
// A device that wraps another and notes the byte ranges that kernels, copies and fills declare to
// write, and those that they read as poison.
//
// It is the witness of ownership and of first reads: it knows nothing of pages or sequences. It
// poisons what it hands out, and what it is told to, so that memory that was not written does not
// look like data. It keeps freed blocks for the next program, so that a program costs no system
// call, and poisons again what was written of them. Who writes without saying so is looked for in
// programs that are watched; the first of them after others begins with memory that is poisoned whole.
#pragma once

#include <algorithm>
#include <cstring>
#include <holdfast/device.hpp>
#include <memory>
#include <span>
#include <vector>

#include "models/forwarding_device.hpp"
#include "models/recorder/poison.hpp"
#include "models/recorder/write_watch.hpp"
#include "models/recorder/written_parts.hpp"

namespace holdfast::model {

/// Whether a word of memory was not written since it was poisoned.
[[nodiscard]] inline bool is_poison(std::byte const* word) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, word, sizeof value);
  return value == UINT32_MAX;
}

/// Wraps any device whose memory the host can touch.
class Recorder final : public ForwardingDevice, private AccessSink {
 public:
  explicit Recorder(std::unique_ptr<Device> inner) : ForwardingDevice{std::move(inner)} {
    ranges_.reserve(1024);
  }
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;
  ~Recorder() override {
    for (Block const& block : spare_) {
      inner().free(block.parts.memory());
    }
  }

  /// Ranges written since they were last cleared, in order.
  [[nodiscard]] std::span<ByteRange const> writes() const noexcept { return ranges_; }
  /// Ranges read since the last clear() that begin or end with poison: nobody wrote them before.
  [[nodiscard]] std::span<ByteRange const> poison_reads() const noexcept { return poison_reads_; }
  void clear_writes() noexcept { ranges_.clear(); }
  void clear() noexcept {
    clear_writes();
    poison_reads_.clear();
  }
  /// Marks memory that this device handed out as not written.
  void poison(std::byte const* base, std::uint64_t bytes) {
    fill_with_poison(const_cast<std::byte*>(base), bytes);
    if (is_watching_) {
      watch_.note({base, bytes});
    }
  }
  /// Whether device memory that is handed out from now on is watched for writes that nobody
  /// declares, blocks apart that are too large to be compared after every operation. Forgets what
  /// was watched before.
  void watch(bool on) {
    is_watching_ = on;
    watch_.clear();
  }
  /// The first byte of watched memory that was written since the last look without being declared.
  [[nodiscard]] std::optional<ByteRange> undeclared() { return watch_.look(); }

  /// Something went wrong, so that nobody knows what was written: poisons freed blocks whole before
  /// they are handed out.
  void distrust() {
    for (Block& block : spare_) {
      block.parts.note_all();
    }
  }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    for (Block& block : spare_) {
      Memory const& memory = block.parts.memory();
      if (memory.bytes == bytes && memory.kind == kind) {
        std::swap(block, spare_.back());
        used_.push_back(std::move(spare_.back()));
        spare_.pop_back();
        return hand_out(used_.back());
      }
    }
    auto memory = inner().allocate(bytes, kind);
    if (!memory) {
      return memory.error();
    }
    used_.push_back({WrittenParts{*memory}});
    return hand_out(used_.back());
  }
  void free(Memory memory) noexcept override {
    watch_.remove(memory);
    auto const block = std::find_if(used_.begin(), used_.end(), [&](Block const& known) {
      return known.parts.memory().base == memory.base;
    });
    spare_.push_back(std::move(*block));
    used_.erase(block);
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    for (CopySegment const& segment : segments) {
      write(segment.destination, segment.bytes);
    }
    return inner().copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    for (FillSegment const& segment : segments) {
      write(segment.destination, segment.bytes);
    }
    return inner().fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    launch_first_ = ranges_.size();
    kernel.accesses(parameters, *this);
    return inner().launch(kernel, parameters, stream);
  }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream /*stream*/) noexcept override {
    std::memcpy(
        destination, source, bytes);  // what it wraps is host memory, and nothing runs later
    return {};
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    write(destination, bytes);
    return inner().host_write(destination, source, bytes, stream);
  }

 private:
  struct Block {
    WrittenParts parts;
    bool was_watched = false;  // by the one who had it last
  };

  /// Before the kernel runs: what it reads is either there, or was declared to be written earlier
  /// by the kernel itself.
  void read(void const* base, std::uint64_t bytes) noexcept override {
    auto const* const first = static_cast<std::byte const*>(base);
    auto const* const last = first + bytes - sizeof(std::uint32_t);
    if (bytes >= sizeof(std::uint32_t) && (is_unwritten(first) || is_unwritten(last))) {
      poison_reads_.push_back({first, bytes});
    }
  }
  [[nodiscard]] bool is_unwritten(std::byte const* word) const noexcept {
    if (!is_poison(word)) {
      return false;
    }
    for (std::size_t i = launch_first_; i < ranges_.size(); ++i) {
      if (word >= ranges_[i].base && word < ranges_[i].base + ranges_[i].bytes) {
        return false;
      }
    }
    return true;
  }
  void write(void const* base, std::uint64_t bytes) noexcept override {
    ranges_.push_back({static_cast<std::byte const*>(base), bytes});
    for (Block& block : used_) {
      if (block.parts.contains(ranges_.back().base)) {
        block.parts.note(ranges_.back());
        break;
      }
    }
    if (is_watching_) {
      watch_.note(ranges_.back());
    }
  }
  Memory hand_out(Block& block) noexcept {
    Memory const memory = block.parts.memory();
    if (memory.kind == MemoryKind::kDevice) {
      if (is_watching_ && !block.was_watched) {
        block.parts.note_all();
      }
      block.was_watched = is_watching_;
      block.parts.take([this](std::byte const* base, std::uint64_t bytes) { poison(base, bytes); });
      if (is_watching_ && memory.bytes < kMappedPoisonBytes) {
        watch_.add(memory);
      }
    }
    return memory;
  }

  std::vector<ByteRange> ranges_;
  std::vector<ByteRange> poison_reads_;
  std::size_t launch_first_ = 0;  // in ranges_, of the last launch
  std::vector<Block> used_;       // handed out
  std::vector<Block> spare_;      // freed
  WriteWatch watch_;
  bool is_watching_ = false;
};

}  // namespace holdfast::model
