// SPDX-License-Identifier: Apache-2.0
// The tail ring, where it differs from other windowed planes.
#include "planes/tail_ring_plane.hpp"

#include "planes/windowed_plane_impl.hpp"

namespace holdfast::internal::planes {

template class WindowedPlane<PoolRing>;

/// What the handle wrote has overwritten everything a lap below. A long append has held the page of the rows
/// that its base needs, so that a drop leaves these.
std::uint32_t PoolRing::first_left(Closing const& closing) const noexcept {
  Opening const& opening = closing.opening;
  std::uint32_t lo = closing.reached > ring_rows_ ? closing.reached - ring_rows_ : 0;
  if (HOLDFAST_MUTANT(kRingLoOneLapLow)) {
    lo = lo > ring_rows_ ? lo - ring_rows_ : 0;
  }
  if (HOLDFAST_MUTANT(kRingLoPageHigh) && lo != 0) {
    lo = std::max(lo, std::min(lo + page_rows_, first_needed(opening.base + closing.keep)));
  }
  return closing.keep == 0 && !opening.round ? std::min(lo, first_needed(opening.base)) : lo;
}

Status TailRingPlane::check(RowsDescription const& rows, LayerRules const& rules) noexcept {
  char const* const name = name_of(rows.kind);
  if (!rows.pooled) {
    return rules.refuse(name, "is a ring, but no pool keys are made of its rows (pooled)");
  }
  if (rows.pool < 2 || rows.window_rows != rows.pool) {
    return rules.refuse(
        name, "is a ring, and needs a pool of 2 rows or more that is its window", rows.pool, 2);
  }
  if (!rows.is_plain() || rows.unit_tokens != 1 || rows.split) {
    return rules.refuse(name,
                        "is a ring, and needs one strip of f32 a token that ranks do not split");
  }
  if (rows.elements() != 2 * std::uint64_t{rows.key_width}) {
    return rules.refuse(name,
                        "is a ring, and needs rows of twice key_width: [value | gate]",
                        static_cast<std::int64_t>(rows.elements()),
                        2 * std::int64_t{rows.key_width});
  }
  if (rules.page_rows % rows.pool != 0) {
    return rules.refuse("page_rows", "is not a multiple of the pool", rules.page_rows, rows.pool);
  }
  std::uint64_t const least = std::uint64_t{rows.pool} - 1 + std::max(1U, rules.largest_round);
  if (rows.ring_rows < least || rows.ring_rows % rules.page_rows != 0) {
    return rules.refuse(name,
                        "is a ring, and needs ring_rows that are a multiple of page_rows and at "
                        "least pool - 1 + the largest round",
                        rows.ring_rows,
                        static_cast<std::int64_t>(least));
  }
  return {};
}

ClassSize TailRingPlane::size(ClassPlan const& known, Capacity const& capacity) noexcept {
  HOLDFAST_ASSERT(known.ring_rows % known.page_rows == 0);
  std::uint64_t const kept = std::uint64_t{capacity.snapshots} + capacity.entries;
  std::uint32_t const entries = known.ring_rows / known.page_rows;
  // A long handle holds one page more.
  std::uint64_t const pages = capacity.sequences * (std::uint64_t{entries} + 1) + kept;
  return {.entries = entries,
          .pages = capacity.ring_pages != 0 ? capacity.ring_pages : pages,
          .copies = 2 * std::uint64_t{entries}};  // two runs of each page
}

}  // namespace holdfast::internal::planes
