// SPDX-License-Identifier: Apache-2.0
// Page tables of one addressed class: who holds which pages, and which row may be written in place.
//
// Rules (docs/ARCHITECTURE.md; proven by tests/property and the exhaustive suite):
//  * A holder's table has exactly ceil(rows / page_rows) pages, rows counting the open ones.
//  * A page is shared when it has more than one reference or lies in a chunk with more than one.
//  * Row r is written in place iff its page is not shared, or this sequence is its writer and r >=
//  sealed.
//    Anything else gets a fresh page with the rows below r, and this sequence becomes its writer.
//  * Pages above the new length are given up at once, and with them the writer's mark.
// Rows here are in the class's own unit: tokens, or keys.
#pragma once

#include <cstdint>
#include <holdfast/inspect.hpp>
#include <span>

#include "base/divisor.hpp"
#include "base/fixed_array.hpp"
#include "base/tally.hpp"
#include "storage/chunk_arena.hpp"
#include "storage/page_arena.hpp"
#include "storage/plan.hpp"
#include "storage/step.hpp"

namespace holdfast::internal::storage {

/// Names a sequence for tables: its index and the mark that its writes leave.
struct Owner {
  std::uint32_t index;
  WriterMark mark;
};

/// Tables of all holders of one class. Never allocates after create.
class PagedTable {
 public:
  /// `device_table` is [sequence_limit, entries] in device memory. False when the host has no
  /// memory.
  [[nodiscard]] bool create(Plan const& plan,
                            std::uint32_t plane,
                            std::byte* pages,
                            std::uint32_t* device_table) noexcept;

  /// Free pages that writing rows [from, to) of the sequence would take; `from` is its row count.
  [[nodiscard]] std::uint32_t pages_needed(Owner owner,
                                           std::uint32_t from,
                                           std::uint32_t to) const noexcept;
  /// Makes the page that holds row `from` writable, when rows [from, to) start inside one.
  void copy_on_write(Owner owner, std::uint32_t from, std::uint32_t to, StepWork& step) noexcept;
  /// Takes fresh pages until the table holds `rows` rows.
  void extend(Owner owner, std::uint32_t rows, StepWork& step) noexcept;
  /// Gives up the pages above `rows`.
  void cut(Owner owner, std::uint32_t rows) noexcept;
  /// The snapshot takes references to all of the sequence's chunks.
  void hold(std::uint32_t sequence, std::uint32_t snapshot, std::uint32_t rows) noexcept;
  /// The sequence gets the snapshot's chunks in place of its own, and the snapshot's row count.
  /// `fresh`: it is a new sequence.
  void load(std::uint32_t snapshot, Owner owner, bool fresh, StepWork& step) noexcept;
  void drop_snapshot(std::uint32_t snapshot) noexcept;
  /// The entry takes references to all of the snapshot's chunks.
  void capture(std::uint32_t snapshot, std::uint32_t entry) noexcept;
  /// A new sequence gets the entry's pages below `rows`: chunks that lie whole below are shared, one
  /// that `rows` cuts becomes a private chunk.
  void restore(std::uint32_t entry, Owner owner, std::uint32_t rows, StepWork& step) noexcept;
  /// Pages of a table of so many rows.
  [[nodiscard]] std::uint32_t pages_of(std::uint32_t rows) const noexcept;
  /// The entry gets fresh pages for `rows` rows; nobody is their writer.
  void take_entry(std::uint32_t entry, std::uint32_t rows) noexcept;
  void release_sequence(Owner owner) noexcept;
  /// Whether every table, chunk and page agrees with the others. O(everything).
  [[nodiscard]] bool audit() const noexcept;

