// SPDX-License-Identifier: Apache-2.0
// The device seam: everything that touches plane memory goes through a `Device`.
//
// A kernel is a static descriptor. Devices that run on the host call its `host` twin; devices that
// check call `accesses` as well; a CUDA device looks its code up by the descriptor's address.
// Engines launch their own kernels through the same seam, so that a checking device sees every byte
// that is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/result.hpp>
#include <memory>
#include <span>

namespace holdfast {

/// An ordered queue of work on one device; 0 is the device's default stream.
struct Stream {
  std::uint32_t value = 0;
  friend bool operator==(Stream, Stream) = default;
};

/// A point in a stream that other streams and the host can wait for. It may stand for a later point
/// of its stream as well, so that a device needs to keep the last few of each stream only.
struct Event {
  Stream stream;
  std::uint32_t number = 0;
};

/// Where memory lies.
enum class MemoryKind : std::uint8_t {
  kDevice,  ///< read and written by kernels and copies only
  kPinned,  ///< host memory that the device can read: parameter blocks and bounce buffers
};

/// One allocation. `base` is aligned to 256 bytes.
struct Memory {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
};

/// One contiguous copy; source and destination do not overlap.
struct CopySegment {
  std::byte* destination = nullptr;
  std::byte const* source = nullptr;
  std::uint64_t bytes = 0;
};

/// One contiguous fill with a byte value.
struct FillSegment {
  std::byte* destination = nullptr;
  std::uint64_t bytes = 0;
  std::byte value{0};
};

/// Receives the byte ranges that a kernel reads and writes.
class AccessSink {
 public:
  virtual void read(void const* base, std::uint64_t bytes) noexcept = 0;
  virtual void write(void const* base, std::uint64_t bytes) noexcept = 0;

 protected:
  ~AccessSink() = default;
};

/// Static description of a kernel. `parameters` points to the kernel's own parameter struct.
struct Kernel {
  char const* name;
  std::uint32_t parameter_bytes;  ///< size of the parameter struct in bytes
  /// Declares every byte that `host` would touch with these parameters; run before `host`.
  void (*accesses)(void const* parameters, AccessSink& sink) noexcept;
  /// The host twin: the same result, bit for bit, as the device's code.
  void (*host)(void const* parameters) noexcept;
};

/// One device. Calls enqueue in stream order and return at once, except where they say that they
/// wait.
///
/// Errors   : kDeviceFailed unless said otherwise; on error nothing is known about the enqueued
///            work
/// Threads  : one thread at a time per device
class Device {
 public:
  Device() = default;
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;
  virtual ~Device() = default;

  /// Reserves `bytes` bytes. Errors: kOutOfMemory, nothing changed. The contents are undefined.
  [[nodiscard]] virtual Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept = 0;
  /// Gives back what `allocate` returned; waits for work that uses it.
  virtual void free(Memory memory) noexcept = 0;
  [[nodiscard]] virtual Status copy(std::span<CopySegment const> segments,
                                    Stream stream) noexcept = 0;
  [[nodiscard]] virtual Status fill(std::span<FillSegment const> segments,
                                    Stream stream) noexcept = 0;
  /// Runs `kernel`; `parameters` is copied before the call returns, what it points to is not.
  [[nodiscard]] virtual Status launch(Kernel const& kernel,
                                      void const* parameters,
                                      Stream stream) noexcept = 0;
  [[nodiscard]] virtual Result<Event> record(Stream stream) noexcept = 0;
  [[nodiscard]] virtual Status wait(Stream stream, Event event) noexcept = 0;
  /// Whether all work before the event is done.
  [[nodiscard]] virtual Result<bool> is_done(Event event) noexcept = 0;
  /// The host waits until it is.
  [[nodiscard]] virtual Status await(Event event) noexcept = 0;
  /// Waits until all work of `stream` is done.
  [[nodiscard]] virtual Status synchronize(Stream stream) noexcept = 0;
  /// Copies device memory into host memory; waits for `stream`.
  [[nodiscard]] virtual Status host_read(void* destination,
                                         std::byte const* source,
                                         std::uint64_t bytes,
                                         Stream stream) noexcept = 0;
  /// Copies host memory into device memory; `source` may be reused at once.
  [[nodiscard]] virtual Status host_write(std::byte* destination,
                                          void const* source,
                                          std::uint64_t bytes,
                                          Stream stream) noexcept = 0;
};

/// A device that runs everything at once on the calling thread, in host memory.
[[nodiscard]] std::unique_ptr<Device> make_host_device() noexcept;

}  // namespace holdfast
