// SPDX-License-Identifier: Apache-2.0
// Rows of draft layers: an addressed plane whose length is the draft's watermark. It holds rows
// [0, watermark) and no page above them. A handle opens the rows from the watermark on, committed
// ones first, so that a draft that was not run for a while catches up; what is not written of them
// is given up with the handle.
#pragma once

#include "planes/paged_plane.hpp"

namespace holdfast::internal::planes {

/// Rows in pages, as many as the draft has written in a row.
class DraftPlane : public PagedPlane {
 public:
  [[nodiscard]] static constexpr bool lags() noexcept { return true; }
  [[nodiscard]] static Status check(RowsDescription const& rows, LayerRules const& rules) noexcept;
  using PagedPlane::check;

  [[nodiscard]] bool create(Plan const& plan,
                            std::uint32_t plane,
                            PlaneMemory const& memory) noexcept;
  /// Rows that the handle may write: from the watermark on, and no more than `lag` besides as many
  /// as it opens, so that a begin costs no more for a draft that was never run.
  [[nodiscard]] OpenRange open_range(std::uint32_t sequence, Opening const& opening) const noexcept;
  [[nodiscard]] std::uint32_t need(Owner owner, Opening const& opening) const noexcept;
  void open(Owner owner, Opening const& opening, StepWork& step) noexcept;
  /// The watermark rises to what was written and is committed. Nothing kept, nothing raised.
  void close(Owner owner, Closing const& closing, StepWork& step) noexcept;
  void truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept;
  void restore(std::uint32_t entry, Owner owner, std::uint32_t length, StepWork& step) noexcept;

 private:
  std::uint32_t lag_ = 0;
};

}  // namespace holdfast::internal::planes
