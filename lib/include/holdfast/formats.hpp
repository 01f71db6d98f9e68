// SPDX-License-Identifier: Apache-2.0
// Conversions between rows, which come and go as f32, and what is stored of them. Sizes and names are
// in holdfast/format.hpp. A new codec is a header in holdfast/formats, its line in the list there and
// its include here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/format.hpp>
#include <holdfast/formats/bf16.hpp>
#include <holdfast/formats/f16.hpp>
#include <holdfast/formats/f32.hpp>

namespace holdfast {

/// The codec of a format.
template <Format kFormat>
struct CodecOf;
#define HOLDFAST_FORMAT_CODEC(format, codec, ...) \
  template <>                                     \
  struct CodecOf<Format::format> {                \
    using Type = codec;                           \
  };
HOLDFAST_FORMATS(HOLDFAST_FORMAT_CODEC)
#undef HOLDFAST_FORMAT_CODEC

/// Stores elements in a known format. Shapes: from [count] f32, whole blocks; to
/// [stored_bytes(format, count)].
inline void encode_elements(Format format,
                            float const* from,
                            std::uint32_t count,
                            std::byte* to) noexcept {
  switch (format) {
#define HOLDFAST_FORMAT_ENCODE(format, codec, name, elements, bytes) \
  case Format::format:                                               \
    codec::encode(from, count / (elements), to);                     \
    break;
    HOLDFAST_FORMATS(HOLDFAST_FORMAT_ENCODE)
#undef HOLDFAST_FORMAT_ENCODE
  }
}

/// Reads elements of a known format. Shapes: as encode_elements, the other way round.
inline void decode_elements(Format format,
                            std::byte const* from,
                            std::uint32_t count,
                            float* to) noexcept {
  switch (format) {
#define HOLDFAST_FORMAT_DECODE(format, codec, name, elements, bytes) \
  case Format::format:                                               \
    codec::decode(from, count / (elements), to);                     \
    break;
    HOLDFAST_FORMATS(HOLDFAST_FORMAT_DECODE)
#undef HOLDFAST_FORMAT_DECODE
  }
}

}  // namespace holdfast
