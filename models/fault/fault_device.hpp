// SPDX-License-Identifier: Apache-2.0
// Planned failures: a device that wraps another and fails some of its calls. It works over every
// kind of device, and knows nothing of what they do.
#pragma once

#include <cstdint>
#include <functional>
#include <holdfast/device.hpp>
#include <utility>

#include "models/fault/fault_plan.hpp"
#include "models/forwarding_device.hpp"

namespace holdfast::model {

/// What becomes of a call.
enum class CallFate : std::uint8_t {
  kWorks,
  kFails,      // nothing is done
  kFailsDone,  // it is done, and answers an error
  kStalls,     // it is done, but its stream stands still from here on
};

/// Decides for all devices of one cache. It counts calls while it is armed.
class FaultSwitch {
 public:
  /// A fault that is to come; it takes the place of the one before.
  void plan(FaultPlan const& plan) noexcept {
    heal();
    plan_ = plan;
    is_planned_ = true;
  }
  /// Everything works again.
  void heal() noexcept {
    is_planned_ = false;
    seen_ = 0;
    lost_ = kNobody;
  }
  /// Calls count from here on.
  void arm() noexcept {
    is_armed_ = true;
    calls_ = failed_ = 0;
  }
  void disarm() noexcept { is_armed_ = false; }
  /// Calls since arm().
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }
  /// Calls that failed since arm().
  [[nodiscard]] std::uint32_t failed() const noexcept { return failed_; }

  [[nodiscard]] CallFate fate_of(FaultKind kind, std::uint32_t device) noexcept {
    if (!is_armed_) {
      return CallFate::kWorks;
    }
    ++calls_;
    if (device == lost_) {
      return fail();
    }
    bool const enqueues = kind == FaultKind::kCopy || kind == FaultKind::kLaunch;
    bool const counts = plan_.kind == kind || plan_.kind == FaultKind::kAny ||
                        plan_.kind == FaultKind::kLost ||
                        (plan_.kind == FaultKind::kStall && enqueues);
    if (!is_planned_ || !counts || seen_++ < plan_.after) {
      return CallFate::kWorks;
    }
    if (plan_.kind == FaultKind::kStall) {
      is_planned_ = false;
      return CallFate::kStalls;
    }
    if (plan_.kind == FaultKind::kLost) {
      is_planned_ = false;
      lost_ = device;
    }
    is_planned_ = is_planned_ && plan_.forever;
    return fail();
  }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  [[nodiscard]] CallFate fail() noexcept {
    ++failed_;
    return plan_.done ? CallFate::kFailsDone : CallFate::kFails;
  }

  FaultPlan plan_;
  std::uint32_t seen_ = 0;  // calls that the plan counts
  std::uint32_t lost_ = kNobody;
  std::uint32_t calls_ = 0;
  std::uint32_t failed_ = 0;
  bool is_planned_ = false;
  bool is_armed_ = false;
};

/// One device whose calls may fail.
class FaultDevice final : public ForwardingDevice {
 public:
  /// `stall` makes a stream of the inner device stand still; nothing where work runs at once.
  FaultDevice(Device& inner,
              FaultSwitch& faults,
              std::uint32_t index,
              std::function<void(Stream)> stall = nullptr)
      : ForwardingDevice{inner}, faults_{faults}, index_{index}, stall_{std::move(stall)} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    if (faults_.fate_of(FaultKind::kAllocation, index_) == CallFate::kWorks) {
      return inner().allocate(bytes, kind);
    }
    Error error = planned();
    error.code = ErrorCode::kOutOfMemory;
    return error;  // never done: nobody could give it back
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    return enqueue(FaultKind::kCopy, stream, [&] { return inner().copy(segments, stream); });
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    return enqueue(FaultKind::kCopy, stream, [&] { return inner().fill(segments, stream); });
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    return enqueue(
        FaultKind::kLaunch, stream, [&] { return inner().launch(kernel, parameters, stream); });
  }
  Result<Event> record(Stream stream) noexcept override {
    return call(FaultKind::kEvent, [&] { return inner().record(stream); });
  }
  Status wait(Stream stream, Event event) noexcept override {
    return call(FaultKind::kEvent, [&] { return inner().wait(stream, event); });
  }
  Result<bool> is_done(Event event) noexcept override {
    return call(FaultKind::kEvent, [&] { return inner().is_done(event); });
  }
  Status await(Event event) noexcept override {
    return call(FaultKind::kEvent, [&] { return inner().await(event); });
  }
  Status synchronize(Stream stream) noexcept override {
    return call(FaultKind::kSynchronize, [&] { return inner().synchronize(stream); });
  }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    return call(FaultKind::kCopy,
                [&] { return inner().host_read(destination, source, bytes, stream); });
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    return enqueue(FaultKind::kCopy, stream, [&] {
      return inner().host_write(destination, source, bytes, stream);
    });
  }

 private:
  [[nodiscard]] static Error planned() noexcept {
    return Error{.code = ErrorCode::kDeviceFailed, .text = "a planned fault", .subject = "device"};
  }
  template <typename Work>
  auto finish(CallFate fate, Work const& work) noexcept -> decltype(work()) {
    if (fate == CallFate::kWorks) [[likely]] {
      return work();  // nothing is moved: hosts read thousands of times a program
    }
    if (fate == CallFate::kFails) {
      return planned();
    }
    auto answer = work();
    return fate == CallFate::kFailsDone ? decltype(answer){planned()} : std::move(answer);
  }
  template <typename Work>
  auto call(FaultKind kind, Work const& work) noexcept -> decltype(work()) {
    return finish(faults_.fate_of(kind, index_), work);
  }
  template <typename Work>
  Status enqueue(FaultKind kind, Stream stream, Work const& work) noexcept {
    CallFate const fate = faults_.fate_of(kind, index_);
    if (fate == CallFate::kStalls && stall_) {
      stall_(stream);
    }
    return finish(fate, work);
  }

  FaultSwitch& faults_;
  std::uint32_t index_;
  std::function<void(Stream)> stall_;
};

}  // namespace holdfast::model
