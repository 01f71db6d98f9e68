// SPDX-License-Identifier: Apache-2.0
// Many contiguous copies by one launch.
#include <algorithm>

#include "device/cuda_blocks.cuh"
#include "device/cuda_device.hpp"

namespace holdfast::internal::device {
namespace {

struct CopyParameters {
  CopySegment segments[kSegmentsOfLaunch];
  std::uint32_t count;
};

__global__ void __launch_bounds__(kBlockThreads)
    copy_segments(__grid_constant__ CopyParameters const parameters) {
  OwnTasks own;
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    CopySegment const& segment = parameters.segments[i];
    own.of_next(tasks_of(segment.bytes), [&](std::uint32_t task) {
      std::uint64_t const at = std::uint64_t{task} * kTaskBytes;
      std::uint64_t const left = segment.bytes - at;
      copy_piece(segment.destination + at,
                 segment.source + at,
                 static_cast<std::uint32_t>(left < kTaskBytes ? left : kTaskBytes));
    });
  }
}

}  // namespace

int launch_copy(std::span<CopySegment const> segments, CudaQueue const& queue) noexcept {
  CopyParameters parameters;
  parameters.count = static_cast<std::uint32_t>(segments.size());
  std::copy(segments.begin(), segments.end(), parameters.segments);
  std::uint64_t tasks = 0;
  for (CopySegment const& segment : segments) {
    tasks += tasks_of(segment.bytes);
  }
  return launch_blocks(
      copy_segments, parameters, {.blocks = blocks_of_tasks(tasks), .stream = queue.stream});
}

}  // namespace holdfast::internal::device
