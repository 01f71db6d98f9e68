// SPDX-License-Identifier: Apache-2.0
// The toy engine's arithmetic.
#include "models/engine/rows.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::model {
namespace {

/// 16 well-mixed bits for one element.
constexpr std::uint32_t scramble(std::uint32_t seed, std::uint32_t element) noexcept {
  std::uint32_t const x = (seed ^ (element * 0x85EBCA6BU)) * 0x9E3779B1U;
  return (x ^ (x >> 15U)) >> 16U;
}

constexpr std::uint32_t seed_of(PlaneKind kind, std::uint32_t layer, Token token) noexcept {
  return token * 0x27D4EB2FU + layer * 0x165667B1U + static_cast<std::uint32_t>(kind) * 0x2545F491U;
}

}  // namespace

void make_row(PlaneShape const& shape, Token token, std::uint32_t position, float* out) noexcept {
  std::uint32_t const width = shape.elements / shape.parts;
  std::uint32_t const seed = seed_of(shape.kind, shape.layer, token);
  // Indexer rows are [value | gate]; gates lie in [-4, 4), so that weights meet both clamps.
  bool const has_gates = shape.kind == PlaneKind::kTailRing;
  for (std::uint32_t element = 0; element < shape.elements; ++element) {
    out[element] = static_cast<float>(static_cast<std::int32_t>(scramble(seed, element)));
  }
  if (has_gates) {
    for (std::uint32_t element = shape.key_width; element < shape.elements; ++element) {
      out[element] = out[element] * (1.0F / 8192.0F) - 4.0F;
    }
  }
  for (std::uint32_t part = 0; part < shape.parts; ++part) {
    float* const base = out + part * width;
    float const clear[] = {static_cast<float>(token),
                           static_cast<float>(position),
                           row_code(shape.kind, shape.layer, part)};
    std::uint32_t const limit = has_gates ? shape.key_width : width;
    std::copy_n(clear, std::min(limit, 3U), base);
  }
}

void make_key(PlaneShape const& ring,
              std::span<Token const> tokens,
              std::uint32_t position,
              float* out) noexcept {
  constexpr std::uint32_t kLargestRow = 4096;
  float row[kLargestRow];
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    make_row(ring, tokens[i], position + i, row);
    for (std::uint32_t element = 0; element < ring.key_width; ++element) {
      float weight = 0.5F + 0.25F * row[ring.key_width + element];
      weight = weight < 0.0F ? 0.0F : weight;
      weight = weight > 1.0F ? 1.0F : weight;
      float const term = weight * row[element];
      out[element] = i == 0 ? term : out[element] + term;
    }
  }
  for (std::uint32_t element = 0; element < ring.key_width; ++element) {
    out[element] = out[element] / static_cast<float>(tokens.size());
  }
}

void advance_state(StateShape const& shape,
                   Token token,
                   float const* before,
                   float* after) noexcept {
  std::uint32_t const seed = seed_of(PlaneKind::kRecurrent, shape.layer, token);
  std::uint32_t const window = shape.window;
  // The window moves by one; its newest input is the token's.
  for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
    float* const to = after + channel * window;
    float const* const from = before + channel * window;
    for (std::uint32_t i = 0; i + 1 < window; ++i) {
      to[i] = from[i + 1];
    }
    to[window - 1] = static_cast<float>(static_cast<std::int32_t>(scramble(seed, channel) & 0xFFU));
  }
  float const* const ssm_before = before + shape.conv_elements();
  float* const ssm_after = after + shape.conv_elements();
  std::uint32_t const d_v = shape.d_v;
  for (std::uint32_t head = 0; head < shape.heads; ++head) {
    for (std::uint32_t row = 0; row < shape.d_k; ++row) {
      std::uint32_t const index = head * shape.d_k + row;
      // What is written depends on the window, so that a stale window spoils the state as well.
      float const oldest = shape.channels == 0 ? 0.0F : after[(index % shape.channels) * window];
      float const input =
          static_cast<float>(static_cast<std::int32_t>(scramble(seed, index + 1000U))) + oldest;
      float const* const from = ssm_before + index * d_v;
      float* const to = ssm_after + index * d_v;
      for (std::uint32_t column = 0; column < d_v; ++column) {
        to[column] = 0.75F * from[column] +
                     input * static_cast<float>(static_cast<std::int32_t>(column + 1));
      }
    }
  }
}

}  // namespace holdfast::model
