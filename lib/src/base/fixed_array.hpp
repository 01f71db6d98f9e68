// SPDX-License-Identifier: Apache-2.0
// An array whose size is fixed at creation; creation reports failure instead of throwing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>

#include "base/contract.hpp"

namespace holdfast::internal::base {

/// Zero-filled array of trivially copyable elements.
template <typename T>
class FixedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  FixedArray() noexcept = default;
  FixedArray(FixedArray const&) = delete;
  FixedArray& operator=(FixedArray const&) = delete;
  ~FixedArray() { std::free(data_); }

  /// Returns false when the host has no memory.
  [[nodiscard]] bool create(std::uint64_t count) noexcept {
    HOLDFAST_ASSERT(data_ == nullptr);
    data_ = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
    count_ = data_ == nullptr ? 0 : count;
    return data_ != nullptr;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }
  T& operator[](std::uint64_t index) noexcept {
    HOLDFAST_ASSERT(index < count_);
    return data_[index];
  }
  T const& operator[](std::uint64_t index) const noexcept {
    HOLDFAST_ASSERT(index < count_);
    return data_[index];
  }
  [[nodiscard]] std::span<T> span(std::uint64_t first, std::uint64_t count) noexcept {
    HOLDFAST_ASSERT(first + count <= count_);
    return {data_ + first, static_cast<std::size_t>(count)};
  }
  [[nodiscard]] std::span<T const> span(std::uint64_t first, std::uint64_t count) const noexcept {
    HOLDFAST_ASSERT(first + count <= count_);
    return {data_ + first, static_cast<std::size_t>(count)};
  }

 private:
  T* data_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace holdfast::internal::base
