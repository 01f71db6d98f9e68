// SPDX-License-Identifier: Apache-2.0
// A device that counts what a cache asks of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <holdfast/device.hpp>
#include <span>

#include "models/forwarding_device.hpp"

namespace holdfast::bench {

/// What was asked since the last clear().
struct DeviceCounts {
  std::uint64_t launches = 0;
  std::uint64_t plane_bytes = 0;  ///< that the library's launches write into page and slot arenas
  std::uint64_t allocations = 0;
  std::uint64_t synchronizes = 0;  ///< of whole streams
  std::uint64_t events = 0;
  std::uint64_t awaits = 0;  ///< of one event, by the host
};

class CountingDevice final : public model::ForwardingDevice, private AccessSink {
 public:
  using ForwardingDevice::ForwardingDevice;

  /// Plane bytes are counted from this address on; nullptr: they are not, which costs less.
  void set_planes(std::byte const* base) noexcept { planes_ = base; }
  void clear() noexcept { counts_ = {}; }
  [[nodiscard]] DeviceCounts const& counts() const noexcept { return counts_; }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    ++counts_.allocations;
    return inner().allocate(bytes, kind);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    ++counts_.launches;
    // Row kernels declare what they read on the device; only the step kernel is asked.
    if (planes_ != nullptr && std::strcmp(kernel.name, "holdfast.step") == 0) {
      kernel.accesses(parameters, *this);
    }
    return inner().launch(kernel, parameters, stream);
  }
  Result<Event> record(Stream stream) noexcept override {
    ++counts_.events;
    return inner().record(stream);
  }
  Status await(Event event) noexcept override {
    ++counts_.awaits;
    return inner().await(event);
  }
  Status synchronize(Stream stream) noexcept override {
    ++counts_.synchronizes;
    return inner().synchronize(stream);
  }

 private:
  void read(void const* /*base*/, std::uint64_t /*bytes*/) noexcept override {}
  void write(void const* base, std::uint64_t bytes) noexcept override {
    counts_.plane_bytes += base >= planes_ ? bytes : 0;
  }

  std::byte const* planes_ = nullptr;
  DeviceCounts counts_;
};

}  // namespace holdfast::bench
