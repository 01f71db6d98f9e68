// SPDX-License-Identifier: Apache-2.0
// What every reference plane is made of. A file in this folder gives the meaning of one plane spec:
// how the model reads it, and for each plane kind that it makes, which rows a history has and what
// each must contain. Nothing here knows pages, sharing or storage.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "models/engine/recall.hpp"

namespace holdfast::model {

/// What a reference plane needs to know of a history.
struct HistoryView {
  std::span<Token const> tokens;  // committed
  std::uint32_t lo = 0;           // first resident row of this plane, when it is windowed
  std::uint32_t watermark = 0;    // rows of draft planes
};

/// Rows [first, last) of a plane that must be there and right.
struct RowRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// A handle that closes, as a windowed plane sees it.
struct ClosedHandle {
  std::uint32_t base = 0;     // committed rows
  std::uint32_t rows = 0;     // open rows
  std::uint32_t written = 0;  // of them, that may have been written
  std::uint32_t keep = 0;
  bool round = false;
};

/// The meaning of a plane of which only the last rows stay.
struct ReferenceWindow {
  /// First row that a sequence of `length` rows needs; `length` when it needs none. What is there of a
  /// snapshot, and of a sequence that was loaded, follows from it, and so does every refusal.
  std::uint32_t (*first_needed)(PlaneShape const& shape, std::uint32_t length) noexcept;
  /// First row that can still be there after a handle.
  std::uint32_t (*first_left)(PlaneShape const& shape, ClosedHandle const& handle) noexcept;
  /// Most rows of a handle from `base` on that can go through a view.
  std::uint32_t (*view_limit)(PlaneShape const& shape, std::uint32_t base) noexcept;
  /// Most pages of a sequence with so many committed and open rows, and of a snapshot.
  std::uint32_t (*sequence_pages)(PlaneShape const& shape,
                                  std::uint32_t page_rows,
                                  std::uint32_t rows) noexcept;
  std::uint32_t (*held_pages)(PlaneShape const& shape, std::uint32_t page_rows) noexcept;
};

/// The meaning of one plane kind with rows.
struct ReferencePlane {
  PlaneKind kind;
  /// Rows that must be there, in the plane's own unit.
  RowRange (*rows)(PlaneShape const& shape, HistoryView const& history) noexcept;
  /// Contents of row `row`.
  void (*expect)(PlaneShape const& shape,
                 HistoryView const& history,
                 std::uint32_t row,
                 float* out) noexcept;
  ReferenceWindow const* window = nullptr;  // when only the last rows stay
};

/// Append-only planes: one row a token.
struct TokenRows {
  static RowRange rows(PlaneShape const& /*shape*/, HistoryView const& history) noexcept {
    return {0, static_cast<std::uint32_t>(history.tokens.size())};
  }
  static void expect(PlaneShape const& shape,
                     HistoryView const& history,
                     std::uint32_t row,
                     float* out) noexcept {
    make_stored_row(shape, history.tokens[row], row, out);
  }
};

/// Windowed planes: those of them that are there.
template <ReferenceWindow const& kWindow>
struct WindowRows {
  static RowRange rows(PlaneShape const& shape, HistoryView const& history) noexcept {
    auto const length = static_cast<std::uint32_t>(history.tokens.size());
    return {std::min(history.lo, kWindow.first_needed(shape, length)), length};
  }
};

}  // namespace holdfast::model
