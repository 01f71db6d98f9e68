// SPDX-License-Identifier: Apache-2.0
// Rounding of the whole numbers that the toy engine writes.
#include "models/engine/stored_formats.hpp"

#include <bit>

#include "models/engine/lanes.hpp"

namespace holdfast::model {
namespace {

/// Values that are not negative, as f32 bits, with at most `digits` binary digits each, ties to even:
/// one less than half of the last digit's unit, and one more where that digit is odd. What overflows
/// the mantissa belongs into the exponent.
template <typename Bits>
constexpr Bits rounded(Bits bits, std::uint32_t digits) noexcept {
  std::uint32_t const lost = 24 - digits;
  std::uint32_t const below_half = (1U << (lost - 1)) - 1;
  return ((bits + below_half + ((bits >> lost) & 1U)) >> lost) << lost;
}

/// Narrows the elements of a row to so many binary digits.
void round_elements(std::uint32_t count, std::uint32_t digits, float* row) noexcept {
  std::uint32_t element = 0;
  for (; element + kLanes <= count; element += kLanes) {
    Words const bits = reinterpret_cast<Words>(load(row + element));
    store(row + element, reinterpret_cast<Floats>(rounded(bits, digits)));
  }
  for (; element < count; ++element) {
    row[element] =
        std::bit_cast<float>(rounded(std::bit_cast<std::uint32_t>(row[element]), digits));
  }
}

}  // namespace

void round_to_f16(std::uint32_t count, float* elements) noexcept {
  round_elements(count, 11, elements);
}

void round_to_bf16(std::uint32_t count, float* elements) noexcept {
  round_elements(count, 8, elements);
}

}  // namespace holdfast::model
