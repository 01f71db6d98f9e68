// SPDX-License-Identifier: Apache-2.0
// The CUDA device, and the device code that it needs itself.
#pragma once

#include <holdfast/cuda.hpp>

namespace holdfast::internal::device {

/// Most kernels that one device knows.
inline constexpr std::uint32_t kLargestKernelCount = 64;

/// As holdfast::make_cuda_device(), with the library's kernels among `kernels`.
[[nodiscard]] Result<std::unique_ptr<CudaDevice>> open_cuda_device(
    std::uint32_t ordinal, std::span<CudaKernel const> kernels) noexcept;

/// Segments of one launch of the copy kernel; they travel as its parameters.
inline constexpr std::uint32_t kSegmentsOfLaunch = 96;

/// Copies up to kSegmentsOfLaunch segments by one launch. Returns a cudaError_t.
[[nodiscard]] int launch_copy(std::span<CopySegment const> segments,
                              CudaQueue const& queue) noexcept;

}  // namespace holdfast::internal::device
