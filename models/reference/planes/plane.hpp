// SPDX-License-Identifier: Apache-2.0
// What every reference plane is made of. A file in this folder gives the meaning of one plane spec:
// how the model reads it, and for each plane kind that it makes, which rows a history has and what
// each must contain. Nothing here knows pages, sharing or storage.
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
  std::uint32_t watermark = 0;    // rows of draft planes
};

/// Rows [first, last) of a plane that must be there and right.
struct RowRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
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

}  // namespace holdfast::model
