// SPDX-License-Identifier: Apache-2.0
// One state of the exhaustive search, as operations see it that say what they can be in it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/reference/model.hpp"

namespace holdfast::model {

/// What comes next is small: one of each kind at each edge, on the few names that there are.
struct SmallScope {
  static constexpr std::uint32_t kMostSequences = 2;  // live at once
  static constexpr std::uint32_t kMostSnapshots = 2;  // live at once
  static constexpr std::uint32_t kRoundRows = 2;

  SmallScope(Model const& at, StateMode of_all, bool is_at_start)
      : model{at}, mode{of_all}, is_first{is_at_start} {
    for (std::uint32_t const value : at.live_sequences()) {
      ModelSequence const& sequence = at.sequence({value});
      if (sequence.open.open) {
        (sequence.open.round ? open_rounds : open_appends).push_back({value});
      } else if (!sequence.tainted) {
        at_rest.push_back({value});
      }
    }
  }

  Model const& model;
  StateMode mode;  // of all handles
  bool is_first;   // nothing was done yet in the start state
  std::vector<SequenceName> at_rest;
  std::vector<SequenceName> open_appends;
  std::vector<SequenceName> open_rounds;

  [[nodiscard]] ModelShape const& shape() const noexcept { return model.shape(); }
  [[nodiscard]] bool has_room() const noexcept {
    return model.live_sequences().size() < kMostSequences;
  }
  /// Only rounds are rescanned.
  [[nodiscard]] StateMode mode_of_appends() const noexcept {
    return mode == StateMode::kRescan ? StateMode::kFresh : mode;
  }
  /// Rows that stay of a windowed plane; of a layout without one, what the geometries usually have.
  [[nodiscard]] static std::uint32_t kept_rows(ModelShape const& shape) noexcept {
    return shape.windows.empty() ? 3 * shape.page_rows : shape.windows.front().plane.kept_rows;
  }
};

}  // namespace holdfast::model
