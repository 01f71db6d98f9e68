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
    std::uint32_t const first = row * shape.pool;
    float const* const key = recall_key(shape, history.tokens.subspan(first, shape.pool), first);
    std::copy_n(key, shape.key_width, out);
  }
};

/// The tail ring: rows of the open pool must be there; those that no later lap took the place of are.
struct TailWindow {
  static std::uint32_t first_needed(PlaneShape const& shape, std::uint32_t length) noexcept {
    return length / shape.pool * shape.pool;
  }
  static std::uint32_t first_left(PlaneShape const& shape, ClosedHandle const& handle) noexcept {
    std::uint32_t const reached = handle.base + handle.written;
    std::uint32_t const lo = reached > shape.ring_rows ? reached - shape.ring_rows : 0;
    bool const is_dropped_append = handle.keep == 0 && !handle.round;
    return is_dropped_append ? std::min(lo, first_needed(shape, handle.base)) : lo;
  }
  static std::uint32_t view_limit(PlaneShape const& shape, std::uint32_t base) noexcept {
    return shape.ring_rows - base % shape.pool;
  }
  static std::uint32_t sequence_pages(PlaneShape const& shape,
                                      std::uint32_t page_rows,
                                      std::uint32_t /*rows*/) noexcept {
    return shape.ring_rows / page_rows + 1;
  }
  static std::uint32_t held_pages(PlaneShape const& /*shape*/,
                                  std::uint32_t /*page_rows*/) noexcept {
    return 1;
  }
  static constexpr ReferenceWindow kWindow{
      &first_needed, &first_left, &view_limit, &sequence_pages, &held_pages};
};

struct IndexerReference {
  using Spec = IndexerSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kPoolKeys, &PoolKeyRows::rows, &PoolKeyRows::expect},
      ReferencePlane{PlaneKind::kTailRing,
                     &WindowRows<TailWindow::kWindow>::rows,
                     &TokenRows::expect,
                     &TailWindow::kWindow}};

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
    plane.window_rows = spec.pool;
    plane.kept_rows = spec.ring_rows;
    shape.add_rows(plane);
  }
};

}  // namespace holdfast::model
