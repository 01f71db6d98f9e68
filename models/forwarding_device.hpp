// SPDX-License-Identifier: Apache-2.0
// The base of devices that look on: every call goes to another device, and who derives from it takes
// over those that it cares for.
#pragma once

#include <holdfast/device.hpp>
#include <memory>
#include <span>
#include <utility>

namespace holdfast::model {

class ForwardingDevice : public Device {
 public:
  /// `inner` must outlive this.
  explicit ForwardingDevice(Device& inner) noexcept : inner_{inner} {}
  explicit ForwardingDevice(std::unique_ptr<Device> inner) noexcept
      : own_{std::move(inner)}, inner_{*own_} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    return inner_.allocate(bytes, kind);
  }
  void free(Memory memory) noexcept override { inner_.free(memory); }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    return inner_.copy(segments, stream);
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    return inner_.fill(segments, stream);
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    return inner_.launch(kernel, parameters, stream);
  }
  Result<Event> record(Stream stream) noexcept override { return inner_.record(stream); }
  Status wait(Stream stream, Event event) noexcept override { return inner_.wait(stream, event); }
  Result<bool> is_done(Event event) noexcept override { return inner_.is_done(event); }
  Status await(Event event) noexcept override { return inner_.await(event); }
  Status synchronize(Stream stream) noexcept override { return inner_.synchronize(stream); }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    return inner_.host_read(destination, source, bytes, stream);
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    return inner_.host_write(destination, source, bytes, stream);
  }

 protected:
  [[nodiscard]] Device& inner() const noexcept { return inner_; }

 private:
  std::unique_ptr<Device> own_;  // nothing when somebody else owns it
  Device& inner_;
};

}  // namespace holdfast::model
