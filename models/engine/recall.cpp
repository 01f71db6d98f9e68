// SPDX-License-Identifier: Apache-2.0
#include "models/engine/recall.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "models/engine/memo.hpp"

namespace holdfast::model {
namespace {

constexpr std::uint32_t kLogKeys = 10;
constexpr std::uint32_t kLogStates = 9;
// A longer state is one of a full-size geometry, and would cost memory.
constexpr std::uint32_t kLongestState = 2048;
constexpr std::uint32_t kMostTokens = 64;

constexpr std::uint32_t mix(std::uint32_t hash, std::uint32_t word) noexcept {
  return (hash ^ word) * 0x9E3779B1U;
}

/// All that keys of one plane depend on beside tokens.
struct KeyHead {
  explicit KeyHead(PlaneShape const& shape) noexcept
      : plane{static_cast<std::uint32_t>(shape.kind), shape.layer, shape.elements, shape.strips},
        parts{shape.shares, shape.key_width},
        formats{shape.formats} {}
  std::uint32_t plane[4];
  std::uint32_t parts[2];
  std::array<Format, kLargestStripCount> formats;
  std::uint32_t position = 0;
};
static_assert(std::has_unique_object_representations_v<KeyHead>);

/// The same of states, beside the state before.
struct StateHead {
  explicit StateHead(StateShape const& shape) noexcept
      : advance{shape.advance},
        place{static_cast<std::uint32_t>(shape.kind), shape.layer},
        window{shape.channels,
               shape.segments.empty() ? 0 : shape.segments[0],
               shape.groups,
               shape.window},
        heads{shape.heads, shape.d_k, shape.d_v, shape.held} {}
  decltype(StateShape::advance) advance;
  std::uint32_t place[2];
  std::uint32_t window[4];
  std::uint32_t heads[4];
  Token tokens[kMostTokens];  // as many as there are
};
static_assert(std::has_unique_object_representations_v<StateHead>);

}  // namespace

float const* recall_key(PlaneShape const& keys,
                        std::span<Token const> tokens,
                        std::uint32_t position) {
  static thread_local Memo memo{kLogKeys};
  KeyHead head{keys};
  head.position = position;
  std::uint32_t const hash = mix(mix(mix(keys.layer, position), tokens.front()), tokens.back());
  MemoKey const key{
      &head, tokens.data(), sizeof head, static_cast<std::uint32_t>(tokens.size_bytes()), hash};
  float const* const known = memo.find(key);
  if (known != nullptr) {
    return known;
  }
  PlaneShape ring = keys;
  ring.kind = PlaneKind::kTailRing;
  ring.elements = 2 * keys.key_width;
  float* const made = memo.keep(key, keys.key_width);
  make_key(ring, tokens, position, made);
  return made;
}

void recall_state(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after) {
  static thread_local Memo memo{kLogStates};
  std::uint32_t const elements = shape.elements();
  auto const count = static_cast<std::uint32_t>(tokens.size());
  if (count == 0 || count > kMostTokens || elements > kLongestState) {
    shape.advance(shape, tokens, before, after);
    return;
  }
  StateHead head{shape};
  std::copy(tokens.begin(), tokens.end(), head.tokens);
  std::uint32_t hash = mix(mix(shape.layer, tokens.front()), tokens.back());
  for (std::uint32_t const at : {elements - 1, elements / 2, elements / 4}) {
    hash = mix(hash, std::bit_cast<std::uint32_t>(before[at]));
  }
  MemoKey const key{&head,
                    before,
                    static_cast<std::uint32_t>(offsetof(StateHead, tokens) + tokens.size_bytes()),
                    elements * static_cast<std::uint32_t>(sizeof(float)),
                    mix(hash, count)};
  float const* known = memo.find(key);
  if (known == nullptr) {
    float* const made = memo.keep(key, elements);
    shape.advance(shape, tokens, before, made);
    known = made;
  }
  std::copy_n(known, elements, after);
}

}  // namespace holdfast::model
