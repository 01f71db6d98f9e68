// SPDX-License-Identifier: Apache-2.0
// Which part of a write a plan means, and what a handle lacks when it was written so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "models/reference/model.hpp"
#include "models/write_plan.hpp"

namespace holdfast::model {

/// What one rank has of a plane or a state of one layer.
struct Part {
  std::uint32_t rank = 0;
  std::uint32_t plane = UINT32_MAX;  // index in ModelShape::planes; else it is a state
  std::uint32_t state = UINT32_MAX;  // index in ModelShape::states
  friend bool operator==(Part const&, Part const&) = default;
};

[[nodiscard]] inline std::uint32_t parts_of_rank(ModelShape const& shape) noexcept {
  return static_cast<std::uint32_t>(shape.written_planes.size() + shape.states.size());
}

/// The special part of a plan; nothing when there is nothing to write.
[[nodiscard]] inline std::optional<Part> part_of(ModelShape const& shape,
                                                 WritePlan const& plan) noexcept {
  std::uint32_t const count = parts_of_rank(shape);
  if (count == 0) {
    return std::nullopt;
  }
  auto const planes = static_cast<std::uint32_t>(shape.written_planes.size());
  Part part{.rank = plan.part / count % shape.ranks};
  std::uint32_t const at = plan.part % count;
  (at < planes ? part.plane : part.state) = at < planes ? shape.written_planes[at] : at - planes;
  return part;
}

/// What a plan for `items` items means for one of them: all, or for those without the special part the
/// order alone.
[[nodiscard]] inline WritePlan plan_of_item(ModelShape const& shape,
                                            WritePlan const& plan,
                                            std::uint32_t item,
                                            std::uint32_t items) noexcept {
  std::uint32_t const count = std::max(1U, parts_of_rank(shape) * shape.ranks);
  if (plan.part / count % items != item) {
    return {.reversed = plan.reversed};
  }
  WritePlan own = plan;
  own.part = plan.part % count;
  return own;
}

/// Whether rows may be left out of a part: what a draft plane lacks is not missing, and has a field of
/// its own.
[[nodiscard]] inline bool may_lack(ModelShape const& shape, Part const& part) noexcept {
  return part.plane == UINT32_MAX || rule_of(shape.planes[part.plane].kind) != PlaneRule::kDraft;
}

/// Whether the part that lacks rows is a state.
[[nodiscard]] inline bool lacks_state(ModelShape const& shape, WritePlan const& plan) noexcept {
  auto const part = plan.lacks() ? part_of(shape, plan) : std::nullopt;
  return part && part->plane == UINT32_MAX;
}

/// Rows that every part has which must be complete, when the others have `rows`.
[[nodiscard]] inline std::uint32_t complete_rows(ModelShape const& shape,
                                                 WritePlan const& plan,
                                                 StateMode mode,
                                                 std::uint32_t rows) noexcept {
  auto const part = plan.lacks() ? part_of(shape, plan) : std::nullopt;
  if (!part || !may_lack(shape, *part)) {
    return rows;
  }
  // What a rescan makes without a stash of its own is not written.
  bool const is_made = part->plane == UINT32_MAX && mode == StateMode::kRescan &&
                       shape.states[part->state].stash_row_bytes == 0;
  return is_made ? rows : plan.rows_of(rows);
}

/// Whether every plane has a view of so many open rows from a position on.
[[nodiscard]] inline bool has_views(ModelShape const& shape,
                                    std::uint32_t rows,
                                    std::uint32_t position) noexcept {
  return std::all_of(shape.windows.begin(), shape.windows.end(), [&](auto const& window) {
    return rows <= window.meaning->view_limit(window.plane, position);
  });
}

/// Whether a step that is written like this is one that a graph can capture: all of it by the engine's
/// own kernels.
[[nodiscard]] inline bool can_capture(WriteStyle const& style) noexcept {
  return style.view && !style.whole && style.plan.is_plain();
}

/// Whether a graph that was captured in one step serves another.
[[nodiscard]] inline bool are_captured_alike(StepParts const& captured,
                                             StepParts const& items) noexcept {
  return std::equal(captured.begin(),
                    captured.end(),
                    items.begin(),
                    items.end(),
                    [](StepPart const& one, StepPart const& other) {
                      return one.deed == other.deed && one.rows == other.rows &&
                             (one.deed == StepDeed::kPad || one.mode == other.mode);
                    });
}

}  // namespace holdfast::model
