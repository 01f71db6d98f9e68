// SPDX-License-Identifier: Apache-2.0
// CUDA devices behind the device seam. Nothing else of the library names CUDA, and this header needs
// no CUDA toolkit: native streams are passed as void*, and are cudaStream_t.
#pragma once

#include <cstdint>
#include <holdfast/device.hpp>
#include <memory>
#include <span>

namespace holdfast {

/// Where the device code of a kernel is enqueued.
struct CudaQueue {
  void* stream = nullptr;             ///< cudaStream_t, of the current device
  std::uint32_t multiprocessors = 0;  ///< of that device
  void* relaunches = nullptr;         ///< the library's own
};

/// Enqueues a kernel's device code, which gives the same bits as Kernel::host. Returns a cudaError_t;
/// 0 is success. `parameters` may be read during the call only.
using CudaLaunch = int (*)(void const* parameters, CudaQueue const& queue) noexcept;

/// Device code of one kernel.
struct CudaKernel {
  Kernel const* kernel = nullptr;
  CudaLaunch launch = nullptr;
};

/// A device of the CUDA runtime. Segments of copies and fills lie in memory of this device or of
/// peers, or in pinned memory. An error names the failed CUDA call as its subject, CUDA's own
/// words as its text and the cudaError_t as its number; it may come from earlier work. An error
/// that the CUDA context does not survive is told once; every later call says that the device is
/// lost.
class CudaDevice : public Device {
 public:
  /// The native stream behind a stream; made when it is first used. Errors: kExhausted (more than
  /// kLargestStreamCount), kDeviceFailed.
  [[nodiscard]] virtual Result<void*> native_stream(Stream stream) noexcept = 0;
  /// Makes `stream` a name of a native stream of the caller's, which must outlive this device.
  /// Errors: kInvalidArgument (the stream is in use already), kExhausted.
  [[nodiscard]] virtual Status adopt_stream(Stream stream, void* native) noexcept = 0;
};

/// Devices that make_cuda_device() can open.
///
/// Errors   : kUnsupported (the library was built without CUDA), kDeviceFailed (no driver, no device)
[[nodiscard]] Result<std::uint32_t> cuda_device_count() noexcept;

/// Opens a device by its CUDA ordinal; one ordinal may be opened more than once. The library's own
/// kernels are there; `kernels` are those of the engine, and are copied.
///
/// Errors   : kUnsupported (the library was built without CUDA), kInvalidArgument (no such device,
///            more than 56 kernels), kDeviceFailed, kOutOfMemory
/// Memory   : two pinned bounce buffers of 1 MiB
[[nodiscard]] Result<std::unique_ptr<CudaDevice>> make_cuda_device(
    std::uint32_t ordinal, std::span<CudaKernel const> kernels = {}) noexcept;

}  // namespace holdfast
