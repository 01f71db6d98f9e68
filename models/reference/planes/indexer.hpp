// SPDX-License-Identifier: Apache-2.0
// Sparse indexer: one key for each complete pool, and the raw rows that are still needed; with a
// pool of 1 one row a token.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

/// Pool keys: one for each complete pool. Kept in the ring's shape, whose rows they summarise. With
/// a pool of 1 each is the row itself.
struct PoolKeyRows {
  static RowRange rows(PlaneShape const& shape, HistoryView const& history) noexcept {
    return {0, static_cast<std::uint32_t>(history.tokens.size()) / shape.pool};
  }
  static void expect(PlaneShape const& shape,
                     HistoryView const& history,
                     std::uint32_t row,
                     float* out) noexcept {
    if (!shape.derived) {
      TokenRows::expect(shape, history, row, out);
      return;
    }
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
};

struct IndexerReference {
  using Spec = IndexerSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kPoolKeys, &PoolKeyRows::rows, &PoolKeyRows::expect},
      ReferencePlane{PlaneKind::kTailRing, &TailRows::rows, &TokenRows::expect}};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    PlaneShape plane{.kind = PlaneKind::kPoolKeys,
                     .elements = spec.key_width,
                     .pool = spec.pool,
                     .key_width = spec.key_width,
                     .ring_rows = spec.ring_rows,
                     .derived = spec.pool > 1};
    shape.add_rows(plane);
    if (!plane.derived) {
      return;
    }
    plane.kind = PlaneKind::kTailRing;
    plane.elements = spec.index_width;
    plane.derived = false;
    shape.add_rows(plane);
  }
};

}  // namespace holdfast::model
