// SPDX-License-Identifier: Apache-2.0
// The device code of the library's own kernels, handed to every CUDA device.
#include <algorithm>
#include <array>
#include <holdfast/cuda.hpp>

#if HOLDFAST_WITH_CUDA
#include "device/cuda_device.hpp"
#include "planes/row_kernels.hpp"
#include "storage/step.hpp"
#endif

namespace holdfast {

#if HOLDFAST_WITH_CUDA

namespace {

constexpr std::uint32_t kOwnKernels = 4;
constexpr std::uint32_t kEngineKernels = 56;
static_assert(kOwnKernels + kEngineKernels <= internal::device::kLargestKernelCount);

}  // namespace

Result<std::unique_ptr<CudaDevice>> make_cuda_device(std::uint32_t ordinal,
                                                     std::span<CudaKernel const> kernels) noexcept {
  if (kernels.size() > kEngineKernels) {
    return Error{.code = ErrorCode::kInvalidArgument,
                 .text = "are more than a device can know",
                 .subject = "kernels",
                 .got = static_cast<std::int64_t>(kernels.size()),
                 .limit = kEngineKernels};
  }
  std::array<CudaKernel, kOwnKernels + kEngineKernels> all = {{
      {&internal::storage::kStepKernel, &internal::storage::launch_step},
      {&internal::planes::kWriteRowsKernel, &internal::planes::launch_write_rows},
      {&internal::planes::kWriteIndexerKernel, &internal::planes::launch_write_indexer},
      {&internal::planes::kWriteListKernel, &internal::planes::launch_write_list},
  }};
  std::copy(kernels.begin(), kernels.end(), all.begin() + kOwnKernels);
  return internal::device::open_cuda_device(ordinal, {all.data(), kOwnKernels + kernels.size()});
}

#else

namespace {

Error without_cuda() noexcept {
  return Error{.code = ErrorCode::kUnsupported,
               .text = "the library was built without CUDA",
               .subject = "CUDA device"};
}

}  // namespace

Result<std::uint32_t> cuda_device_count() noexcept {
  return without_cuda();
}

Result<std::unique_ptr<CudaDevice>> make_cuda_device(
    std::uint32_t /*ordinal*/, std::span<CudaKernel const> /*kernels*/) noexcept {
  return without_cuda();
}

#endif

}  // namespace holdfast
