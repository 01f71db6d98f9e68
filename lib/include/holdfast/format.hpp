// SPDX-License-Identifier: Apache-2.0
// The list of row formats, and their sizes. A format stores blocks of elements; a block never
// straddles two rows or two heads. How a block is encoded is in holdfast/formats.hpp, which few need.
#pragma once

#include <cstdint>

// X(format, codec, name, elements of a block, bytes of a block). Formats are numbered in this order, and
// the numbers stand in fingerprints: a new one goes to the end.
#define HOLDFAST_FORMATS(X)      \
  X(kF32, F32Codec, "f32", 1, 4) \
  X(kF16, F16Codec, "f16", 1, 2) \
  X(kBf16, Bf16Codec, "bf16", 1, 2)

namespace holdfast {

/// How the elements of rows are stored.
enum class Format : std::uint8_t {
#define HOLDFAST_FORMAT_ENUMERATOR(format, ...) format,
  HOLDFAST_FORMATS(HOLDFAST_FORMAT_ENUMERATOR)
#undef HOLDFAST_FORMAT_ENUMERATOR
};

/// What is known of a format without its codec.
struct FormatTrait {
  char const* name = "";             ///< as it is written in geometries and messages, e.g. "f32"
  std::uint32_t block_elements = 0;  ///< elements that are stored together
  std::uint32_t block_bytes = 0;     ///< bytes that they take
};

/// The formats, in the order of the list.
inline constexpr FormatTrait kFormatTraits[] = {
#define HOLDFAST_FORMAT_TRAIT(format, codec, ...) {__VA_ARGS__},
    HOLDFAST_FORMATS(HOLDFAST_FORMAT_TRAIT)
#undef HOLDFAST_FORMAT_TRAIT
};

/// Number of formats.
inline constexpr std::uint32_t kFormatCount = sizeof kFormatTraits / sizeof kFormatTraits[0];

/// The largest of each.
inline constexpr FormatTrait kLargestBlock = [] {
  FormatTrait largest;
  for (FormatTrait const& trait : kFormatTraits) {
    largest.block_elements = trait.block_elements > largest.block_elements ? trait.block_elements
                                                                           : largest.block_elements;
    largest.block_bytes =
        trait.block_bytes > largest.block_bytes ? trait.block_bytes : largest.block_bytes;
  }
  return largest;
}();

[[nodiscard]] constexpr bool is_known(Format format) noexcept {
  return static_cast<std::uint32_t>(format) < kFormatCount;
}

/// Trait of a known format.
[[nodiscard]] constexpr FormatTrait const& trait_of(Format format) noexcept {
  return kFormatTraits[static_cast<std::uint32_t>(format)];
}

/// Name of a format; "unknown" for a number that is none.
[[nodiscard]] constexpr char const* name_of(Format format) noexcept {
  return is_known(format) ? trait_of(format).name : "unknown";
}

/// Bytes of so many elements, which are whole blocks.
[[nodiscard]] constexpr std::uint64_t stored_bytes(Format format, std::uint64_t elements) noexcept {
  FormatTrait const& trait = trait_of(format);
  return elements / trait.block_elements * trait.block_bytes;
}

}  // namespace holdfast
