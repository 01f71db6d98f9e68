// SPDX-License-Identifier: Apache-2.0
// A device that wraps another and notes the byte ranges that kernels, copies and fills declare to
// write.
//
// It is the witness of ownership: it knows nothing of pages or sequences. It also poisons what it
// hands out, so that memory that was never written does not look like data, and keeps freed blocks
// for the next program, so that a program costs no system call.
#pragma once

#include <cstring>
#include <holdfast/device.hpp>
#include <memory>
#include <span>
#include <vector>

namespace holdfast::model {

/// Byte that fresh device memory is filled with; four of them are a NaN.
inline constexpr int kPoisonByte = 0xFF;

/// One written range.
struct WrittenRange {
  std::byte const* base = nullptr;
  std::uint64_t bytes = 0;
};

/// Wraps any device whose memory the host can touch.
class Recorder final : public Device, private AccessSink {
 public:
  explicit Recorder(std::unique_ptr<Device> inner) : inner_{std::move(inner)} {
    ranges_.reserve(1024);
  }
  Recorder(Recorder const&) = delete;
  Recorder& operator=(Recorder const&) = delete;
  ~Recorder() override {
    for (Memory const& memory : spare_) {
      inner_->free(memory);
    }
  }

  /// Ranges written since the last clear(), in order.
  [[nodiscard]] std::span<WrittenRange const> writes() const noexcept { return ranges_; }
  void clear() noexcept { ranges_.clear(); }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    for (std::size_t i = 0; i < spare_.size(); ++i) {
      if (spare_[i].bytes == bytes && spare_[i].kind == kind) {
        Memory const memory = spare_[i];
        spare_[i] = spare_.back();
        spare_.pop_back();
        return hand_out(memory);
      }
    }
    auto memory = inner_->allocate(bytes, kind);
    return memory ? hand_out(*memory) : Result<Memory>{memory.error()};
  }
  void free(Memory memory) noexcept override { spare_.push_back(memory); }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    for (CopySegment const& segment : segments) {
      write(segment.destination, segment.bytes);
    }
    return inner_->copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    for (FillSegment const& segment : segments) {
      write(segment.destination, segment.bytes);
    }
    return inner_->fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    kernel.accesses(parameters, *this);
    return inner_->launch(kernel, parameters, stream);
  }
  Result<Event> record(Stream stream) noexcept override { return inner_->record(stream); }
  Status wait(Stream stream, Event event) noexcept override { return inner_->wait(stream, event); }
  Status synchronize(Stream stream) noexcept override { return inner_->synchronize(stream); }
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
    return inner_->host_write(destination, source, bytes, stream);
  }

 private:
  void read(void const* /*base*/, std::uint64_t /*bytes*/) noexcept override {}
  void write(void const* base, std::uint64_t bytes) noexcept override {
    ranges_.push_back({static_cast<std::byte const*>(base), bytes});
  }
  Memory hand_out(Memory memory) noexcept {
    if (memory.kind == MemoryKind::kDevice) {
      std::memset(memory.base, kPoisonByte, memory.bytes);
    }
    return memory;
  }

  std::unique_ptr<Device> inner_;
  std::vector<WrittenRange> ranges_;
  std::vector<Memory> spare_;
};

}  // namespace holdfast::model
