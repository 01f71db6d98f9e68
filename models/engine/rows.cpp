// SPDX-License-Identifier: Apache-2.0
// The toy engine's arithmetic.
#include "models/engine/rows.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::model {
namespace {

/// 16 bits for one element: adds only, so that a row is made at the speed of its stores.
constexpr std::uint32_t kElementStep = 0x9E3779B1U;
constexpr std::uint32_t scramble(std::uint32_t seed, std::uint32_t element) noexcept {
  return (seed + element * kElementStep) >> 16U;
}

constexpr std::uint32_t seed_of(PlaneKind kind, std::uint32_t layer, Token token) noexcept {
  std::uint32_t const x =
      token * 0x27D4EB2FU + layer * 0x165667B1U + static_cast<std::uint32_t>(kind) * 0x2545F491U;
  return (x ^ (x >> 15U)) * 0x2C1B3C6DU;
}

// Four elements at a time. Vector types of the compilers, because neither vectorizes these short
// loops at the optimization level of this project, and they are most of a run's time. Each lane is
// one element's own arithmetic, so the bits are those of a scalar loop.
constexpr std::uint32_t kLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Integers = std::int32_t __attribute__((vector_size(16)));

Floats to_floats(Words words) noexcept {
  return __builtin_convertvector(reinterpret_cast<Integers>(words), Floats);
}

/// Seeds of elements first .. first + 3, not yet shifted down.
Words element_seeds(std::uint32_t seed, std::uint32_t first) noexcept {
  std::uint32_t const drawn = seed + first * kElementStep;
  return Words{drawn, drawn + kElementStep, drawn + 2 * kElementStep, drawn + 3 * kElementStep};
}

/// Four columns of a row of an ssm state after one more input.
void decay_lanes(float* row, Floats step) noexcept {
  Floats values;
  std::memcpy(&values, row, sizeof values);
  values = 0.75F * values + step;
  std::memcpy(row, &values, sizeof values);
}

/// One row of an ssm state after one more input.
void decay_row(float* row, float input, std::uint32_t width) noexcept {
  Floats factors = {1.0F, 2.0F, 3.0F, 4.0F};
  if (width == 2 * kLanes) {  // the mini twins' width, without a loop
    decay_lanes(row, input * factors);
    decay_lanes(row + kLanes, input * (factors + 4.0F));
    return;
  }
  std::uint32_t column = 0;
  for (; column + kLanes <= width; column += kLanes, factors += 4.0F) {
    decay_lanes(row + column, input * factors);
  }
  for (std::uint32_t lane = 0; column < width; ++column, ++lane) {
    row[column] = 0.75F * row[column] + input * factors[lane];
  }
}

/// The first `count` elements of a row.
void fill_elements(std::uint32_t seed, std::uint32_t count, float* out) noexcept {
  Words drawn = element_seeds(seed, 0);
  std::uint32_t element = 0;
  for (; element + kLanes <= count; element += kLanes, drawn += kLanes * kElementStep) {
    Floats const values = to_floats(drawn >> 16U);
    std::memcpy(out + element, &values, sizeof values);
  }
  for (; element < count; ++element) {
    out[element] = static_cast<float>(static_cast<std::int32_t>(scramble(seed, element)));
  }
}

/// Puts the newest input of each channel at the end of its window.
void fill_newest(std::uint32_t seed,
                 std::uint32_t channels,
                 std::uint32_t window,
                 float* newest) noexcept {
  Words drawn = element_seeds(seed, 0);
  std::uint32_t channel = 0;
  for (; channel + kLanes <= channels; channel += kLanes, drawn += kLanes * kElementStep) {
    Floats const values = to_floats(drawn >> 24U);
    newest[0] = values[0];
    newest[window] = values[1];
    newest[2 * std::size_t{window}] = values[2];
    newest[3 * std::size_t{window}] = values[3];
    newest += kLanes * std::size_t{window};
  }
  for (; channel < channels; ++channel, newest += window) {
    *newest = static_cast<float>(static_cast<std::int32_t>(scramble(seed, channel) >> 8U));
  }
}

}  // namespace

void make_row(PlaneShape const& shape, Token token, std::uint32_t position, float* out) noexcept {
  std::uint32_t const width = shape.elements / shape.parts;
  std::uint32_t const seed = seed_of(shape.kind, shape.layer, token);
  // Indexer rows are [value | gate]; gates lie in [-4, 4), so that weights meet both clamps.
  bool const has_gates = shape.kind == PlaneKind::kTailRing;
  fill_elements(seed, shape.elements, out);
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
  std::uint32_t const conv = shape.conv_elements();
  // The window moves by one: all channels at once, each newest input is then the token's.
  if (conv != 0) {
    std::memmove(after, before + 1, (conv - 1) * sizeof(float));
    fill_newest(seed, shape.channels, window, after + window - 1);
  }
  std::uint32_t const rows = shape.heads * shape.d_k;
  float* const ssm = after + conv;
  if (before != after) {
    std::memcpy(ssm, before + conv, std::size_t{rows} * shape.d_v * sizeof(float));
  }
  // What is written depends on the window, so that a stale window spoils the state as well.
  float const* oldest = after;
  float const* const last_channel = after + conv;
  std::uint32_t drawn = seed;
  float* to = ssm;
  for (std::uint32_t row = 0; row < rows; ++row, drawn += kElementStep, to += shape.d_v) {
    float input = static_cast<float>(static_cast<std::int32_t>(drawn >> 16U));
    if (conv != 0) {
      input += *oldest;
      oldest = oldest + window == last_channel ? after : oldest + window;
    }
    decay_row(to, input, shape.d_v);
  }
}

}  // namespace holdfast::model
