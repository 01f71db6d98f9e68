// SPDX-License-Identifier: Apache-2.0
// A CUDA device for a test, or a skip that says why there is none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <holdfast/cuda.hpp>
#include <memory>
#include <span>
#include <vector>

#include "tests/support/status.hpp"

namespace holdfast::test {

/// Draws the same numbers everywhere.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) noexcept : state_{seed * 2654435761U + 1} {}
  /// Below `limit`.
  std::uint32_t below(std::uint32_t limit) noexcept {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 8U) % limit;
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) noexcept {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }

 private:
  std::uint32_t state_;
};

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = make_cuda_device(0);
    if (!device) {
      GTEST_SKIP() << "SKIPPED: no CUDA device: " << describe(device.error());
    }
    device_ = std::move(*device);
  }

  std::vector<std::byte> read(std::byte const* from, std::uint64_t bytes, Stream stream = {}) {
    std::vector<std::byte> out(bytes);
    EXPECT_TRUE(IsOk(device_->host_read(out.data(), from, bytes, stream)));
    return out;
  }

  std::unique_ptr<CudaDevice> device_;
};

/// Memory that lies on the host and on a device. Kernels run on both, and both must be equal.
class Image {
 public:
  Image(CudaDevice& device, std::uint64_t bytes, Draw& draw) : device_{device}, host_(bytes) {
    std::uint32_t word = draw.below(1U << 24U);
    for (std::size_t at = 0; at + sizeof word <= bytes; at += sizeof word) {
      word = word * 1664525U + 1013904223U;
      std::memcpy(host_.data() + at, &word, sizeof word);
    }
    auto memory = device.allocate(bytes, MemoryKind::kDevice);
    EXPECT_TRUE(IsOk(memory));
    memory_ = *memory;
  }
  Image(Image const&) = delete;
  Image& operator=(Image const&) = delete;
  ~Image() { device_.free(memory_); }

  template <typename T>
  T* on_host(std::uint64_t offset) noexcept {
    return reinterpret_cast<T*>(host_.data() + offset);
  }
  template <typename T>
  T* on_device(std::uint64_t offset) noexcept {
    return reinterpret_cast<T*>(memory_.base + offset);
  }
  /// The device gets what the host has.
  void upload() {
    ASSERT_TRUE(IsOk(device_.host_write(memory_.base, host_.data(), host_.size(), {})));
  }
  /// Runs a kernel on both sides; the first byte that differs, or -1.
  std::int64_t difference(Kernel const& kernel, void const* here, void const* there) {
    kernel.host(here);
    EXPECT_TRUE(IsOk(device_.launch(kernel, there, {})));
    std::vector<std::byte> found(host_.size());
    EXPECT_TRUE(IsOk(device_.host_read(found.data(), memory_.base, found.size(), {})));
    auto const first = std::mismatch(found.begin(), found.end(), host_.begin()).first;
    return first == found.end() ? -1 : first - found.begin();
  }

 private:
  CudaDevice& device_;
  std::vector<std::byte> host_;
  Memory memory_{};
};

}  // namespace holdfast::test
