// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary32: rows as they come, whatever bits a NaN has.
#pragma once

#include <holdfast/formats/codec.hpp>

namespace holdfast {

struct F32Codec {
  static constexpr float kLargestError = 0.0F;

  HOLDFAST_HOST_DEVICE static void encode(float const* from,
                                          std::uint32_t blocks,
                                          std::byte* to) noexcept {
    std::memcpy(to, from, std::size_t{blocks} * sizeof(float));
  }
  HOLDFAST_HOST_DEVICE static void decode(std::byte const* from,
                                          std::uint32_t blocks,
                                          float* to) noexcept {
    std::memcpy(to, from, std::size_t{blocks} * sizeof(float));
  }
};

}  // namespace holdfast
