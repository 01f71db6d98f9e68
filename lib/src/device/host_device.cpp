// SPDX-License-Identifier: Apache-2.0
// The host device: every call runs at once on the calling thread; streams and events are only
// names.
#include <cstdlib>
#include <cstring>
#include <holdfast/device.hpp>

#include "base/contract.hpp"

namespace holdfast {
namespace {

class HostDevice final : public Device {
 public:
  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    constexpr std::uint64_t kAlignment =
        256;  // as Device promises; also CUDA's allocation alignment
    std::uint64_t const rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* const base = rounded < bytes
                           ? nullptr
                           : std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
    if (base == nullptr) {
      return Error{.code = ErrorCode::kOutOfMemory,
                   .text = "the host has no memory for an arena of this many bytes",
                   .subject = "host device",
                   .got = static_cast<std::int64_t>(bytes)};
    }
    return Memory{static_cast<std::byte*>(base), bytes, kind};
  }
  void free(Memory memory) noexcept override { std::free(memory.base); }
  Status copy(std::span<CopySegment const> segments, Stream /*stream*/) noexcept override {
    for (CopySegment const& segment : segments) {
      std::memcpy(segment.destination, segment.source, segment.bytes);
    }
    return {};
  }
  Status fill(std::span<FillSegment const> segments, Stream /*stream*/) noexcept override {
    for (FillSegment const& segment : segments) {
      std::memset(segment.destination, std::to_integer<int>(segment.value), segment.bytes);
    }
    return {};
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream /*stream*/) noexcept override {
    kernel.host(parameters);
    return {};
  }
  Result<Event> record(Stream /*stream*/) noexcept override { return Event{}; }
  Status wait(Stream /*stream*/, Event /*event*/) noexcept override { return {}; }
  Result<bool> is_done(Event /*event*/) noexcept override { return true; }
  Status await(Event /*event*/) noexcept override { return {}; }
  Status synchronize(Stream /*stream*/) noexcept override { return {}; }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream /*stream*/) noexcept override {
    std::memcpy(destination, source, bytes);
    return {};
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream /*stream*/) noexcept override {
    std::memcpy(destination, source, bytes);
    return {};
  }
};

}  // namespace

std::unique_ptr<Device> make_host_device() noexcept {
  return std::unique_ptr<Device>{new (std::nothrow) HostDevice};
}

}  // namespace holdfast
