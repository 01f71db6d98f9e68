// SPDX-License-Identifier: Apache-2.0
// Windowed planes: rows of which only the last ones stay.
//
// One function says which rows a length needs, and every question of residency follows from it. What
// is resident is [lo, length); rows [first_needed(length), length) always are. A shorter length is one
// while the rows that it needs are resident; a snapshot holds the pages of the rows that its length
// needs, and an entry is usable at every length that needs no other row.
//
// The table is a flat list of pages, private to its sequence. A page is written in place iff it is held
// alone, or by its writer at r >= sealed in the lap in which it was shared. Where rows wrap around, all
// entries stay; a handle that would lap the base's needed rows first gives them a page that only it
// writes, and holds the old one until it closes, so that a drop is exact. Where they do not, tables are
// absolute: pages wholly below `lo` are given back, and their entries name page 0.
#pragma once

#include <concepts>

#include "planes/plane.hpp"
#include "storage/page_arena.hpp"

namespace holdfast::internal::planes {

/// What tells windowed planes apart: which rows a length needs, and where they lie.
template <typename W>
concept Window =
    requires(W const w, ClassPlan const& known, Closing const& closing, std::uint32_t n) {
  W{known, n};  // of a class, in a layout whose largest round has `n` rows
  /// First row that a sequence of `n` rows needs; `n` when it needs none.
  { w.first_needed(n) } -> std::same_as<std::uint32_t>;
  /// First row that can still be there when a handle has closed: what it wrote over, and what no
  /// length needs any more, is not.
  { w.first_left(closing) } -> std::same_as<std::uint32_t>;
  /// Row n lies at physical row place(n), in lap lap(n); `span` rows lie apart. A table of rows that
  /// never lie at the same place is absolute.
  { w.place(n) } -> std::same_as<std::uint32_t>;
  { w.lap(n) } -> std::same_as<std::uint32_t>;
  { w.span() } -> std::same_as<std::uint64_t>;
  /// Last row below `n` that lies at physical row `place`, which is below `n`.
  { w.last_at(n, n) } -> std::same_as<std::uint32_t>;
  /// Most open rows from `n` on that do not lap the rows that `n` needs.
  { w.view_limit(n) } -> std::same_as<std::uint32_t>;
  /// Most pages that the rows which one length needs lie on.
  { W::held_pages(known) } -> std::same_as<std::uint32_t>;
  {std::bool_constant<W::kWraps>{}};
};

/// Everything but what the class of a rule says of itself: check() and size().
template <Window W>
class WindowedPlane {
 public:
  [[nodiscard]] static constexpr bool is_slot() noexcept { return false; }
  [[nodiscard]] static constexpr bool lags() noexcept { return false; }
  [[nodiscard]] static Status check(StateDescription const& state,
                                    LayerRules const& rules) noexcept;
  [[nodiscard]] static EntryShape entry_shape(ClassPlan const& known,
                                              std::uint32_t length) noexcept;

