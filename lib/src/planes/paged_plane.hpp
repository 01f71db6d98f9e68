// SPDX-License-Identifier: Apache-2.0
// What the addressed planes share: append-only rows in pages, one length in the plane's own unit.
// Pool keys are such rows too: one for each complete pool, so that their length is `ready`.
#pragma once

#include "planes/plane.hpp"

namespace holdfast::internal::planes {

/// Rows in pages, shared by reference, copied on write.
class PagedPlane {
 public:
  [[nodiscard]] static constexpr bool is_slot() noexcept { return false; }
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
  [[nodiscard]] std::uint32_t need_to_start() const noexcept { return 0; }
  void start(Owner owner, StepWork& step) noexcept;
  [[nodiscard]] OpenRange open_range(std::uint32_t /*sequence*/,
                                     Opening const& opening) const noexcept {
    return {opening.base, opening.rows};
  }
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t /*base*/) const noexcept {
    return UINT32_MAX;
  }
  [[nodiscard]] std::uint32_t need(Owner owner, Opening const& opening) const noexcept;
  [[nodiscard]] std::uint32_t available() const noexcept { return table_.pages().free_count(); }
  void open(Owner owner, Opening const& opening, StepWork& step) noexcept;
  void publish(std::uint32_t /*sequence*/, storage::MirrorUpdate& /*record*/) const noexcept {}
  [[nodiscard]] bool drop_is_exact(std::uint32_t /*sequence*/) const noexcept { return true; }
  void close(Owner owner, Closing const& closing, StepWork& step) noexcept;
  [[nodiscard]] Status can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept;
  void truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept;
  void load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept;
  void drop(std::uint32_t snapshot) noexcept { table_.drop_snapshot(snapshot); }
  void release(Owner owner) noexcept;
  void capture(std::uint32_t snapshot, std::uint32_t entry) noexcept;
  /// Rows of one token: always. Rows of several: between two of them only when it is the entry's own
  /// last, unfinished one, whose raw rows are held.
  [[nodiscard]] Status can_restore(std::uint32_t entry, std::uint32_t length) const noexcept;
  void restore(std::uint32_t entry, Owner owner, std::uint32_t length, StepWork& step) noexcept;
  void serialize(std::uint32_t entry, std::uint32_t layer_index, PieceSink& sink) const noexcept;
  void deserialize(std::uint32_t entry, std::uint32_t length) noexcept;
  [[nodiscard]] bool audit() const noexcept;

  [[nodiscard]] storage::PageArena const& arena() const noexcept { return table_.pages(); }
  [[nodiscard]] storage::PagedTable const* chunk_table() const noexcept { return &table_; }
  [[nodiscard]] std::uint32_t* device_table(std::uint32_t sequence) const noexcept {
    return table_.device_table(sequence);
  }
  [[nodiscard]] std::uint32_t page_at(Holder holder, std::uint32_t entry) const noexcept {
    return entry < table_.page_count(holder) ? table_.page_at(holder, entry) : 0;
  }
  [[nodiscard]] std::span<std::uint32_t const> open_pages(
      std::uint32_t /*sequence*/) const noexcept {
    return {};
  }

 protected:
  [[nodiscard]] storage::PagedTable const& table() const noexcept { return table_; }
  [[nodiscard]] std::uint32_t length(std::uint32_t sequence) const noexcept {
    return lengths_[sequence];
  }
  void set_length(std::uint32_t sequence, std::uint32_t tokens) noexcept;
  [[nodiscard]] storage::PagedTable& own_table() noexcept { return table_; }

 private:
  [[nodiscard]] std::uint32_t units(std::uint32_t tokens) const noexcept {
    return tokens / unit_tokens_;
  }
  /// Whether every page below so many rows is there.
  [[nodiscard]] bool has_pages(std::uint32_t sequence, std::uint32_t rows) const noexcept {
    return table_.pages_of(rows) <= table_.page_count({HolderKind::kSequence, sequence});
  }

  storage::PagedTable table_;
  base::FixedArray<std::uint32_t> lengths_;  // [sequence_limit], in the plane's own unit
  Strips strips_;                            // of one layer
  std::uint32_t plane_ = 0;
  base::Divisor unit_tokens_{1};
  PlaneKind kind_{};
};

}  // namespace holdfast::internal::planes
