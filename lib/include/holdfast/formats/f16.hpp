// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16, rounded to the nearest, ties to even: beyond the largest finite value lies infinity,
// subnormals are kept, every NaN becomes the one quiet NaN. Widening is exact. All of it is integer
// arithmetic but for one exact product.
#pragma once

#include <holdfast/formats/codec.hpp>

namespace holdfast {

/// Bits of `value` as f16.
[[nodiscard]] constexpr std::uint16_t narrow_to_f16(float value) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const sign = (bits >> 16U) & 0x8000U;
  std::uint32_t const magnitude = bits & 0x7fffffffU;
  if (magnitude > detail::kF32Infinity) {
    return 0x7e00;
  }
  if (magnitude >= 0x477ff000U) {  // 65,520, half a step above the largest
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  if (magnitude >= 0x38800000U) {  // 2^-14, the least normal one: the exponents' biases differ
    return static_cast<std::uint16_t>(sign | detail::shift_to_even(magnitude - 0x38000000U, 13));
  }
  std::uint32_t const exponent = magnitude >> 23U;
  if (exponent < 102) {  // below 2^-25, half the least subnormal one
    return static_cast<std::uint16_t>(sign);
  }
  std::uint32_t const mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  return static_cast<std::uint16_t>(sign | detail::shift_to_even(mantissa, 126 - exponent));
}

/// Value of f16 bits.
[[nodiscard]] constexpr float widen_f16(std::uint16_t bits) noexcept {
  std::uint32_t const sign = (std::uint32_t{bits} & 0x8000U) << 16U;
  std::uint32_t const exponent = (bits >> 10U) & 0x1fU;
  std::uint32_t const mantissa = bits & 0x3ffU;
  // Both ways and then a choice, so that loops over elements have no branches.
  float const subnormal = static_cast<float>(mantissa) * 0x1p-24F;
  std::uint32_t const wide = exponent + (exponent == 0x1fU ? 224 : 112);
  std::uint32_t const magnitude =
      exponent == 0 ? std::bit_cast<std::uint32_t>(subnormal) : (wide << 23U) | (mantissa << 13U);
  return std::bit_cast<float>(sign | magnitude);
}

struct F16Codec {
  static constexpr float kLargestError = 0x1p-11F;

  HOLDFAST_HOST_DEVICE static void encode(float const* from,
                                          std::uint32_t blocks,
                                          std::byte* to) noexcept {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      std::uint16_t const bits = narrow_to_f16(from[i]);
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
  }
  HOLDFAST_HOST_DEVICE static void decode(std::byte const* from,
                                          std::uint32_t blocks,
                                          float* to) noexcept {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      to[i] = widen_f16(bits);
    }
  }
};

}  // namespace holdfast
