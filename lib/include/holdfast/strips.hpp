// SPDX-License-Identifier: Apache-2.0
// How a row lies in a page: strip by strip. Every strip has elements and a format of its own (keys and
// values of attention are two).
#pragma once

#include <cstdint>
#include <holdfast/format.hpp>

namespace holdfast {

/// Most strips of a row: keys, values, and scales of each.
inline constexpr std::uint32_t kLargestStripCount = 4;
/// Every strip begins at a multiple of so many bytes of its page.
inline constexpr std::uint32_t kStripAlignment = 4;

/// One strip of the rows of a layer, in a page: [page_rows, row_bytes].
struct Strip {
  std::uint64_t offset = 0;      ///< bytes, from where the layer begins in a page
  std::uint32_t elements = 0;    ///< of one row
  std::uint32_t row_bytes = 0;   ///< of one row, as it is stored
  Format format = Format::kF32;  ///< in which the elements are stored
  friend bool operator==(Strip const&, Strip const&) = default;
};

/// The strips of a row. A row's elements are those of its strips, one strip after the other.
struct Strips {
  Strip list[kLargestStripCount];
  std::uint32_t count = 0;
  std::uint64_t layer_bytes = 0;  ///< from one layer in a page to the next

  [[nodiscard]] constexpr Strip const* begin() const noexcept { return list; }
  [[nodiscard]] constexpr Strip const* end() const noexcept { return list + count; }
  [[nodiscard]] constexpr Strip const& operator[](std::uint32_t i) const noexcept {
    return list[i];
  }
  /// Elements of a row.
  [[nodiscard]] constexpr std::uint32_t elements() const noexcept {
    std::uint32_t sum = 0;
    for (Strip const& strip : *this) {
      sum += strip.elements;
    }
    return sum;
  }
  /// Bytes of a row, as it is stored.
  [[nodiscard]] constexpr std::uint64_t row_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (Strip const& strip : *this) {
      sum += strip.row_bytes;
    }
    return sum;
  }
  friend bool operator==(Strips const&, Strips const&) = default;
};

/// Adds a strip of known format to rows that lie in pages of `page_rows`.
constexpr void add_strip(Strips& strips,
                         std::uint32_t elements,
                         Format format,
                         std::uint32_t page_rows) noexcept {
  auto const row_bytes = static_cast<std::uint32_t>(stored_bytes(format, elements));
  strips.list[strips.count++] = {
      .offset = strips.layer_bytes, .elements = elements, .row_bytes = row_bytes, .format = format};
  std::uint64_t const end = strips.layer_bytes + std::uint64_t{page_rows} * row_bytes;
  strips.layer_bytes = (end + kStripAlignment - 1) / kStripAlignment * kStripAlignment;
}

}  // namespace holdfast
