// SPDX-License-Identifier: Apache-2.0
// What the codecs share. A codec is a struct with
//   kLargestError   the largest error of an element whose block holds normal numbers of the format,
//                   as a share of the largest magnitude in its block
//   encode, decode  so many blocks, by an exact rule: the same bits from every compiler and device
//
// Both functions are compiled for the host and by nvcc for devices, so that there is one rule: + - * /
// min max, comparisons and integers in a written order, no contraction.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define HOLDFAST_HOST_DEVICE __host__ __device__
#else
#define HOLDFAST_HOST_DEVICE
#endif

namespace holdfast::detail {

/// value / 2^bits, rounded to the nearest, ties to even; 1 <= bits <= 31.
[[nodiscard]] constexpr std::uint32_t shift_to_even(std::uint32_t value,
                                                    std::uint32_t bits) noexcept {
  std::uint32_t const quotient = value >> bits;
  std::uint32_t const rest = value & ((1U << bits) - 1);
  std::uint32_t const half = 1U << (bits - 1);
  // Without branches: whether a value rounds up is as good as random.
  return quotient + static_cast<std::uint32_t>(rest + (quotient & 1U) > half);
}

inline constexpr std::uint32_t kF32Infinity = 0x7f800000U;

}  // namespace holdfast::detail
