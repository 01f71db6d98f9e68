// SPDX-License-Identifier: Apache-2.0
// Sparse indexer: pool keys, and the tail ring of the raw rows that they are made from. With a pool
// of 1 the key is the row, and there is no ring.
#pragma once

#include <algorithm>
#include <holdfast/planes/spec.hpp>

namespace holdfast {

/// Sparse indexer: each token adds one row [index_width] = [value | gate], each `key_width` wide;
/// every `pool` rows are summarised by one pool key [key_width]. Owns two planes: pool keys and
/// tail ring. With a pool of 1 each token adds one row [key_width] that is the key itself: pool keys
/// are then rows like any other, written by the engine, and the only plane.
struct IndexerSpec {
  std::uint32_t index_width = 0;  ///< elements; 2 * key_width, with a pool of 1 key_width
  std::uint32_t pool = 0;         ///< rows that one key summarises
  std::uint32_t key_width = 0;    ///< elements
  std::uint32_t ring_rows = 0;    ///< R: a multiple of pool and of page_rows, at least pool - 1 +
                                  ///< max(1, largest round); 0 with a pool of 1

  static constexpr char const* kName = "indexer";
  static constexpr PlaneTrait kPlanes[] = {{PlaneKind::kPoolKeys, "pool_keys", PlaneRule::kPaged},
                                           {PlaneKind::kTailRing, "tail_ring", PlaneRule::kRing}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("indexer.index_width", self.index_width);
    visit.size("indexer.pool", self.pool);
    visit.size("indexer.key_width", self.key_width);
    visit.optional("indexer.ring_rows", self.ring_rows);
  }
  [[nodiscard]] Status check(LayerRules const& rules) const noexcept {
    if (pool == 1) {
      if (index_width != key_width) {
        return rules.refuse("indexer.index_width",
                            "is not key_width, though with a pool of 1 the row is the key",
                            index_width,
                            key_width);
      }
      return ring_rows == 0
                 ? Status{}
                 : rules.refuse("indexer.ring_rows", "must be 0 with a pool of 1", ring_rows);
    }
    HOLDFAST_TRY(rules.size("indexer.ring_rows", ring_rows));
    if (index_width != 2 * key_width) {
      return rules.refuse("indexer.index_width",
                          "is not twice key_width, as [value | gate] rows are",
                          index_width,
                          2 * std::int64_t{key_width});
    }
    if (rules.page_rows % pool != 0) {
      return rules.refuse("page_rows", "is not a multiple of the pool", rules.page_rows, pool);
    }
    if (ring_rows % rules.page_rows != 0) {
      return rules.refuse(
          "indexer.ring_rows", "is not a multiple of page_rows", ring_rows, rules.page_rows);
    }
    std::uint32_t const least = pool - 1 + std::max(1U, rules.largest_round);
    if (ring_rows < least) {
      return rules.refuse(
          "indexer.ring_rows", "is less than pool - 1 + the largest round", ring_rows, least);
    }
    return {};
  }
  template <typename Sink>
  void describe(Sink&& sink) const {
    bool const has_ring = pool > 1;
    sink(RowsDescription{.kind = PlaneKind::kPoolKeys,
                         .strips = strips_of({key_width}),
                         .unit_tokens = pool,
                         .shape = ring_rows,
                         .pool = pool,
                         .key_width = key_width,
                         .derived = has_ring});
    if (has_ring) {
      sink(RowsDescription{.kind = PlaneKind::kTailRing,
                           .strips = strips_of({index_width}),
                           .shape = ring_rows,
                           .window_rows = pool,
                           .ring_rows = ring_rows,
                           .pool = pool,
                           .key_width = key_width,
                           .pooled = true});
    }
  }
};

}  // namespace holdfast
