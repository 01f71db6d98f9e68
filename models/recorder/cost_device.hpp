// SPDX-License-Identifier: Apache-2.0
// What calls cost: a device that counts what the library asks of it.
#pragma once

#include <cstdint>
#include <holdfast/device.hpp>
#include <string_view>

#include "models/forwarding_device.hpp"

namespace holdfast::model {

/// Device calls of one operation, on all devices.
struct Cost {
  std::uint32_t allocations = 0;
  std::uint32_t launches = 0;
  std::uint32_t copies = 0;      // fills, and bytes that the host reads or writes, too
  std::uint32_t records = 0;     // of events
  std::uint32_t waits = 0;       // of streams, for events
  std::uint32_t host_waits = 0;  // of the host, for an event or a stream
  /// Launches of the step kernel on each device before the operation, in the cache's whole life.
  std::uint64_t steps_before = 0;
};

class CostDevice final : public ForwardingDevice {
 public:
  CostDevice(Device& inner, Cost& cost) noexcept : ForwardingDevice{inner}, cost_{cost} {}

  /// Launches of the step kernel since start().
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  void start() noexcept { steps_ = 0; }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    ++cost_.allocations;
    return inner().allocate(bytes, kind);
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    ++cost_.copies;
    return inner().copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    ++cost_.copies;
    return inner().fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    ++cost_.launches;
    steps_ += std::string_view{kernel.name} == "holdfast.step" ? 1U : 0U;
    return inner().launch(kernel, parameters, stream);
  }
  Result<Event> record(Stream stream) noexcept override {
    ++cost_.records;
    return inner().record(stream);
  }
  Status wait(Stream stream, Event event) noexcept override {
    ++cost_.waits;
    return inner().wait(stream, event);
  }
  Status await(Event event) noexcept override {
    ++cost_.host_waits;
    return inner().await(event);
  }
  Status synchronize(Stream stream) noexcept override {
    ++cost_.host_waits;
    return inner().synchronize(stream);
  }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    ++cost_.copies;
    return inner().host_read(destination, source, bytes, stream);
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    ++cost_.copies;
    return inner().host_write(destination, source, bytes, stream);
  }

 private:
  Cost& cost_;
  std::uint64_t steps_ = 0;
};

}  // namespace holdfast::model
