// SPDX-License-Identifier: Apache-2.0
// Tail ring: the raw indexer rows that are still needed, row r at physical row r mod R.
//
// What is resident is [lo, length). The table is a flat list of R / page_rows pages, private to its
// sequence; a snapshot holds the one page with its live rows, those of the open pool. A ring page
// is written in place iff it is held alone, or by its writer at r >= sealed in the lap in which it
// was shared. A handle that would lap the base's live rows first gives them a page that only it
// writes, and holds the old one until it closes, so that a drop is exact.
#pragma once

#include "planes/plane.hpp"
#include "storage/page_arena.hpp"

namespace holdfast::internal::planes {

/// A window over the last rows.
class TailRingPlane {
 public:
  [[nodiscard]] static constexpr bool is_slot() noexcept { return false; }
  [[nodiscard]] static constexpr bool lags() noexcept { return false; }
  /// Rows that pool keys are made of: a key is built before a later lap takes the place of its rows.
  [[nodiscard]] static Status check(RowsDescription const& rows, LayerRules const& rules) noexcept;
  [[nodiscard]] static Status check(StateDescription const& state,
                                    LayerRules const& rules) noexcept;
  [[nodiscard]] static ClassSize size(ClassPlan const& known, Capacity const& capacity) noexcept;
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
  /// Rows of a view must not lap those whose key is not built yet.
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t base) const noexcept {
    return ring_rows_ - base % pool_;
  }
  [[nodiscard]] std::uint32_t need(Owner owner, Opening const& opening) const noexcept;
  [[nodiscard]] std::uint32_t available() const noexcept { return pages_.free_count(); }
  void open(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void publish(std::uint32_t /*sequence*/, storage::MirrorUpdate& /*record*/) const noexcept {}
  [[nodiscard]] bool drop_is_exact(std::uint32_t /*sequence*/) const noexcept { return true; }
  void close(Owner owner, Closing const& closing, StepWork& step) noexcept;
  /// Allowed iff the open pool's rows below `length` are none, or resident.
  [[nodiscard]] Status can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept;
  void truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept;
  void load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept;
  void drop(std::uint32_t snapshot) noexcept;
  void release(Owner owner) noexcept;
  void capture(std::uint32_t snapshot, std::uint32_t entry) noexcept;
  /// Without an open pool; or when it is the entry's own open pool, the only one whose rows it
  /// holds.
  [[nodiscard]] Status can_restore(std::uint32_t entry, std::uint32_t length) const noexcept;
  void restore(std::uint32_t entry, Owner owner, std::uint32_t length, StepWork& step) noexcept;
  /// The rows of the open pool; they lie in one page.
  void serialize(std::uint32_t entry, std::uint32_t layer_index, PieceSink& sink) const noexcept;
  void deserialize(std::uint32_t entry, std::uint32_t length) noexcept;
  [[nodiscard]] bool audit() const noexcept;

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

 private:
  struct State {
    std::uint32_t length;
    std::uint32_t lo;
    std::uint32_t sealed;
    std::uint32_t base_page;  // held by a long handle until it closes, else 0
  };
  struct Held {
    std::uint32_t length;
    std::uint32_t page;  // 0 when no pool is open
  };

  [[nodiscard]] std::uint32_t entry_of(std::uint32_t row) const noexcept {
    return row % ring_rows_ / page_rows_;
  }
  [[nodiscard]] std::uint32_t open_pool(std::uint32_t length) const noexcept {
    return length / pool_ * pool_;
  }
  [[nodiscard]] std::span<std::uint32_t> table(std::uint32_t sequence) noexcept {
    return tables_.span(std::uint64_t{sequence} * entries_, entries_);
  }
  [[nodiscard]] std::span<std::uint32_t const> table(std::uint32_t sequence) const noexcept {
    return tables_.span(std::uint64_t{sequence} * entries_, entries_);
  }
  /// Whether what a sequence's length needs is resident.
  [[nodiscard]] bool has_needed(std::uint32_t sequence) const noexcept;
  [[nodiscard]] bool is_long(Opening const& opening) const noexcept;
  [[nodiscard]] bool may_write(Owner owner,
                               Opening const& opening,
                               std::uint32_t entry) const noexcept;
  template <typename Visit>
  void for_each_touched(Opening const& opening, Visit visit) const noexcept;
  void copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void take_missing(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void give_up(Owner owner, std::uint32_t page) noexcept;
  void copy_resident(Owner owner,
                     std::uint32_t entry,
                     std::uint32_t fresh,
                     std::uint32_t old,
                     StepWork& step) noexcept;

  storage::PageArena pages_;
  base::FixedArray<State> sequences_;
  base::FixedArray<Held> snapshots_;
  base::FixedArray<std::uint32_t> tables_;  // [sequence_limit, entries]
  std::uint32_t* device_table_ = nullptr;
  std::uint64_t strip_bytes_ = 0;
  std::uint32_t row_bytes_ = 0;
  char const* name_ = "";  // of the plane kind, for messages
  std::uint32_t plane_ = 0;
  std::uint32_t entries_ = 0;
  base::Divisor page_rows_{1};
  base::Divisor ring_rows_{1};
  base::Divisor pool_{1};
};

}  // namespace holdfast::internal::planes
