// SPDX-License-Identifier: Apache-2.0
// Devices around the host device: one counts calls and fails on request, one holds every kernel
// to the writes that it declares.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <holdfast/device.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/forwarding_device.hpp"

namespace holdfast::test {

/// Forwards to a host device, counts, and fails what it is told to fail.
class WrappingDevice : public model::ForwardingDevice {
 public:
  WrappingDevice() : ForwardingDevice{make_host_device()} {}

  static constexpr std::uint64_t kNever = UINT64_MAX;

  std::uint64_t allocations = 0;              ///< asked for, failed ones counted
  std::uint64_t frees = 0;                    ///< given back
  std::uint64_t launches = 0;                 ///< asked for, failed ones counted
  std::uint64_t copies = 0;                   ///< calls
  std::uint64_t watched_bytes = 0;            ///< launches are asked for writes of so many bytes
  std::uint64_t watched_writes = 0;           ///< such writes
  std::uint64_t failing_allocation = kNever;  ///< 0-based index of the allocation that fails
  std::uint64_t failing_launch = kNever;      ///< 0-based index of the launch that fails
  std::uint64_t writes = 0;                   ///< host_write calls, failed ones counted
  std::uint64_t failing_write = kNever;       ///< 0-based index of the host_write that fails
  bool failing_fill = false;
  bool failing_synchronize = false;
  bool failing_read = false;

  /// Allocations that are not given back.
  [[nodiscard]] std::size_t live() const noexcept { return memories_.size(); }
  /// Fails the next launch.
  void fail_next_launch() noexcept { failing_launch = launches; }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    if (allocations++ == failing_allocation) {
      return Error{.code = ErrorCode::kOutOfMemory, .text = "planned", .subject = "device"};
    }
    auto memory = inner().allocate(bytes, kind);
    if (memory) {
      memories_.push_back(*memory);
    }
    return memory;
  }
  void free(Memory memory) noexcept override {
    ++frees;
    auto const known = std::find_if(memories_.begin(), memories_.end(), [&](Memory const& other) {
      return other.base == memory.base && other.bytes == memory.bytes && other.kind == memory.kind;
    });
    EXPECT_NE(known, memories_.end()) << "free of what is not allocated";
    if (known != memories_.end()) {
      memories_.erase(known);
    }
    inner().free(memory);
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    ++copies;
    return inner().copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    return failing_fill ? planned() : inner().fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    if (watched_bytes != 0) {
      Watch watch{*this};
      kernel.accesses(parameters, watch);
    }
    return launches++ == failing_launch ? planned() : inner().launch(kernel, parameters, stream);
  }
  Status synchronize(Stream stream) noexcept override {
    return failing_synchronize ? planned() : inner().synchronize(stream);
  }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    return failing_read ? planned() : inner().host_read(destination, source, bytes, stream);
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    return writes++ == failing_write ? planned()
                                     : inner().host_write(destination, source, bytes, stream);
  }

 protected:
  [[nodiscard]] std::span<Memory const> memories() const noexcept { return memories_; }

 private:
  struct Watch final : AccessSink {
    explicit Watch(WrappingDevice& owner) : device{owner} {}
    void read(void const* /*base*/, std::uint64_t /*bytes*/) noexcept override {}
    void write(void const* /*base*/, std::uint64_t bytes) noexcept override {
      device.watched_writes += bytes == device.watched_bytes ? 1 : 0;
    }
    WrappingDevice& device;
  };

  static Status planned() noexcept {
    return Error{.code = ErrorCode::kDeviceFailed, .text = "planned", .subject = "device"};
  }

  std::vector<Memory> memories_;
};

/// Compares all device memory around every launch: each byte that changed must be declared as
/// written, and every declared byte must lie in the device's memory.
class DeclaringDevice final : public WrappingDevice {
 public:
  std::uint64_t changed_bytes = 0;   ///< by all launches so far
  std::uint64_t declared_bytes = 0;  ///< as written, overlaps counted twice
  std::uint64_t undeclared_bytes = 0;

  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    std::vector<std::vector<std::byte>> before;
    for (Memory const& memory : memories()) {
      before.emplace_back(memory.base, memory.base + memory.bytes);
    }
    Collector declared;
    kernel.accesses(parameters, declared);
    for (Range const& range : declared.writes) {
      declared_bytes += range.bytes;
      bool const inside =
          std::any_of(memories().begin(), memories().end(), [&](Memory const& memory) {
            return range.base >= memory.base &&
                   range.base + range.bytes <= memory.base + memory.bytes;
          });
      EXPECT_TRUE(inside) << kernel.name << " declares a write outside the device's memory";
    }
    Status const launched = WrappingDevice::launch(kernel, parameters, stream);
    for (std::size_t i = 0; i < before.size(); ++i) {
      compare(kernel, memories()[i], before[i], declared);
    }
    return launched;
  }

 private:
  struct Range {
    std::byte const* base;
    std::uint64_t bytes;
  };
  struct Collector final : AccessSink {
    std::vector<Range> writes;
    void read(void const* base, std::uint64_t bytes) noexcept override {
      EXPECT_TRUE(base != nullptr || bytes == 0);
    }
    void write(void const* base, std::uint64_t bytes) noexcept override {
      writes.push_back({static_cast<std::byte const*>(base), bytes});
    }
  };

  void compare(Kernel const& kernel,
               Memory const& memory,
               std::vector<std::byte> const& before,
               Collector const& declared) noexcept {
    if (std::memcmp(memory.base, before.data(), before.size()) == 0) {
      return;
    }
    std::uint64_t undeclared = 0;
    for (std::uint64_t i = 0; i < memory.bytes; ++i) {
      if (memory.base[i] == before[i]) {
        continue;
      }
      ++changed_bytes;
      std::byte const* const at = memory.base + i;
      bool const known =
          std::any_of(declared.writes.begin(), declared.writes.end(), [&](Range const& range) {
            return at >= range.base && at < range.base + range.bytes;
          });
      undeclared += known ? 0 : 1;
    }
    undeclared_bytes += undeclared;
    EXPECT_EQ(undeclared, 0U) << kernel.name << " changed bytes that it does not declare";
  }
};

}  // namespace holdfast::test
