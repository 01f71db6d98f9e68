// SPDX-License-Identifier: Apache-2.0
// Tail ring: the raw indexer rows that are still needed, those of the open pool; row r at physical row
// r mod R.
#pragma once

#include "planes/windowed_plane.hpp"

namespace holdfast::internal::planes {

/// A length needs the rows of its open pool. They lie in one page, since a page has whole pools.
class PoolRing {
 public:
  static constexpr bool kWraps = true;

  PoolRing() noexcept = default;
  PoolRing(ClassPlan const& known, std::uint32_t /*largest_round*/) noexcept
      : pool_{known.window_rows}, ring_rows_{known.ring_rows}, page_rows_{known.page_rows} {}

  [[nodiscard]] std::uint32_t first_needed(std::uint32_t length) const noexcept {
    return length / pool_ * pool_;
  }
  [[nodiscard]] std::uint32_t first_left(Closing const& closing) const noexcept;
  [[nodiscard]] std::uint32_t place(std::uint32_t row) const noexcept { return row % ring_rows_; }
  [[nodiscard]] std::uint32_t lap(std::uint32_t row) const noexcept { return row / ring_rows_; }
  [[nodiscard]] std::uint64_t span() const noexcept { return ring_rows_; }
  [[nodiscard]] std::uint32_t last_at(std::uint32_t place, std::uint32_t length) const noexcept {
    return place + (length - 1 - place) / ring_rows_ * ring_rows_;
  }
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t base) const noexcept {
    return ring_rows_ - base % pool_;
  }
  [[nodiscard]] static std::uint32_t held_pages(ClassPlan const& /*known*/) noexcept { return 1; }

 private:
  base::Divisor pool_{1};
  base::Divisor ring_rows_{1};
  std::uint32_t page_rows_ = 1;
};

/// Rows that pool keys are made of: a key is built before a later lap takes the place of its rows.
class TailRingPlane : public WindowedPlane<PoolRing> {
 public:
  using WindowedPlane::check;
  [[nodiscard]] static Status check(RowsDescription const& rows, LayerRules const& rules) noexcept;
  [[nodiscard]] static ClassSize size(ClassPlan const& known, Capacity const& capacity) noexcept;
};

}  // namespace holdfast::internal::planes
