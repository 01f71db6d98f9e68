// SPDX-License-Identifier: Apache-2.0
// What the model knows of every row format: how a row must come back from it, by a formula that is not
// the library's, and which numbers the toy engine writes into it.
#pragma once

#include <cstdint>
#include <holdfast/format.hpp>

namespace holdfast::model {

struct StoredFormat {
  Format format;
  /// Binary digits of the whole numbers that fill a row: more than the format keeps, below its largest.
  std::uint32_t digits;
  /// Whether what a row says in the clear is cut into numbers below 256, which the format keeps.
  bool is_cut;
  /// Rounds `count` such numbers as the format does; nullptr: each comes back as it went.
  void (*round)(std::uint32_t count, float* elements) noexcept;
};

void round_to_f16(std::uint32_t count, float* elements) noexcept;
void round_to_bf16(std::uint32_t count, float* elements) noexcept;

/// One line a format, in the order of the library's list.
inline constexpr StoredFormat kStoredFormats[] = {{Format::kF32, 16, false, nullptr},
                                                  {Format::kF16, 15, true, &round_to_f16},
                                                  {Format::kBf16, 15, true, &round_to_bf16}};

[[nodiscard]] constexpr StoredFormat const& stored_format(Format format) noexcept {
  return kStoredFormats[static_cast<std::uint32_t>(format)];
}

static_assert(
    [] {
      bool is_whole = sizeof kStoredFormats / sizeof kStoredFormats[0] == kFormatCount;
      for (std::uint32_t i = 0; is_whole && i < kFormatCount; ++i) {
        is_whole = kStoredFormats[i].format == static_cast<Format>(i);
      }
      return is_whole;
    }(),
    "every format has a line here, in the order of HOLDFAST_FORMATS");

}  // namespace holdfast::model
