// SPDX-License-Identifier: Apache-2.0
// Element formats of rows, and the conversions between them and f32.
//
// Rows come and go as f32 and are stored in their plane's format. Narrowing rounds to the nearest
// value, ties to even; beyond the largest finite value lies infinity, subnormals are kept, and every
// NaN becomes the format's one quiet NaN. Widening is exact. All of it is integer arithmetic but for
// one exact product, so that every compiler and device gives the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast {

/// Element format of a plane.
enum class Format : std::uint8_t {
  kF32,   ///< IEEE 754 binary32
  kF16,   ///< IEEE 754 binary16
  kBf16,  ///< the upper half of binary32
};

/// Number of formats.
inline constexpr std::uint32_t kFormatCount = 3;

/// Name of a format as it is written in geometries and messages, e.g. "f32".
[[nodiscard]] char const* name_of(Format format) noexcept;

/// Bytes of one element.
[[nodiscard]] constexpr std::uint32_t element_bytes(Format format) noexcept {
  return format == Format::kF32 ? 4 : 2;
}

namespace detail {

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

}  // namespace detail

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

/// Value of bf16 bits.
[[nodiscard]] constexpr float widen_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// Stores elements in a format. Shapes: from [count] f32; to [count * element_bytes(format)] bytes.
inline void narrow_elements(Format format,
                            float const* from,
                            std::uint32_t count,
                            std::byte* to) noexcept {
  if (format == Format::kF32) {
    std::memcpy(to, from, std::size_t{count} * sizeof(float));
    return;
  }
  auto const narrow_each = [&](auto narrow) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint16_t const bits = narrow(from[i]);
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
  };
  if (format == Format::kF16) {
    narrow_each([](float value) { return narrow_to_f16(value); });
  } else {
    narrow_each([](float value) { return narrow_to_bf16(value); });
  }
}

/// Reads elements of a format. Shapes: as narrow_elements, the other way round.
inline void widen_elements(Format format,
                           std::byte const* from,
                           std::uint32_t count,
                           float* to) noexcept {
  if (format == Format::kF32) {
    std::memcpy(to, from, std::size_t{count} * sizeof(float));
    return;
  }
  auto const widen_each = [&](auto widen) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      to[i] = widen(bits);
    }
  };
  if (format == Format::kF16) {
    widen_each([](std::uint16_t bits) { return widen_f16(bits); });
  } else {
    widen_each([](std::uint16_t bits) { return widen_bf16(bits); });
  }
}

}  // namespace holdfast
