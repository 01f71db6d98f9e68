// SPDX-License-Identifier: Apache-2.0
// The upper half of binary32, rounded to the nearest, ties to even: beyond the largest finite value lies
// infinity, subnormals are kept, every NaN becomes the one quiet NaN. Widening is exact.
#pragma once

#include <holdfast/formats/codec.hpp>

namespace holdfast {

/// Bits of `value` as bf16.
[[nodiscard]] constexpr std::uint16_t narrow_to_bf16(float value) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const magnitude = bits & 0x7fffffffU;
  if (magnitude > detail::kF32Infinity) {
    return 0x7fc0;
  }
  // A mantissa that overflows carries into the exponent, up to infinity.
  return static_cast<std::uint16_t>(((bits >> 16U) & 0x8000U) |
                                    detail::shift_to_even(magnitude, 16));
}

/// Value of bf16 bits.
[[nodiscard]] constexpr float widen_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

struct Bf16Codec {
  static constexpr float kLargestError = 0x1p-8F;

  HOLDFAST_HOST_DEVICE static void encode(float const* from,
                                          std::uint32_t blocks,
                                          std::byte* to) noexcept {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      std::uint16_t const bits = narrow_to_bf16(from[i]);
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
  }
  HOLDFAST_HOST_DEVICE static void decode(std::byte const* from,
                                          std::uint32_t blocks,
                                          float* to) noexcept {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      to[i] = widen_bf16(bits);
    }
  }
};

}  // namespace holdfast