  [[nodiscard]] bool create(Plan const& plan,
                            std::uint32_t plane,
                            PlaneMemory const& memory) noexcept;
  [[nodiscard]] PlaneState state(Holder holder) const noexcept;
  [[nodiscard]] std::uint32_t need_to_start() const noexcept { return 0; }
  void start(Owner owner, StepWork& step) noexcept;
  [[nodiscard]] OpenRange open_range(std::uint32_t /*sequence*/,
                                     Opening const& opening) const noexcept {
    return {opening.base, opening.rows};
  }
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t base) const noexcept {
    return window_.view_limit(base);
  }
  [[nodiscard]] std::uint32_t need(Owner owner, Opening const& opening) const noexcept;
  [[nodiscard]] std::uint32_t available() const noexcept { return pages_.free_count(); }
  void open(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void publish(std::uint32_t /*sequence*/, storage::MirrorUpdate& /*record*/) const noexcept {}
  [[nodiscard]] bool drop_is_exact(std::uint32_t /*sequence*/) const noexcept { return true; }
  void close(Owner owner, Closing const& closing, StepWork& step) noexcept;
  /// Allowed iff `length` needs no row, or none that is gone.
  [[nodiscard]] Status can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept;
  void truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept;
  void load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept;
  void drop(std::uint32_t snapshot) noexcept;
  void release(Owner owner) noexcept;
  void capture(std::uint32_t snapshot, std::uint32_t entry) noexcept;
  /// Where `length` needs no row, or none but those that the entry's own length needs.
  [[nodiscard]] Status can_restore(std::uint32_t entry, std::uint32_t length) const noexcept;
  void restore(std::uint32_t entry, Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void serialize(std::uint32_t entry, std::uint32_t layer_index, PieceSink& sink) const noexcept;
  void deserialize(std::uint32_t entry, std::uint32_t length) noexcept;
  [[nodiscard]] storage::PageArena const& arena() const noexcept { return pages_; }
  [[nodiscard]] storage::PagedTable const* chunk_table() const noexcept { return nullptr; }
  [[nodiscard]] std::uint32_t* device_table(std::uint32_t sequence) const noexcept {
    return device_table_ + std::uint64_t{sequence} * entries_;
  }
  [[nodiscard]] std::uint32_t page_at(Holder holder, std::uint32_t entry) const noexcept;
  [[nodiscard]] std::span<std::uint32_t const> open_pages(std::uint32_t sequence) const noexcept {
    State const& known = sequences_[sequence];
    return {&known.base_page, known.base_page != 0 ? 1U : 0U};
  }
  [[nodiscard]] bool audit() const noexcept;

 private:
  struct State {
    std::uint32_t length;
    std::uint32_t lo;
    std::uint32_t sealed;
    std::uint32_t pages;      // of an absolute table: entries of committed and open rows
    std::uint32_t base_page;  // held by a long handle until it closes, else 0
  };
  /// Pages of the rows that a length needs, by number of the page in the order of rows.
  struct NeededPages {
    std::uint32_t first;
    std::uint32_t count;
  };

  [[nodiscard]] NeededPages needed_pages(std::uint32_t length) const noexcept;
  /// Whether the rows that a sequence's length needs are resident.
  [[nodiscard]] bool has_needed(std::uint32_t sequence) const noexcept;
  /// Whether what a snapshot or entry holds is sealed against the pages' writers.
  [[nodiscard]] bool is_sealed(std::uint32_t snapshot) const noexcept;
  /// Table entry of a page in the order of rows.
  [[nodiscard]] std::uint32_t entry_of_page(std::uint32_t page) const noexcept {
    return window_.place(page * page_rows_) / page_rows_;
  }
  [[nodiscard]] std::uint32_t entry_of(std::uint32_t row) const noexcept {
    return window_.place(row) / page_rows_;
  }
  [[nodiscard]] std::span<std::uint32_t> table(std::uint32_t sequence) noexcept {
    return tables_.span(std::uint64_t{sequence} * entries_, entries_);
  }
  [[nodiscard]] std::span<std::uint32_t const> table(std::uint32_t sequence) const noexcept {
    return tables_.span(std::uint64_t{sequence} * entries_, entries_);
  }
  [[nodiscard]] std::span<std::uint32_t> held(std::uint32_t snapshot) noexcept {
    return held_.span(std::uint64_t{snapshot} * held_limit_, held_limit_);
  }
  [[nodiscard]] std::span<std::uint32_t const> held(std::uint32_t snapshot) const noexcept {
    return held_.span(std::uint64_t{snapshot} * held_limit_, held_limit_);
  }
  /// The part of a sequence's table that may name pages, and its first entry.
  [[nodiscard]] std::span<std::uint32_t> used(std::uint32_t sequence,
                                              std::uint32_t& first) noexcept;
  /// Entries that rows [0, length) take; where rows wrap around, all.
  [[nodiscard]] std::uint32_t entries_for(std::uint32_t length) const noexcept {
    return W::kWraps ? entries_ : base::ceil_div(length, page_rows_);
  }
  [[nodiscard]] bool is_long(Opening const& opening) const noexcept;
  [[nodiscard]] bool may_write(Owner owner,
                               Opening const& opening,
                               std::uint32_t entry) const noexcept;
  template <typename Visit>
  void for_each_touched(Opening const& opening, Visit visit) const noexcept;
  void copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void take_missing(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void copy_resident(Owner owner,
                     std::uint32_t entry,
                     std::uint32_t fresh,
                     std::uint32_t old,
                     StepWork& step) noexcept;
  void give_up(Owner owner, std::uint32_t page) noexcept;
  void end_long(Owner owner, Closing const& closing, StepWork& step) noexcept;
  /// Rows [lo, length) stay; an absolute table gives up the pages that hold none of them.
  void keep_rows(Owner owner, std::uint32_t lo, std::uint32_t length, StepWork& step) noexcept;
  /// The sequence gets pages that a snapshot or entry holds: those of the rows that `length` needs.
  void take_held(std::uint32_t snapshot,
                 Owner owner,
                 std::uint32_t length,
                 StepWork& step) noexcept;

  storage::PageArena pages_;
  base::FixedArray<State> sequences_;
  base::FixedArray<std::uint32_t> lengths_;  // [snapshot_limit]
  base::FixedArray<std::uint32_t> held_;     // [snapshot_limit, held_limit], in the order of rows
  base::FixedArray<std::uint32_t> tables_;   // [sequence_limit, entries]
  std::uint32_t* device_table_ = nullptr;
  Strips strips_;          // of one layer
  char const* name_ = "";  // of the plane kind, for messages
  std::uint32_t plane_ = 0;
  std::uint32_t entries_ = 0;
  std::uint32_t held_limit_ = 0;
  base::Divisor page_rows_{1};
  W window_{};
};

}  // namespace holdfast::internal::planes
