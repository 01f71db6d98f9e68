// SPDX-License-Identifier: Apache-2.0
// What the plan of a layout asks of a rule of storage: which specs it can serve, and how much each
// of its planes takes. The class behind the rule answers (planes/plane.hpp lists the questions);
// storage knows no class, so that the answers come to it as a table of functions.
#pragma once

#include <cstdint>
#include <holdfast/layout.hpp>

namespace holdfast::internal::storage {

struct ClassPlan;

/// How much a plane class takes at most.
struct ClassSize {
  std::uint32_t entries = 0;  // of one sequence's page table; 0 for slots
  std::uint64_t pages = 0;    // or slots, of all holders together, the reserved one not counted
  std::uint64_t copies = 1;   // runs of rows that one begin of one sequence copies
};

/// What a plane class has of a prefix entry.
struct EntryShape {
  std::uint32_t rows;       // in the byte form; a state counts as one
  std::uint64_t row_bytes;  // of all layers together, on one rank
  std::uint32_t pages;      // or slots that it takes
};

/// The answers of one class.
struct RuleTraits {
  /// Its planes are parts of the one state slot of a sequence: no rows, no pages, no table. All
  /// kinds of such rules share one class in each stage.
  bool is_slot;
  /// Its length may lag behind the sequence's: an engine may leave rows out, and a handle opens other
  /// rows in each sequence.
  bool lags;
  /// Whether it can serve these rows, or such a state; the refusal names what is wrong with them.
  Status (*check_rows)(RowsDescription const& rows, LayerRules const& rules) noexcept;
  Status (*check_state)(StateDescription const& state, LayerRules const& rules) noexcept;
  /// Size of a class whose rows are known. Worst case, where the capacity does not say: every sequence
  /// is full, every snapshot and every prefix entry holds pages of its own.
  ClassSize (*size)(ClassPlan const& known, Capacity const& capacity) noexcept;
  /// What an entry of `length` tokens takes; of planes that lag, `length` is their own.
  EntryShape (*entry_shape)(ClassPlan const& known, std::uint32_t length) noexcept;
};

/// Answers of the class behind a rule. Defined beside the list of classes, in planes/plane_list.cpp.
[[nodiscard]] RuleTraits const& traits_of(PlaneRule rule) noexcept;

}  // namespace holdfast::internal::storage
