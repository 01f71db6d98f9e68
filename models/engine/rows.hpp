// SPDX-License-Identifier: Apache-2.0
// What the toy engine computes: rows that carry their provenance, and a recurrence that depends on
// order.
//
// This is the definition of right contents. A row is a pure function of its token, position, plane
// and layer; its first elements say so in the clear, so that a wrong row names its writer. The
// state after a history is a serial recurrence over the history's tokens. Numbers are small
// integers or sums and products in a fixed order, so that every compiler gives the same bits.
// The clear elements are exact in every format; the others are not, so that a plane of a narrow
// format shows how it rounds.
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/layout.hpp>
#include <span>
#include <vector>

#include "models/observation.hpp"

namespace holdfast::model {

/// Most elements of a row.
inline constexpr std::uint32_t kWidestRow = 4096;

/// Shape of one plane in one layer, as the layout says it.
struct PlaneShape {
  PlaneKind kind = PlaneKind::kAttentionKv;
  std::uint32_t layer = 0;
  std::uint32_t stage = 0;
  std::uint32_t elements = 0;                        // of one row
  std::uint32_t strips = 1;                          // equal strips of a row
  std::array<Format, kLargestStripCount> formats{};  // of the strips
  std::uint32_t pool = 0;                            // tail ring and pool keys
  std::uint32_t key_width = 0;                       // tail ring and pool keys
  std::uint32_t window_rows = 0;  // rows that the next token needs at most, its own counted; 0: all
  std::uint32_t kept_rows = 0;    // of a windowed plane: rows that stay at most
  std::uint32_t ring_rows = 0;    // tail ring
  bool derived = false;           // built by the library, never written
  std::uint32_t shares = 1;       // equal shares of a strip that say whose they are; one a rank
  bool split = false;             // each rank holds its share of every strip
  std::uint32_t heads = 1;        // layers of other heads are of another plane class

  /// Bytes of a stored row.
  [[nodiscard]] std::uint64_t row_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (std::uint32_t strip = 0; strip < strips; ++strip) {
      bytes += stored_bytes(formats[strip], strip_elements());
    }
    return bytes;
  }
  [[nodiscard]] std::uint32_t strip_elements() const noexcept {
    return strips == 1 ? elements : elements / strips;
  }
};

/// Whether rows of two layers are of one kind and shape, and lie in one plane class.
[[nodiscard]] inline bool is_of_class(PlaneShape const& one, PlaneShape const& other) noexcept {
  return one.kind == other.kind && one.stage == other.stage && one.elements == other.elements &&
         one.strips == other.strips && one.formats == other.formats && one.pool == other.pool &&
         one.key_width == other.key_width && one.window_rows == other.window_rows &&
         one.ring_rows == other.ring_rows && one.shares == other.shares &&
         one.split == other.split && one.heads == other.heads;
}

/// What one layer has in a state slot: conv window [channels, window], then ssm [heads, d_k, d_v],
/// or held side state.
struct StateShape {
  PlaneKind kind = PlaneKind::kRecurrent;
  /// The state after some more tokens, in order: reads `before`, writes `after`; they may be the
  /// same.
  void (*advance)(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after) noexcept = nullptr;
  std::uint32_t layer = 0;
  std::uint32_t stage = 0;
  std::uint32_t channels = 0;  // of all segments
  std::vector<std::uint32_t> segments;
  std::uint32_t groups = 1;  // groups of heads that read channels of their own; one for each rank
  std::uint32_t window = 0;
  std::uint32_t heads = 0;
  std::uint32_t d_k = 0;
  std::uint32_t d_v = 0;
  std::uint32_t stash_row_bytes = 0;  // of a rescan round, on each rank
  std::uint32_t held = 0;             // elements

  [[nodiscard]] std::uint32_t conv_elements() const noexcept { return channels * window; }
  [[nodiscard]] std::uint32_t elements() const noexcept {
    return conv_elements() + heads * d_k * d_v + held;
  }
};

/// The first elements of each share of a row: token, position, and this code. In f32 one element
/// each; in formats of fewer digits digits of base 256, lowest first: 3 of the token, 2 of the
/// position, 2 of the code.
[[nodiscard]] constexpr std::uint32_t row_code(PlaneKind kind,
                                               std::uint32_t layer,
                                               std::uint32_t strip) noexcept {
  return (layer * kPlaneKindCount + static_cast<std::uint32_t>(kind)) * 2 + strip;
}

/// Elements of a row that one rank holds.
[[nodiscard]] constexpr std::uint32_t shard_elements(PlaneShape const& shape,
                                                     std::uint32_t ranks) noexcept {
  return shape.split ? shape.elements / ranks : shape.elements;
}

/// Elements of a state that one rank holds: its share of windows and heads, all of the side state.
[[nodiscard]] inline std::uint32_t shard_elements(StateShape const& shape,
                                                  std::uint32_t ranks) noexcept {
  return (shape.elements() - shape.held) / ranks + shape.held;
}

/// Copies what rank `rank` holds of a whole row; `out` may not overlap it.
void take_shard(PlaneShape const& shape,
                float const* row,
                std::uint32_t ranks,
                std::uint32_t rank,
                float* out) noexcept;

/// Copies what rank `rank` holds of a whole state, or puts it back into one: its part of every
/// segment, and its heads.
void take_shard(StateShape const& shape,
                float const* state,
                std::uint32_t ranks,
                std::uint32_t rank,
                float* out) noexcept;
void put_shard(StateShape const& shape,
               float const* shard,
               std::uint32_t ranks,
               std::uint32_t rank,
               float* state) noexcept;

/// Fills `out` with the row of `token` at `position`, as the engine computes it.
void make_row(PlaneShape const& shape, Token token, std::uint32_t position, float* out) noexcept;

/// The same as a plane of this format must give it back: elements rounded, by a formula that is not
/// the library's.
void make_stored_row(PlaneShape const& shape,
                     Token token,
                     std::uint32_t position,
                     float* out) noexcept;

/// The token that a row names; 0 when it is no row.
[[nodiscard]] Token token_of_row(PlaneShape const& shape, float const* row) noexcept;

/// Fills `out` [key_width] with the key of a pool whose rows belong to `tokens` [pool], the first
/// of them at `position`. The reducer is the library's default one, written independently.
void make_key(PlaneShape const& ring,
              std::span<Token const> tokens,
              std::uint32_t position,
              float* out) noexcept;

/// StateShape::advance of recurrent states.
void advance_recurrent(StateShape const& shape,
                       std::span<Token const> tokens,
                       float const* before,
                       float* after) noexcept;

/// StateShape::advance of held side state: the last token, the position, then sums over all tokens
/// that depend on their order.
void advance_held(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after) noexcept;

}  // namespace holdfast::model
