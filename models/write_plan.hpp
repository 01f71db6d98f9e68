// SPDX-License-Identifier: Apache-2.0
// The freedom that an engine has when it writes: what it leaves out, does twice, in another order or in
// another stream, and which calls it gets wrong. By default it writes everything once and in order.
//
// A part is what one rank has of a plane or a state of one layer. One part of a write is special.
#pragma once

#include <cstdint>

#include "models/observation.hpp"

namespace holdfast::model {

/// What becomes of the special part.
enum class Liberty : std::uint8_t {
  kNone,   // it is written as the others are
  kOmit,   // not at all
  kShort,  // all rows but the last
  kLook,   // not at all; but where it lies is asked for
  kTwice,  // other values first, where it may be written again
  kOther,  // through a view when the others are not, and the other way round
};
inline constexpr std::uint32_t kLibertyCount = 6;

/// What is wrong with a call about the special part; it must be refused, and change nothing.
enum class Mistake : std::uint8_t {
  kNone,
  kRank,    // one rank too many
  kPlane,   // a kind that the layer has not
  kLayer,   // one layer too many
  kRange,   // rows behind a gap
  kCount,   // more rows than are open
  kSource,  // no rows
};
inline constexpr std::uint32_t kMistakeCount = 7;

/// How the parts of one write are written.
struct WritePlan {
  Liberty liberty = Liberty::kNone;
  Mistake mistake = Mistake::kNone;
  std::uint32_t part = 0;  // the special one; counted around
  std::uint32_t via =
      kStreamNames;       // stream that it goes through; kStreamNames: that of the others
  bool reversed = false;  // the last part comes first

  friend bool operator==(WritePlan const&, WritePlan const&) = default;
  [[nodiscard]] bool is_plain() const noexcept { return *this == WritePlan{}; }
  /// Whether rows of the special part are left out.
  [[nodiscard]] bool lacks() const noexcept {
    return liberty == Liberty::kOmit || liberty == Liberty::kShort || liberty == Liberty::kLook;
  }
  /// Rows of the special part that are written when the others have `rows`.
  [[nodiscard]] std::uint32_t rows_of(std::uint32_t rows) const noexcept {
    return liberty == Liberty::kShort ? rows - (rows != 0 ? 1 : 0) : lacks() ? 0 : rows;
  }
};

}  // namespace holdfast::model
