// SPDX-License-Identifier: Apache-2.0
// Work that must wait for other work, where not waiting shows every time: behind a queue of fills that
// takes the device longer than the host takes for everything else.
#pragma once

#include "storage/step.hpp"
#include "tests/unit/cuda/cuda_test.hpp"

namespace holdfast::test {

/// A device with memory that is filled again and again.
class OrderScenario {
 public:
  explicit OrderScenario(CudaDevice& device) : device_{device} {
    slow_ = take(kSlowBytes, MemoryKind::kDevice);
    small_ = take(kSmallBytes, MemoryKind::kDevice);
  }
  OrderScenario(OrderScenario const&) = delete;
  OrderScenario& operator=(OrderScenario const&) = delete;
  ~OrderScenario() {
    device_.free(slow_);
    device_.free(small_);
  }

  /// A kernel runs after what its stream did before.
  bool kernels_follow_their_stream() {
    queue_fills(Stream{1}, std::byte{7});
    internal::storage::TablePatch const patch{.entry = kSlowBytes / 4 - 1, .page = 42, .count = 1};
    auto pinned = take(sizeof patch, MemoryKind::kPinned);
    std::memcpy(pinned.base, &patch, sizeof patch);
    internal::storage::StepParameters parameters{};
    parameters.patches = reinterpret_cast<internal::storage::TablePatch const*>(pinned.base);
    parameters.patch_count = 1;
    parameters.tables = reinterpret_cast<std::uint32_t*>(slow_.base);
    EXPECT_TRUE(IsOk(device_.launch(internal::storage::kStepKernel, &parameters, Stream{1})));
    EXPECT_TRUE(IsOk(device_.synchronize(Stream{1})));
    device_.free(pinned);
    std::uint32_t found = 0;
    EXPECT_TRUE(IsOk(device_.host_read(
        &found, slow_.base + kSlowBytes - sizeof found, sizeof found, Stream{1})));
    return found == 42;
  }

  /// A stream runs after the event of another one that it waits for.
  bool streams_wait_for_events() {
    std::byte const value = next_value();
    queue_fills(Stream{1}, value);
    auto const filled = device_.record(Stream{1});
    EXPECT_TRUE(IsOk(filled));
    EXPECT_TRUE(IsOk(device_.wait(Stream{2}, *filled)));
    CopySegment const copy{small_.base, slow_.base + kSlowBytes - kSmallBytes, kSmallBytes};
    EXPECT_TRUE(IsOk(device_.copy({&copy, 1}, Stream{2})));
    std::byte found{};
    EXPECT_TRUE(IsOk(device_.host_read(&found, small_.base + kSmallBytes - 1, 1, Stream{2})));
    EXPECT_TRUE(IsOk(device_.synchronize(Stream{1})));
    return found == value;
  }

  /// A bounce buffer keeps its bytes until the device has read them.
  bool bounce_buffers_are_waited_for() {
    constexpr std::size_t kMebi = std::size_t{1} << 20U;
    std::vector<std::byte> wanted(kSmallBytes);
    for (std::size_t i = 0; i < kSmallBytes / kMebi; ++i) {
      std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(i * kMebi), kMebi, next_value());
    }
    queue_fills(Stream{1}, std::byte{3});
    EXPECT_TRUE(IsOk(device_.host_write(small_.base, wanted.data(), kSmallBytes, Stream{1})));
    std::vector<std::byte> found(kSmallBytes);
    EXPECT_TRUE(IsOk(device_.host_read(found.data(), small_.base, kSmallBytes, Stream{1})));
    return found == wanted;
  }

 private:
  static constexpr std::uint64_t kSlowBytes = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kSmallBytes = std::uint64_t{8} << 20U;

  Memory take(std::uint64_t bytes, MemoryKind kind) {
    auto memory = device_.allocate(bytes, kind);
    EXPECT_TRUE(IsOk(memory));
    return memory ? *memory : Memory{};
  }
  /// Not what memory has from before.
  std::byte next_value() noexcept { return static_cast<std::byte>(++values_); }
  /// Some milliseconds of fills, of which only the last has the value.
  void queue_fills(Stream stream, std::byte value) {
    constexpr std::uint32_t kFills = 20;
    for (std::uint32_t i = 0; i < kFills; ++i) {
      FillSegment const fill{slow_.base, kSlowBytes, i + 1 < kFills ? ~value : value};
      EXPECT_TRUE(IsOk(device_.fill({&fill, 1}, stream)));
    }
  }

  CudaDevice& device_;
  Memory slow_;
  Memory small_;
  unsigned values_ = 0;
};

}  // namespace holdfast::test