  [[nodiscard]] std::uint32_t snapshot_rows(std::uint32_t snapshot) const noexcept {
    return snapshots_[snapshot].rows;
  }
  [[nodiscard]] std::uint32_t sealed(std::uint32_t sequence) const noexcept {
    return sequences_[sequence].sealed;
  }
  [[nodiscard]] PageArena const& pages() const noexcept { return pages_; }
  [[nodiscard]] ChunkArena const& chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::uint32_t page_count(Holder holder) const noexcept {
    return table(holder).pages;
  }
  [[nodiscard]] std::uint32_t chunk_count(Holder holder) const noexcept {
    return table(holder).chunks;
  }
  [[nodiscard]] std::uint32_t chunk_at(Holder holder, std::uint32_t entry) const noexcept {
    HOLDFAST_ASSERT(entry < chunk_limit_);
    return ids(holder)[entry];
  }
  /// Page of table entry `entry`. Requires entry < page_count().
  [[nodiscard]] std::uint32_t page_at(Holder holder, std::uint32_t entry) const noexcept {
    HOLDFAST_ASSERT(entry < table(holder).pages);
    return chunks_.pages(ids(holder)[entry / chunk_pages_])[entry % chunk_pages_];
  }
  [[nodiscard]] std::uint32_t* device_table(std::uint32_t sequence) const noexcept {
    HOLDFAST_ASSERT(sequence < sequences_.size());
    return device_table_ + std::uint64_t{sequence} * entries_;
  }
  [[nodiscard]] std::uint32_t page_rows() const noexcept { return page_rows_; }
  [[nodiscard]] std::uint32_t entries() const noexcept { return entries_; }

 private:
  struct Table {
    std::uint32_t rows;  // snapshots only: what they hold
    std::uint32_t sealed;
    std::uint32_t pages;
    std::uint32_t chunks;
  };

  [[nodiscard]] Table const& table(Holder holder) const noexcept {
    HOLDFAST_ASSERT(holder.kind == HolderKind::kSequence || holder.kind == HolderKind::kSnapshot);
    return holder.kind == HolderKind::kSequence ? sequences_[holder.index]
                                                : snapshots_[holder.index];
  }
  [[nodiscard]] std::span<std::uint32_t const> ids(Holder holder) const noexcept {
    auto const& all = holder.kind == HolderKind::kSequence ? sequence_ids_ : snapshot_ids_;
    return all.span(std::uint64_t{holder.index} * chunk_limit_, chunk_limit_);
  }
  [[nodiscard]] std::span<std::uint32_t> sequence_ids(std::uint32_t sequence) noexcept {
    HOLDFAST_ASSERT(sequence != 0);
    return sequence_ids_.span(std::uint64_t{sequence} * chunk_limit_, chunk_limit_);
  }
  [[nodiscard]] std::uint32_t page_of(std::uint32_t sequence, std::uint32_t entry) const noexcept {
    return page_at({HolderKind::kSequence, sequence}, entry);
  }
  [[nodiscard]] bool held_alone(std::uint32_t sequence, std::uint32_t entry) const noexcept;
  [[nodiscard]] bool may_write(Owner owner, std::uint32_t entry, std::uint32_t row) const noexcept;
  void make_private(std::uint32_t sequence, std::uint32_t chunk_entry) noexcept;
  void append_page(Owner owner, StepWork& step) noexcept;
  void copy_page(Owner owner, std::uint32_t row, StepWork& step) noexcept;
  void release_chunk(std::uint32_t chunk) noexcept;
  /// Whether a holder's table is whole; adds its chunks to `chunks`.
  [[nodiscard]] bool audit_table(Holder holder, base::Tally& chunks) const noexcept;
  /// Whether nobody may write in place what others see.
  [[nodiscard]] bool audit_writers() const noexcept;

  PageArena pages_;
  ChunkArena chunks_;
  base::FixedArray<Table> sequences_;
  base::FixedArray<Table> snapshots_;
  base::FixedArray<std::uint32_t> sequence_ids_;  // [sequence_limit, chunk_limit]
  base::FixedArray<std::uint32_t> snapshot_ids_;  // [snapshot_limit, chunk_limit]
  std::uint32_t* device_table_ = nullptr;         // [sequence_limit, entries], device memory
  std::uint32_t plane_ = 0;
  base::Divisor page_rows_{1};
  base::Divisor chunk_pages_{1};
  std::uint32_t chunk_limit_ = 0;
  std::uint32_t entries_ = 0;
};

}  // namespace holdfast::internal::storage
