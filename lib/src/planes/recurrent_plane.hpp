// SPDX-License-Identifier: Apache-2.0
// State slots: one slot holds conv window, ssm state and held side state of all layers of one
// sequence at one position. A held slot is never written: appends and rounds write fresh slots, and
// the end picks one. In place the fresh slot starts as a copy of the base; only an append on a slot
// that nothing else holds goes without, and then the base is gone once it is written.
#pragma once

#include "planes/plane.hpp"
#include "storage/page_arena.hpp"

namespace holdfast::internal::planes {

/// Bytes of the unit in which the step kernel copies parts of a slot: one f32.
inline constexpr std::uint32_t kSlotRowBytes = 4;

/// Slots, shared by reference; there is no way to shorten one.
class RecurrentPlane {
 public:
  [[nodiscard]] static constexpr bool is_slot() noexcept { return true; }
  [[nodiscard]] static constexpr bool lags() noexcept { return false; }
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
  /// Slot with the state that the open handle of a sequence reads, or its own.
  [[nodiscard]] std::uint32_t read_slot(std::uint32_t sequence) const noexcept;
  [[nodiscard]] std::uint32_t need_to_start() const noexcept { return 1; }
  /// The new sequence's slot is filled with zeros.
  void start(Owner owner, StepWork& step) noexcept;
  /// A state column a row; there is no row to write.
  [[nodiscard]] OpenRange open_range(std::uint32_t /*sequence*/,
                                     Opening const& opening) const noexcept {
    return {opening.base, opening.rows};
  }
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t /*base*/) const noexcept {
    return UINT32_MAX;
  }
  [[nodiscard]] std::uint32_t need(Owner owner, Opening const& opening) const noexcept;
  [[nodiscard]] std::uint32_t available() const noexcept { return slots_.free_count(); }
  /// One fresh slot for an append, one column a row for a round; in place one copy, or nothing; one
  /// for a round that is rescanned, with the base's side state.
  void open(Owner owner, Opening const& opening, StepWork& step) noexcept;
  /// The slot that kernels read.
  void publish(std::uint32_t sequence, storage::MirrorUpdate& record) const noexcept {
    record.read_slot = read_slot(sequence);
  }
  /// False while an in-place append writes the one slot that the sequence has.
  [[nodiscard]] bool drop_is_exact(std::uint32_t sequence) const noexcept {
    return !sequences_[sequence].direct;
  }
  /// The slot after the last kept row becomes the state.
  void close(Owner owner, Closing const& closing, StepWork& step) noexcept;
  [[nodiscard]] Status can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept;
  void truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept;
  void load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept;
  void drop(std::uint32_t snapshot) noexcept;
  void release(Owner owner) noexcept;
  void capture(std::uint32_t snapshot, std::uint32_t entry) noexcept;
  /// At the entry's own position only.
  [[nodiscard]] Status can_restore(std::uint32_t entry, std::uint32_t length) const noexcept;
  void restore(std::uint32_t entry, Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void serialize(std::uint32_t entry, std::uint32_t layer_index, PieceSink& sink) const noexcept;
  void deserialize(std::uint32_t entry, std::uint32_t length) noexcept;
  [[nodiscard]] bool audit() const noexcept;

  [[nodiscard]] storage::PageArena const& arena() const noexcept { return slots_; }
  [[nodiscard]] storage::PagedTable const* chunk_table() const noexcept { return nullptr; }
  [[nodiscard]] std::uint32_t* device_table(std::uint32_t /*sequence*/) const noexcept {
    return nullptr;
  }
  [[nodiscard]] std::uint32_t page_at(Holder holder, std::uint32_t entry) const noexcept {
    return entry == 0 ? state(holder).slot : 0;
  }
  [[nodiscard]] std::span<std::uint32_t const> open_pages(std::uint32_t sequence) const noexcept {
    return columns_.span(std::uint64_t{sequence} * column_limit_, sequences_[sequence].columns);
  }

 private:
  struct State {
    std::uint32_t length;  // rows
    std::uint32_t slot;
    std::uint32_t columns;  // write slots of the open handle
    bool in_place;          // column 0 is a copy of `slot` that is read and written
    bool direct;            // `slot` itself is written; there is no column
  };

  void open_in_place(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void release_slot(std::uint32_t slot) noexcept;
  /// Copies part of a slot.
  void copy_part(std::uint32_t destination,
                 std::uint32_t source,
                 std::uint64_t offset,
                 std::uint32_t elements,
                 StepWork& step) const noexcept;

  storage::PageArena slots_;
  base::FixedArray<State> sequences_;
  base::FixedArray<State> snapshots_;
  base::FixedArray<std::uint32_t> columns_;  // [sequence_limit, column_limit]
  std::span<StateInfo const> states_;
  std::uint32_t column_limit_ = 0;
  char const* name_ = "";  // of the plane kind, for messages
  std::uint32_t plane_ = 0;
};

}  // namespace holdfast::internal::planes
