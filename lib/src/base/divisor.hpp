// SPDX-License-Identifier: Apache-2.0
// A number that is divided by often. Sizes of pages, chunks, rings and pools are powers of two but for
// odd layouts, and a shift is many times quicker than a division.
#pragma once

#include <bit>
#include <cstdint>

#include "base/contract.hpp"

namespace holdfast::internal::base {

/// Reads as its value; `n / d` and `n % d` are those of numbers.
class Divisor {
 public:
  explicit Divisor(std::uint32_t value) noexcept
      : value_{value},
        shift_{static_cast<std::uint8_t>(std::countr_zero(value))},
        is_power_{std::has_single_bit(value)} {
    HOLDFAST_ASSERT(value != 0);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its value
  operator std::uint32_t() const noexcept { return value_; }

  friend std::uint32_t operator/(std::uint32_t n, Divisor d) noexcept {
    return d.is_power_ ? n >> d.shift_ : n / d.value_;
  }
  friend std::uint32_t operator%(std::uint32_t n, Divisor d) noexcept {
    return d.is_power_ ? n & (d.value_ - 1) : n % d.value_;
  }

 private:
  std::uint32_t value_;
  std::uint8_t shift_;
  bool is_power_;
};

/// n / d, rounded up.
[[nodiscard]] inline std::uint32_t ceil_div(std::uint32_t n, Divisor d) noexcept {
  return (n + d - 1) / d;
}

}  // namespace holdfast::internal::base
