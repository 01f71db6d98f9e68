// SPDX-License-Identifier: Apache-2.0
// The plan of a layout: plane classes, slot layout and every byte count, computed once and checked.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/layout.hpp>
#include <span>

#include "base/contract.hpp"
#include "base/fixed_array.hpp"
#include "storage/rule.hpp"

namespace holdfast::internal::storage {

/// Most plane classes of one layout; a model has a handful of shapes.
inline constexpr std::uint32_t kLargestClassCount = 16;

/// Alignment of every arena and table in the cache's one allocation, in bytes; that of
/// Device::allocate.
inline constexpr std::uint64_t kArenaAlignment = 256;

[[nodiscard]] constexpr std::uint64_t align_bytes(std::uint64_t bytes) noexcept {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// One plane class: the layers of one plane kind and shape in one stage. Sizes are those of one
/// rank; every rank of the stage has the same pages, tables and slots, at the same places.
struct ClassPlan {
  PlaneKind kind;
  PlaneRule rule;
  RuleTraits const* traits;  // of the rule
  bool derived;              // pool keys: built by the library from the pooled rows of its layer
  bool pooled;               // pool keys are made of its rows
  bool split;                // each rank holds its share of every strip
  std::uint32_t stage;
  std::uint32_t first_layer;  // index into Plan::layer_ids
  std::uint32_t layer_count;
  std::uint32_t unit_tokens;      // tokens that one row stands for
  std::uint32_t row_elements;     // of one layer, all strips
  Strips strips;                  // of one layer
  std::uint32_t page_rows;        // 0 for the slot class
  std::uint32_t window_rows;      // rows that the next token needs at most; 0: all
  std::uint32_t ring_rows;        // R, for rings
  std::uint32_t pool;             // for rings and pool keys
  std::uint32_t key_width;        // for rings and pool keys
  std::uint32_t entries;          // table entries of one sequence
  std::uint32_t pages;            // arena size, the reserved page counted; slots for the slot class
  std::uint32_t first_state;      // index into Plan::states, for the slot class
  std::uint64_t stash_row_bytes;  // of one row, all layers; 0 without rescan
  std::uint64_t page_bytes;       // of all layers; of one slot for the slot class
  std::uint64_t table_offset;     // bytes, in the device memory of each rank
  std::uint64_t arena_offset;     // bytes, likewise
  std::uint64_t stash_offset;     // bytes, likewise: the stash areas, [sequence_limit]

  /// Whether engines write its rows.
  [[nodiscard]] bool takes_rows() const noexcept { return page_rows != 0 && !derived; }
  /// Whether every open row must be written, states too, before a handle can keep it.
  [[nodiscard]] bool is_required() const noexcept { return !derived && !traits->lags; }
  /// How often all ranks together have its bytes: once, or a share of each rank. Slots are split, with
  /// the held side state that every rank has.
  [[nodiscard]] std::uint32_t shares(std::uint32_t ranks) const noexcept {
    HOLDFAST_ASSERT(ranks != 0);
    return split || traits->is_slot ? ranks : 1;
  }
  /// Bytes of a row of one layer.
  [[nodiscard]] std::uint64_t layer_row_bytes() const noexcept { return strips.row_bytes(); }
  /// Where a layer begins in a page.
  [[nodiscard]] std::uint64_t layer_offset(std::uint32_t layer) const noexcept {
    return layer * strips.layer_bytes;
  }
};

/// Which class holds a plane kind of one layer.
struct LayerEntry {
  std::uint8_t class_plus_one;  // 0: the layer has no such plane
  std::uint32_t index;          // position in the class
};

/// The two parts that a layer may have in a slot.
enum class StatePart : std::uint8_t { kRecurrence, kHeld };
inline constexpr std::uint32_t kStatePartCount = 2;

/// Device memory of one stage, on each of its ranks.
struct StagePlan {
  std::uint64_t table_bytes;  // of all classes, aligned
  std::uint64_t arena_bytes;  // of all classes, aligned
};

/// Everything that is derived from a layout.
struct Plan {
  std::array<ClassPlan, kLargestClassCount> classes{};
  std::uint32_t class_count = 0;
  base::FixedArray<std::uint32_t> layer_ids;
  base::FixedArray<LayerEntry> entries;        // [layers, kPlaneKindCount]
  base::FixedArray<LayerEntry> state_entries;  // [layers, kStatePartCount]
  base::FixedArray<StateInfo> states;          // parts of the slot, in order
  base::FixedArray<StateView> state_views;     // the same, shapes and offsets only
  base::FixedArray<StashView> stash_views;     // the same
  std::uint32_t layer_count = 0;
  std::uint32_t state_count = 0;
  std::uint32_t stash_count = 0;     // states that have a stash
  std::uint32_t sequence_limit = 0;  // the reserved one counted
  std::uint32_t snapshot_limit = 0;  // index 0 is not used; prefix entries counted
  std::uint32_t first_entry = 0;     // prefix entries are held as snapshots are, from this index on
  std::uint32_t tokens = 0;
  std::uint32_t largest_round = 0;
  std::uint32_t step_rows = 0;
  std::uint32_t step_items = 0;    // most items of one step, padding counted
  std::uint32_t step_records = 0;  // most steps open at once
  std::uint32_t page_rows = 0;
  std::uint32_t chunk_pages = 0;
  std::uint32_t ranks = 1;
  std::uint32_t stages = 1;
  std::uint32_t step_copies = 0;   // most page copies of one begin over all sequences
  std::uint32_t step_patches = 0;  // most table entries that one call over all sequences rewrites
  std::uint64_t mirror_bytes = 0;  // stride of the device records
  base::FixedArray<StagePlan> stage_plans;  // [stages]

  /// Bytes of the sequences' device records, and of the step's row map.
  [[nodiscard]] std::uint64_t record_bytes() const noexcept {
    return align_bytes(mirror_bytes * sequence_limit);
  }
  [[nodiscard]] std::uint64_t row_map_bytes() const noexcept {
    return align_bytes(std::uint64_t{step_rows} * sizeof(std::uint32_t));
  }
  /// Bytes of a device's records, row map and tables; they are zero at first.
  [[nodiscard]] std::uint64_t cleared_bytes(std::uint32_t stage) const noexcept {
    return record_bytes() + row_map_bytes() + stage_plans[stage].table_bytes;
  }
  /// The one allocation on each device of a stage: records, row map, tables, arenas.
  [[nodiscard]] std::uint64_t device_bytes(std::uint32_t stage) const noexcept {
    return cleared_bytes(stage) + stage_plans[stage].arena_bytes;
  }
  /// Whether rounds may stash inputs instead of states.
  [[nodiscard]] bool has_stash() const noexcept { return stash_count != 0; }
  /// Bytes of one sequence's stash area.
  [[nodiscard]] std::uint64_t stash_bytes(ClassPlan const& plan) const noexcept {
    return std::max(1U, largest_round) * plan.stash_row_bytes;
  }
  /// Most committed rows that a draft plane catches up in one handle.
  [[nodiscard]] std::uint32_t draft_lag() const noexcept { return largest_round + page_rows; }
  [[nodiscard]] std::uint32_t device_count() const noexcept { return ranks * stages; }
  /// Kind of one layer of a class: a slot has parts of several kinds.
  [[nodiscard]] PlaneKind kind_of(ClassPlan const& plan, std::uint32_t index) const noexcept {
    return plan.traits->is_slot ? states[plan.first_state + index].kind : plan.kind;
  }
  [[nodiscard]] std::span<std::uint32_t const> layers_of(ClassPlan const& plan) const noexcept {
    HOLDFAST_ASSERT(plan.layer_count != 0);
    return layer_ids.span(plan.first_layer, plan.layer_count);
  }
  /// Class of `kind` in `layer`, or nullptr; `index` becomes the layer's position in the class.
  [[nodiscard]] ClassPlan const* find(PlaneKind kind,
                                      std::uint32_t layer,
                                      std::uint32_t* index,
                                      std::uint32_t* class_index) const noexcept;
  /// The class that has a part of the state of `layer`, likewise.
  [[nodiscard]] ClassPlan const* find_state(StatePart part,
                                            std::uint32_t layer,
                                            std::uint32_t* index,
                                            std::uint32_t* class_index) const noexcept;
  /// The class whose rows are derived from the pooled ones of `layer`, likewise.
  [[nodiscard]] ClassPlan const* find_derived(std::uint32_t layer,
                                              std::uint32_t* index,
                                              std::uint32_t* class_index) const noexcept;

 private:
  [[nodiscard]] ClassPlan const* class_of(LayerEntry const& entry,
                                          std::uint32_t* index,
                                          std::uint32_t* class_index) const noexcept;
};

struct StepLimits;

/// What the device work of one call over all sequences can need.
[[nodiscard]] StepLimits step_limits(Plan const& plan) noexcept;

/// Validates `layout` and fills `plan`. Errors: those of validate(); kOutOfMemory.
[[nodiscard]] Status make_plan(Layout const& layout, Plan& plan) noexcept;

}  // namespace holdfast::internal::storage
