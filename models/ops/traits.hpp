// SPDX-License-Identifier: Apache-2.0
// What operations say about themselves, so that generator, minimizer, driver and invariants need to
// know none of them by name.
#pragma once

#include <cstdint>

#include "models/observation.hpp"

namespace holdfast::model {

/// What operations act on.
enum class Thing : std::uint8_t {
  kSequence,
  kSnapshot,
  kEntry,
  kAppend,   ///< an open append
  kRound,    ///< an open round
  kStep,     ///< an open step, named by any sequence that is or was an item of it
  kRows,     ///< committed rows of a sequence that goes on
  kBytes,    ///< an entry as bytes
  kPending,  ///< work that waits in a stream
  kStream,   ///< the stream of the calls that follow
  kFault,    ///< device calls that fail
};

/// A set of things.
class Things {
 public:
  constexpr Things() noexcept = default;
  constexpr Things(Thing thing) noexcept  // NOLINT(google-explicit-constructor): a set of one
      : bits_{1U << static_cast<std::uint32_t>(thing)} {}

  [[nodiscard]] constexpr bool is_empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool has(Thing thing) const noexcept { return has_any(thing); }
  [[nodiscard]] constexpr bool has_any(Things things) const noexcept {
    return (bits_ & things.bits_) != 0;
  }
  constexpr Things& operator|=(Things things) noexcept {
    bits_ |= things.bits_;
    return *this;
  }

 private:
  std::uint32_t bits_ = 0;
};

constexpr Things operator|(Things a, Things b) noexcept {
  return a |= b;
}
constexpr Things operator|(Thing a, Thing b) noexcept {
  return Things{a} | b;
}

/// What an operation may do when it succeeds. Whatever its fields name is in one of the sets.
struct Effects {
  Things makes = {};    ///< what is there afterwards
  Things ends = {};     ///< what was there before; before the rest happens, if it makes the same
  Things changes = {};  ///< what is there before and afterwards
  Things uses = {};     ///< what stays as it is
  Things loads = {};    ///< from which another thing takes all that it has

  [[nodiscard]] constexpr Things all() const noexcept {
    return makes | ends | changes | uses | loads;
  }
  /// Whether it opens handles; then it has the member `openings`.
  [[nodiscard]] constexpr bool opens() const noexcept {
    return makes.has_any(Thing::kAppend | Thing::kRound);
  }
  /// Whether a sequence leaves a handle that it opens; then it has the member `leaver`.
  [[nodiscard]] constexpr bool leaves() const noexcept {
    return opens() && ends.has(Thing::kSequence);
  }
  /// Whether it takes storage for longer than it runs, or gives some back.
  [[nodiscard]] constexpr bool takes() const noexcept {
    return ends.is_empty() &&
           makes.has_any(Thing::kSequence | Thing::kSnapshot | Thing::kEntry | Thing::kRound);
  }
  [[nodiscard]] constexpr bool gives() const noexcept {
    return makes.is_empty() &&
           ends.has_any(Thing::kSequence | Thing::kSnapshot | Thing::kEntry | Thing::kRows);
  }
};

/// How often programs have an operation, relative to others.
struct Weight {
  std::uint32_t mix;              ///< in the plain mix, if the geometry does not say otherwise
  std::uint32_t least = 0;        ///< in programs that draw weights of their own
  std::uint32_t fault_times = 1;  ///< times the weight where device calls fail
  std::uint32_t fault_share = 0;  ///< what is there only where they fail: its share of the faults
};

/// One handle that an operation opens.
struct OpenedHandle {
  SequenceName sequence;
  std::uint32_t rows = 0;
  bool round = false;  ///< else an append
  StateMode mode = StateMode::kFresh;
};

}  // namespace holdfast::model
