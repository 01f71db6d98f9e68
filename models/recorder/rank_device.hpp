// SPDX-License-Identifier: Apache-2.0
// The device of one rank of one stage, when there are several: they share one recorder, and each
// counts what it is told, and notes when a kernel of the library touches what is another's.
#pragma once

#include <algorithm>
#include <vector>

#include "models/recorder/recorder.hpp"

namespace holdfast::model {

class RankDevice final : public ForwardingDevice, private AccessSink {
 public:
  explicit RankDevice(Device& recorder) noexcept : ForwardingDevice{recorder} {}

  /// Launches and copies since the last clear().
  [[nodiscard]] std::uint32_t works() const noexcept { return works_; }
  /// Accesses since then outside of this device's memory, the engine's staging memory apart.
  [[nodiscard]] std::uint32_t foreign() const noexcept { return foreign_; }
  void clear() noexcept {
    works_ = foreign_ = 0;
    copied_ = 0;
  }
  /// Bytes copied since then.
  [[nodiscard]] std::uint64_t copied() const noexcept { return copied_; }
  /// Memory of no device in particular: what engines stage their rows in.
  void share(Memory memory) { shared_ = memory; }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    auto memory = inner().allocate(bytes, kind);
    if (memory) {
      own_.push_back(*memory);
    }
    return memory;
  }
  void free(Memory memory) noexcept override {
    std::erase_if(own_, [&](Memory const& known) { return known.base == memory.base; });
    inner().free(memory);
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    for (CopySegment const& segment : segments) {
      copied_ += segment.bytes;  // in how many pieces is the device's own matter
      note(segment.source);
      note(segment.destination);
    }
    return inner().copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    ++works_;
    for (FillSegment const& segment : segments) {
      note(segment.destination);
    }
    return inner().fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    ++works_;
    kernel.accesses(parameters, *this);
    return inner().launch(kernel, parameters, stream);
  }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    note(source);
    return inner().host_read(destination, source, bytes, stream);
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    note(destination);
    return inner().host_write(destination, source, bytes, stream);
  }

 private:
  void read(void const* base, std::uint64_t /*bytes*/) noexcept override { note(base); }
  void write(void const* base, std::uint64_t /*bytes*/) noexcept override { note(base); }
  void note(void const* place) noexcept {
    auto const* const byte = static_cast<std::byte const*>(place);
    auto const holds = [&](Memory const& memory) {
      return byte >= memory.base && byte < memory.base + memory.bytes;
    };
    if (std::none_of(own_.begin(), own_.end(), holds) && !holds(shared_)) {
      ++foreign_;
    }
  }

  std::vector<Memory> own_;
  Memory shared_{};
  std::uint64_t copied_ = 0;
  std::uint32_t works_ = 0;
  std::uint32_t foreign_ = 0;
};

}  // namespace holdfast::model
