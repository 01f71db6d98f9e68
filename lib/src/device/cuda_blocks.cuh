// SPDX-License-Identifier: Apache-2.0
// Copies and fills by one block of threads, in accesses of 16 bytes where the addresses allow it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::internal::device {

inline constexpr std::uint32_t kBlockThreads = 256;
inline constexpr std::uint32_t kWarp = 32;
/// Bytes that a block moves at a time: four accesses of 16 bytes a thread.
inline constexpr std::uint32_t kTaskBytes = kBlockThreads * 4 * 16;

/// Tasks of a contiguous piece.
[[nodiscard]] constexpr __host__ __device__ std::uint32_t tasks_of(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kTaskBytes - 1) / kTaskBytes);
}

/// Blocks that move memory in so many tasks: one each, since blocks that begin as others end are quicker
/// than blocks that go round.
[[nodiscard]] constexpr std::uint32_t blocks_of_tasks(std::uint64_t tasks) noexcept {
  constexpr std::uint64_t kMost = 1U << 16U;
  return static_cast<std::uint32_t>(tasks == 0 ? 1 : tasks < kMost ? tasks : kMost);
}

/// Blocks for so many tasks: at most what runs at once.
[[nodiscard]] inline std::uint32_t blocks_for(std::uint64_t tasks,
                                              std::uint32_t multiprocessors) noexcept {
  constexpr std::uint32_t kBlocksOfOne = 2048 / kBlockThreads;
  std::uint64_t const most = std::uint64_t{multiprocessors} * kBlocksOfOne;
  return static_cast<std::uint32_t>(tasks == 0 ? 1 : tasks < most ? tasks : most);
}

/// How a kernel is launched.
struct Shape {
  std::uint32_t blocks;
  void* stream;
};

#ifdef __CUDACC__

/// Launches a kernel that takes one struct. Returns a cudaError_t.
template <typename Arguments>
[[nodiscard]] int launch_blocks(void (*kernel)(Arguments),
                                Arguments& arguments,
                                Shape const& shape) noexcept {
  void* pointers[] = {&arguments};
  return cudaLaunchKernel(reinterpret_cast<void const*>(kernel),
                          dim3{shape.blocks},
                          dim3{kBlockThreads},
                          pointers,
                          0,
                          static_cast<cudaStream_t>(shape.stream));
}

template <typename Word>
__device__ void copy_words(std::byte* to, std::byte const* from, std::uint32_t words) noexcept {
  auto* const destination = reinterpret_cast<Word*>(to);
  auto const* const source = reinterpret_cast<Word const*>(from);
  std::uint32_t i = threadIdx.x;
  for (; i + 3 * kBlockThreads < words; i += 4 * kBlockThreads) {
    Word const a = source[i];
    Word const b = source[i + kBlockThreads];
    Word const c = source[i + 2 * kBlockThreads];
    Word const d = source[i + 3 * kBlockThreads];
    destination[i] = a;
    destination[i + kBlockThreads] = b;
    destination[i + 2 * kBlockThreads] = c;
    destination[i + 3 * kBlockThreads] = d;
  }
  for (; i < words; i += kBlockThreads) {
    destination[i] = source[i];
  }
}

/// The whole block copies a piece that no other block writes. `keeps_tail` is false in a mutant.
__device__ inline void copy_piece(std::byte* to,
                                  std::byte const* from,
                                  std::uint32_t bytes,
                                  bool keeps_tail = true) noexcept {
  auto const destination = reinterpret_cast<std::uintptr_t>(to);
  auto const apart = destination ^ reinterpret_cast<std::uintptr_t>(from);
  std::uint32_t const width = (apart & 15U) == 0 ? 16 : (apart & 3U) == 0 ? 4 : 1;
  auto const head = min(static_cast<std::uint32_t>(-destination & (width - 1)), bytes);
  std::uint32_t const words = (bytes - head) / width;
  if (threadIdx.x < head) {
    to[threadIdx.x] = from[threadIdx.x];
  }
  if (width == 16) {
    copy_words<uint4>(to + head, from + head, words);
  } else if (width == 4) {
    copy_words<std::uint32_t>(to + head, from + head, words);
  } else {
    copy_words<std::byte>(to + head, from + head, words);
  }
  std::uint32_t const done = head + words * width;
  if (threadIdx.x < bytes - done && keeps_tail) {
    to[done + threadIdx.x] = from[done + threadIdx.x];
  }
}

/// The whole block fills a piece with zeros.
__device__ inline void clear_piece(std::byte* to, std::uint32_t bytes) noexcept {
  auto const head =
      min(static_cast<std::uint32_t>(-reinterpret_cast<std::uintptr_t>(to) & 15U), bytes);
  std::uint32_t const words = (bytes - head) / 16;
  if (threadIdx.x < head) {
    to[threadIdx.x] = std::byte{0};
  }
  for (std::uint32_t i = threadIdx.x; i < words; i += kBlockThreads) {
    reinterpret_cast<uint4*>(to + head)[i] = uint4{0, 0, 0, 0};
  }
  std::uint32_t const done = head + words * 16;
  if (threadIdx.x < bytes - done) {
    to[done + threadIdx.x] = std::byte{0};
  }
}

/// A block's share of the tasks of several lists, which are numbered on from list to list.
class OwnTasks {
 public:
  /// Calls `run(task)` for those of the next list.
  template <typename Run>
  __device__ void of_next(std::uint32_t tasks, Run run) noexcept {
    for (; next_ < before_ + tasks; next_ += gridDim.x) {
      run(next_ - before_);
    }
    before_ += tasks;
  }

 private:
  std::uint32_t next_ = blockIdx.x;
  std::uint32_t before_ = 0;
};

#endif

}  // namespace holdfast::internal::device
