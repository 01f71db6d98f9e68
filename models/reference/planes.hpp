// SPDX-License-Identifier: Apache-2.0
// The reference planes: for each plane kind, which rows a history has and what each must contain.
// One struct a kind, one line in the list; nothing here knows pages, sharing or storage.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "models/engine/rows.hpp"

namespace holdfast::model {

/// What a reference plane needs to know of a history.
struct HistoryView {
  std::span<Token const> tokens;  // committed
  std::uint32_t lo = 0;           // first resident row of this plane's ring
};

/// Rows [first, last) of a plane that must be there and right.
struct RowRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The meaning of one plane kind.
struct ReferencePlane {
  PlaneKind kind;
  /// Rows that must be there, in the plane's own unit.
  RowRange (*rows)(PlaneShape const& shape, HistoryView const& history) noexcept;
  /// Tokens that one row stands for.
  std::uint32_t (*unit)(PlaneShape const& shape) noexcept;
  /// Contents of row `row`.
  void (*expect)(PlaneShape const& shape,
                 HistoryView const& history,
                 std::uint32_t row,
                 float* out) noexcept;
};

/// Append-only planes: one row a token.
struct TokenRows {
  static RowRange rows(PlaneShape const& /*shape*/, HistoryView const& history) noexcept {
    return {0, static_cast<std::uint32_t>(history.tokens.size())};
  }
  static std::uint32_t unit(PlaneShape const& /*shape*/) noexcept { return 1; }
  static void expect(PlaneShape const& shape,
                     HistoryView const& history,
                     std::uint32_t row,
                     float* out) noexcept {
    make_row(shape, history.tokens[row], row, out);
  }
};

/// Pool keys: one for each complete pool. Kept in the ring's shape, whose rows they summarise.
struct PoolKeyRows {
  static RowRange rows(PlaneShape const& shape, HistoryView const& history) noexcept {
    return {0, static_cast<std::uint32_t>(history.tokens.size()) / shape.pool};
  }
  static std::uint32_t unit(PlaneShape const& shape) noexcept { return shape.pool; }
  static void expect(PlaneShape const& shape,
                     HistoryView const& history,
                     std::uint32_t row,
                     float* out) noexcept {
    PlaneShape ring = shape;
    ring.kind = PlaneKind::kTailRing;
    ring.elements = 2 * shape.key_width;
    std::uint32_t const first = row * shape.pool;
    make_key(ring, history.tokens.subspan(first, shape.pool), first, out);
  }
};

/// The tail ring: rows of the open pool must be there; those from `lo` on are.
struct TailRows {
  static RowRange rows(PlaneShape const& shape, HistoryView const& history) noexcept {
    auto const length = static_cast<std::uint32_t>(history.tokens.size());
    std::uint32_t const open_pool = length / shape.pool * shape.pool;
    return {
        length % shape.pool == 0 ? std::min(history.lo, length) : std::min(history.lo, open_pool),
        length};
  }
  static std::uint32_t unit(PlaneShape const& /*shape*/) noexcept { return 1; }
  static void expect(PlaneShape const& shape,
                     HistoryView const& history,
                     std::uint32_t row,
                     float* out) noexcept {
    make_row(shape, history.tokens[row], row, out);
  }
};

/// One line a plane kind with rows; recurrent state is not rows and lives in the history itself.
inline constexpr std::array kReferencePlanes = {
    ReferencePlane{PlaneKind::kAttentionKv, &TokenRows::rows, &TokenRows::unit, &TokenRows::expect},
    ReferencePlane{PlaneKind::kLatent, &TokenRows::rows, &TokenRows::unit, &TokenRows::expect},
    ReferencePlane{
        PlaneKind::kPoolKeys, &PoolKeyRows::rows, &PoolKeyRows::unit, &PoolKeyRows::expect},
    ReferencePlane{PlaneKind::kTailRing, &TailRows::rows, &TailRows::unit, &TailRows::expect},
};

/// The reference plane of a kind; nullptr for a kind without rows.
[[nodiscard]] constexpr ReferencePlane const* reference_plane(PlaneKind kind) noexcept {
  for (ReferencePlane const& plane : kReferencePlanes) {
    if (plane.kind == kind) {
      return &plane;
    }
  }
  return nullptr;
}

static_assert(kReferencePlanes.size() + 1 == kPlaneKindCount,
              "every plane kind has a reference plane, or is a state");

}  // namespace holdfast::model
