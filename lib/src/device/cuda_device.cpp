// SPDX-License-Identifier: Apache-2.0
// The CUDA device: streams and events of the runtime, bounce buffers, and errors with their call.
#include "device/cuda_device.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <holdfast/layout.hpp>

#include "base/contract.hpp"
#include "base/mutants.hpp"
#include "device/cuda_relaunch.hpp"

/// Returns from the enclosing member with the error of a CUDA call.
#define HOLDFAST_CUDA_TRY(call, ...)                                                           \
  do {                                                                                         \
    if (cudaError_t const holdfast_error = call(__VA_ARGS__); holdfast_error != cudaSuccess) { \
      return fail(#call, holdfast_error);                                                      \
    }                                                                                          \
  } while (false)

namespace holdfast::internal::device {
namespace {

constexpr std::uint64_t kBounceBytes = std::uint64_t{1} << 20U;
constexpr std::uint32_t kBounces = 2;
/// Events of a stream; a number stands for the last one that was recorded in its place.
constexpr std::uint32_t kEventsOfStream = 16;

/// Whether the context is lost with an error.
bool is_final(cudaError_t error) noexcept {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

Error error_of(char const* call, cudaError_t error) noexcept {
  return Error{.code = ErrorCode::kDeviceFailed,
               .text = cudaGetErrorString(error),
               .subject = call,
               .got = error};
}

/// Makes a device current for a scope.
class Current {
 public:
  explicit Current(int ordinal) noexcept : ordinal_{ordinal} {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ != ordinal) {
      static_cast<void>(cudaSetDevice(ordinal));
    }
  }
  Current(Current const&) = delete;
  Current& operator=(Current const&) = delete;
  ~Current() {
    if (before_ != ordinal_) {
      static_cast<void>(cudaSetDevice(before_));
    }
  }

 private:
  int ordinal_;
  int before_ = 0;
};

class RuntimeDevice final : public CudaDevice {
 public:
  explicit RuntimeDevice(std::uint32_t ordinal) noexcept : ordinal_{static_cast<int>(ordinal)} {}
  ~RuntimeDevice() override {
    Current const current{ordinal_};
    for (Line const& line : std::span{lines_}.first(line_count_)) {
      static_cast<void>(cudaStreamSynchronize(line.native));
      for (cudaEvent_t const event : line.events) {
        static_cast<void>(event == nullptr ? cudaSuccess : cudaEventDestroy(event));
      }
      static_cast<void>(line.is_own ? cudaStreamDestroy(line.native) : cudaSuccess);
    }
    for (Bounce const& bounce : bounces_) {
      static_cast<void>(bounce.free == nullptr ? cudaSuccess : cudaEventDestroy(bounce.free));
    }
    static_cast<void>(bounces_[0].base == nullptr ? cudaSuccess : cudaFreeHost(bounces_[0].base));
  }

  [[nodiscard]] Status create(std::span<CudaKernel const> kernels) noexcept {
    if (kernels.size() > kLargestKernelCount) {
      return Error{.code = ErrorCode::kInvalidArgument,
                   .text = "are more than a device can know",
                   .subject = "kernels",
                   .got = static_cast<std::int64_t>(kernels.size()),
                   .limit = kLargestKernelCount};
    }
    std::copy(kernels.begin(), kernels.end(), kernels_.begin());
    kernel_count_ = static_cast<std::uint32_t>(kernels.size());
    Current const current{ordinal_};
    int multiprocessors = 0;
    HOLDFAST_CUDA_TRY(
        cudaDeviceGetAttribute, &multiprocessors, cudaDevAttrMultiProcessorCount, ordinal_);
    multiprocessors_ = static_cast<std::uint32_t>(multiprocessors);
    void* base = nullptr;
    HOLDFAST_CUDA_TRY(cudaHostAlloc, &base, kBounces * kBounceBytes, cudaHostAllocDefault);
    for (std::uint32_t i = 0; i < kBounces; ++i) {
      bounces_[i].base = static_cast<std::byte*>(base) + i * kBounceBytes;
      HOLDFAST_CUDA_TRY(cudaEventCreateWithFlags, &bounces_[i].free, cudaEventDisableTiming);
    }
    return {};
  }

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    HOLDFAST_TRY(check());
    Current const current{ordinal_};
    void* base = nullptr;
    std::uint64_t const some = std::max<std::uint64_t>(bytes, 1);
    cudaError_t const error = kind == MemoryKind::kDevice
                                  ? cudaMalloc(&base, some)
                                  : cudaHostAlloc(&base, some, cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      return Error{.code = ErrorCode::kOutOfMemory,
                   .text = kind == MemoryKind::kDevice
                               ? "the device has no memory for an arena of this many bytes"
                               : "the host has no pinned memory of this many bytes",
                   .subject = "CUDA device",
                   .got = static_cast<std::int64_t>(bytes)};
    }
    if (error != cudaSuccess) {
      return fail(kind == MemoryKind::kDevice ? "cudaMalloc" : "cudaHostAlloc", error);
    }
    return Memory{static_cast<std::byte*>(base), bytes, kind};
  }

  void free(Memory memory) noexcept override {
    Current const current{ordinal_};
    for (Line const& line : std::span{lines_}.first(line_count_)) {
      static_cast<void>(cudaStreamSynchronize(line.native));
    }
    static_cast<void>(memory.kind == MemoryKind::kDevice ? cudaFree(memory.base)
                                                         : cudaFreeHost(memory.base));
  }

  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    Current const current{ordinal_};
    if (segments.size() == 1) {
      CopySegment const& one = segments.front();
      HOLDFAST_CUDA_TRY(cudaMemcpyAsync,
                        one.destination,
                        one.source,
                        one.bytes,
                        cudaMemcpyDefault,
                        (*line)->native);
      return {};
    }
    while (!segments.empty()) {
      auto const some = segments.first(std::min<std::size_t>(segments.size(), kSegmentsOfLaunch));
      HOLDFAST_TRY(status_of("launch of the copy kernel", launch_copy(some, queue(**line))));
      segments = segments.subspan(some.size());
    }
    return {};
  }

  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    Current const current{ordinal_};
    for (FillSegment const& segment : segments) {
      HOLDFAST_CUDA_TRY(cudaMemsetAsync,
                        segment.destination,
                        std::to_integer<int>(segment.value),
                        segment.bytes,
                        (*line)->native);
    }
    return {};
  }

  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    auto const* const end = kernels_.cbegin() + kernel_count_;
    auto const* const known =
        std::find_if(kernels_.cbegin(), end, [&](CudaKernel const& candidate) {
          return candidate.kernel == &kernel;
        });
    if (known == end) {
      return Error{.code = ErrorCode::kUnsupported,
                   .text = "this kernel has no device code here",
                   .subject = kernel.name};
    }
    Current const current{ordinal_};
    CudaQueue where = queue(**line);
    if (HOLDFAST_MUTANT(kCudaWrongStream)) {
      where.stream = nullptr;
    }
    return status_of(kernel.name, known->launch(parameters, where));
  }

  Result<Event> record(Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    Current const current{ordinal_};
    cudaEvent_t& event = (*line)->events[(*line)->recorded % kEventsOfStream];
    if (event == nullptr) {
      HOLDFAST_CUDA_TRY(cudaEventCreateWithFlags, &event, cudaEventDisableTiming);
    }
    HOLDFAST_CUDA_TRY(cudaEventRecord, event, (*line)->native);
    return Event{stream, (*line)->recorded++};
  }

  Status wait(Stream stream, Event event) noexcept override {
    auto const waiting = enter(stream);
    HOLDFAST_TRY(waiting);
    auto const other = enter(event.stream);
    HOLDFAST_TRY(other);
    Current const current{ordinal_};
    if (HOLDFAST_MUTANT(kCudaWaitLost)) {
      return {};
    }
    HOLDFAST_CUDA_TRY(cudaStreamWaitEvent, (*waiting)->native, event_of(**other, event), 0);
    return {};
  }

  Result<bool> is_done(Event event) noexcept override {
    auto const line = enter(event.stream);
    HOLDFAST_TRY(line);
    cudaError_t const answer = cudaEventQuery(event_of(**line, event));
    if (answer != cudaSuccess && answer != cudaErrorNotReady) {
      return fail("cudaEventQuery", answer);
    }
    return answer == cudaSuccess;
  }

  Status await(Event event) noexcept override {
    auto const line = enter(event.stream);
    HOLDFAST_TRY(line);
    HOLDFAST_CUDA_TRY(cudaEventSynchronize, event_of(**line, event));
    return {};
  }

  Status synchronize(Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    HOLDFAST_CUDA_TRY(cudaStreamSynchronize, (*line)->native);
    return {};
  }

  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    Current const current{ordinal_};
    auto* const to = static_cast<std::byte*>(destination);
    // One piece is copied on the device while the one before it is copied here.
    std::uint64_t const pieces = (bytes + kBounceBytes - 1) / kBounceBytes;
    auto const bytes_of = [&](std::uint64_t piece) {
      return std::min(kBounceBytes, bytes - piece * kBounceBytes);
    };
    for (std::uint64_t piece = 0; piece < pieces + 1; ++piece) {
      if (piece < pieces) {
        auto const bounce = take_bounce();
        HOLDFAST_TRY(bounce);
        HOLDFAST_CUDA_TRY(cudaMemcpyAsync,
                          (*bounce)->base,
                          source + piece * kBounceBytes,
                          bytes_of(piece),
                          cudaMemcpyDeviceToHost,
                          (*line)->native);
        HOLDFAST_CUDA_TRY(cudaEventRecord, (*bounce)->free, (*line)->native);
      }
      if (piece != 0) {
        Bounce const& done = bounces_[(next_bounce_ + (piece < pieces ? 0U : 1U)) % kBounces];
        HOLDFAST_CUDA_TRY(cudaEventSynchronize, done.free);
        std::memcpy(to + (piece - 1) * kBounceBytes, done.base, bytes_of(piece - 1));
      }
    }
    HOLDFAST_CUDA_TRY(cudaStreamSynchronize, (*line)->native);
    return {};
  }

  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    Current const current{ordinal_};
    auto const* const from = static_cast<std::byte const*>(source);
    for (std::uint64_t at = 0; at < bytes; at += kBounceBytes) {
      auto const bounce = take_bounce();
      HOLDFAST_TRY(bounce);
      std::uint64_t const some = std::min(kBounceBytes, bytes - at);
      std::memcpy((*bounce)->base, from + at, some);
      HOLDFAST_CUDA_TRY(cudaMemcpyAsync,
                        destination + at,
                        (*bounce)->base,
                        some,
                        cudaMemcpyHostToDevice,
                        (*line)->native);
      HOLDFAST_CUDA_TRY(cudaEventRecord, (*bounce)->free, (*line)->native);
    }
    return {};
  }

  Result<void*> native_stream(Stream stream) noexcept override {
    auto const line = enter(stream);
    HOLDFAST_TRY(line);
    return static_cast<void*>((*line)->native);
  }

  Status adopt_stream(Stream stream, void* native) noexcept override {
    HOLDFAST_TRY(check());
    if (find(stream) != nullptr) {
      return Error{.code = ErrorCode::kInvalidArgument,
                   .text = "is in use already",
                   .subject = "stream",
                   .got = stream.value};
    }
    auto const line = add(stream);
    HOLDFAST_TRY(line);
    (*line)->native = static_cast<cudaStream_t>(native);
    return {};
  }

 private:
  /// A stream that was used.
  struct Line {
    Stream name;
    cudaStream_t native = nullptr;
    bool is_own = false;
    std::uint32_t recorded = 0;
    std::array<cudaEvent_t, kEventsOfStream> events{};
    Relaunches relaunches;
  };
  /// Half of the pinned memory through which the host reads and writes.
  struct Bounce {
    std::byte* base = nullptr;
    cudaEvent_t free = nullptr;  // after its last use
  };

  [[nodiscard]] Status check() const noexcept {
    if (is_lost_) {
      return Error{.code = ErrorCode::kDeviceFailed,
                   .text = "an earlier error, which was told then, has ended its context",
                   .subject = "CUDA device"};
    }
    return {};
  }
  [[nodiscard]] Error fail(char const* call, cudaError_t error) noexcept {
    static_cast<void>(cudaGetLastError());  // those that are not final are not told again
    is_lost_ = is_lost_ || is_final(error);
    return error_of(call, error);
  }
  [[nodiscard]] Status status_of(char const* call, int error) noexcept {
    return error == cudaSuccess ? Status{} : Status{fail(call, static_cast<cudaError_t>(error))};
  }
  [[nodiscard]] Line* find(Stream stream) noexcept {
    for (Line& line : std::span{lines_}.first(line_count_)) {
      if (line.name == stream) {
        return &line;
      }
    }
    return nullptr;
  }
  [[nodiscard]] Result<Line*> add(Stream stream) noexcept {
    if (line_count_ == lines_.size()) {
      return Error{.code = ErrorCode::kExhausted,
                   .text = "the device was used in as many streams as it can tell apart",
                   .subject = "stream",
                   .got = std::int64_t{line_count_} + 1,
                   .limit = kLargestStreamCount};
    }
    lines_[line_count_].name = stream;
    return &lines_[line_count_++];
  }
  /// Begins a call in a stream.
  [[nodiscard]] Result<Line*> enter(Stream stream) noexcept {
    HOLDFAST_TRY(check());
    if (Line* const known = find(stream); known != nullptr) {
      return known;
    }
    Current const current{ordinal_};
    cudaStream_t native = nullptr;
    HOLDFAST_CUDA_TRY(cudaStreamCreateWithFlags, &native, cudaStreamNonBlocking);
    auto line = add(stream);
    if (!line) {
      static_cast<void>(cudaStreamDestroy(native));
      return line.error();
    }
    (*line)->native = native;
    (*line)->is_own = true;
    return *line;
  }
  [[nodiscard]] CudaQueue queue(Line& line) const noexcept {
    return {
        .stream = line.native, .multiprocessors = multiprocessors_, .relaunches = &line.relaunches};
  }
  [[nodiscard]] static cudaEvent_t event_of(Line const& line, Event event) noexcept {
    HOLDFAST_ASSERT(event.number < line.recorded);
    return line.events[event.number % kEventsOfStream];
  }
  /// The bounce buffer that was used longest ago, when it is free.
  [[nodiscard]] Result<Bounce*> take_bounce() noexcept {
    Bounce& bounce = bounces_[next_bounce_];
    next_bounce_ = (next_bounce_ + 1) % kBounces;
    if (!HOLDFAST_MUTANT(kCudaBounceReused)) {
      HOLDFAST_CUDA_TRY(cudaEventSynchronize, bounce.free);
    }
    return &bounce;
  }

  int ordinal_;
  std::uint32_t multiprocessors_ = 0;
  std::array<CudaKernel, kLargestKernelCount> kernels_{};
  std::uint32_t kernel_count_ = 0;
  std::array<Line, kLargestStreamCount> lines_{};
  std::uint32_t line_count_ = 0;
  std::array<Bounce, kBounces> bounces_{};
  std::uint32_t next_bounce_ = 0;
  bool is_lost_ = false;
};

}  // namespace

Result<std::unique_ptr<CudaDevice>> open_cuda_device(std::uint32_t ordinal,
                                                     std::span<CudaKernel const> kernels) noexcept {
  auto const count = cuda_device_count();
  HOLDFAST_TRY(count);
  if (ordinal >= *count) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = "there is no such device",
                 .subject = "ordinal",
                 .got = ordinal,
                 .limit = *count};
  }
  std::unique_ptr<RuntimeDevice> device{new (std::nothrow) RuntimeDevice{ordinal}};
  if (device == nullptr) {
    return Error{.code = ErrorCode::kOutOfMemory,
                 .text = "the host has no memory for its bookkeeping",
                 .subject = "CUDA device"};
  }
  HOLDFAST_TRY(device->create(kernels));
  return std::unique_ptr<CudaDevice>{std::move(device)};
}

}  // namespace holdfast::internal::device

namespace holdfast {

Result<std::uint32_t> cuda_device_count() noexcept {
  int count = 0;
  if (cudaError_t const error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return internal::device::error_of("cudaGetDeviceCount", error);
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace holdfast
