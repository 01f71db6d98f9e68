// SPDX-License-Identifier: Apache-2.0
// Everything of one sequence, snapshot or entry, by value, and what it is as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/result.hpp>
#include <vector>

#include "models/reference/model.hpp"

namespace holdfast::model::copying {

/// Rows are whole, as one rank would have them; a rank's share is taken when they are read.
struct Copy {
  std::vector<Token> tokens;
  std::vector<std::vector<float>> rows;  // by plane of the shape: [rows, elements]
  std::vector<float> state;              // in the shape's order
  std::uint32_t state_at = 0;            // tokens that it is the state after

  [[nodiscard]] std::uint32_t position() const noexcept {
    return static_cast<std::uint32_t>(tokens.size());
  }
  /// Rows of a plane that there are.
  [[nodiscard]] std::uint32_t length(ModelShape const& shape, std::uint32_t plane) const noexcept {
    return static_cast<std::uint32_t>(rows[plane].size() / shape.planes[plane].elements);
  }
  void set_length(ModelShape const& shape, std::uint32_t plane, std::uint32_t length) {
    rows[plane].resize(std::size_t{length} * shape.planes[plane].elements);
  }
  /// Makes rows [first, last) of a plane for the tokens that are there.
  void write(ModelShape const& shape, std::uint32_t plane, std::uint32_t first, std::uint32_t last);
  /// Leaves what belongs to the first `length` tokens; the state is left alone.
  void shorten(ModelShape const& shape, std::uint32_t length);
};

/// Whether a plane's length is a watermark.
[[nodiscard]] bool is_draft(PlaneShape const& plane) noexcept;
/// Rows of a plane that does not lag.
[[nodiscard]] std::uint32_t rows_for(PlaneShape const& plane, std::uint32_t tokens) noexcept;

/// What it is as bytes, under a scope.
[[nodiscard]] std::vector<std::byte> to_bytes(ModelShape const& shape,
                                              Copy const& copy,
                                              std::uint32_t scope);
/// Reads bytes back under a scope. Errors: kInvalidArgument (no such bytes, or of another layout, rank
/// count or scope), kUnsupported (another version), kDamaged.
[[nodiscard]] Result<Copy> from_bytes(ModelShape const& shape,
                                      std::vector<std::byte> const& bytes,
                                      std::uint32_t scope);
/// Does to bytes what a damage says.
void damage(std::vector<std::byte>& bytes, Damage damage, std::uint32_t at);

}  // namespace holdfast::model::copying
