// SPDX-License-Identifier: Apache-2.0
// The device half of a begin, finish, rollback, fork or truncate over the planes of one stage:
// collected once on the host in a pinned block, then done by one launch on each rank. Row copies
// come first, then table entries, then the sequence record. What is collected says places by
// number, so that it means the same on every rank.
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>
#include <holdfast/device.hpp>
#include <holdfast/strips.hpp>
#include <span>

#include "base/contract.hpp"
#include "base/fixed_array.hpp"

namespace holdfast::internal::storage {

/// Strips of a page that lie at one distance from each other and have rows of one size.
struct StripRun {
  std::uint64_t offset;  // bytes, of the first one
  std::uint64_t stride;  // bytes, from one to the next
  std::uint32_t strips;
  std::uint32_t row_bytes;
};

/// All strips of a page, as few runs as there are.
struct StripRuns {
  std::uint32_t count = 0;
  StripRun list[kLargestStripCount] = {};
};

/// Those of a page with so many layers.
[[nodiscard]] StripRuns runs_of(Strips const& strips, std::uint32_t layers) noexcept;

/// How the pages of one class are laid out.
struct StripLayout {
  std::byte* base;
  std::uint64_t page_bytes;
  StripRuns runs;

  /// Whether every strip has room for so many rows.
  [[nodiscard]] bool holds(std::uint64_t rows) const noexcept;
};

/// Rows [first_row, first_row + rows) of a page, all layers and strips.
struct PageCopy {
  std::uint32_t plane;
  std::uint32_t destination;
  std::uint32_t source;
  std::uint32_t first_row;
  std::uint32_t rows;
};

/// Entries of a device page table that follow each other and name pages that do; most tables are such,
/// since pages are taken one after the other. `entry` counts from the first table of the stage.
struct TablePatch {
  std::uint64_t entry;
  std::uint32_t page;
  std::uint32_t count;
};

/// New contents of a sequence's device record.
struct MirrorUpdate {
  std::uint32_t sequence;
  std::uint32_t committed;
  std::uint32_t open;
  std::uint32_t generation;
  std::uint32_t read_slot;
  std::uint32_t first_row;
  std::uint32_t first_column;  // of its write slots, in StepParameters::columns
  std::uint32_t write_count;
};

/// A run of rows of one step that belong to one sequence, in the engine's row order; sequence 0 is
/// padding.
struct RowRun {
  std::uint32_t sequence;
  std::uint32_t rows;
};

/// Parameters of the step kernel on one rank; every pointer is to pinned or device memory.
struct StepParameters {
  StripLayout const* strips;  // [planes]
  PageCopy const* copies;
  TablePatch const* patches;
  MirrorUpdate const* mirrors;
  RowRun const* runs;
  std::uint32_t const* columns;
  std::byte* records;            // device, the sequences' records
  std::uint32_t* tables;         // device, all tables
  std::uint32_t* row_sequences;  // device, one entry a row of the step
  std::uint64_t record_bytes;    // stride of the records
  std::uint32_t copy_count;
  std::uint32_t patch_count;
  std::uint32_t mirror_count;
  std::uint32_t run_count;
  std::uint32_t zero_plane;  // of the page to fill with zeros before anything else
  std::uint32_t zero_page;   // 0: none
};

/// The step kernel: one launch does all the library's own device work of one call.
extern Kernel const kStepKernel;
/// Its device code, in builds with CUDA.
[[nodiscard]] int launch_step(void const* parameters, CudaQueue const& queue) noexcept;

/// How much device work one call can need; sized at creation for the worst case.
struct StepLimits {
  std::uint32_t planes;
  std::uint32_t copies;
  std::uint32_t patches;
  std::uint32_t columns;
  std::uint32_t mirrors;
  std::uint32_t runs;
};

/// Launches whose parameters may be in use at once. A half of the slots is written again when all
/// launches of that half are done, which the host looks at once a half.
inline constexpr std::uint32_t kParameterSlots = 16;
/// One more, for work that is collected and never launched.
inline constexpr std::uint32_t kSpareSlot = kParameterSlots;

/// What the host waits for before it writes a parameter slot again.
enum class SlotWait : std::uint8_t {
  kNothing,  ///< nothing reads it, or what follows in its stream says when that ends
  kEvent,
  kStream,  ///< no event could be recorded
};

/// Where the step kernel finds its device memory on one rank.
struct StepPlaces {
  std::byte* records;
  std::uint32_t* tables;
  std::uint32_t* row_sequences;
  std::uint64_t record_bytes;  // stride of the records
};

/// Collects the device work of one call over some sequences. Never allocates after create.
class StepWork {
 public:
  /// Bytes of pinned memory that `attach` needs.
  [[nodiscard]] static std::uint64_t block_bytes(StepLimits const& limits) noexcept;
  /// Returns false when the host has no memory.
  [[nodiscard]] bool create(StepLimits const& limits, std::uint32_t ranks) noexcept;
  /// Gives a rank its device, and pinned memory that this device can read.
  void attach(std::uint32_t rank,
              Device& device,
              std::byte* block,
              StepPlaces const& places) noexcept;
  void set_strips(std::uint32_t rank, std::uint32_t plane, StripLayout const& layout) noexcept {
    HOLDFAST_ASSERT(plane < limits_.planes);
    HOLDFAST_ASSERT(layout.runs.count != 0);
    HOLDFAST_ASSERT(layout.holds(1));
    parts_[rank].strips[plane] = layout;
  }

  /// Begins to collect the work of one call, once nothing reads that memory any more. Errors:
  /// kDeviceFailed, and nothing has changed.
  [[nodiscard]] Status begin() noexcept {
    HOLDFAST_TRY(wait_for_half());
    HOLDFAST_ASSERT(parts_.size() != 0);
    clear(slot_);
    return {};
  }
  /// Begins to collect what is never launched.
  void discard() noexcept { clear(kSpareSlot); }
  /// Fills a page or slot with zeros; once a call.
  void zero(std::uint32_t plane, std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(zero_page_ == 0);
    HOLDFAST_ASSERT(page != 0);
    HOLDFAST_ASSERT(plane < limits_.planes);
    zero_plane_ = plane;
    zero_page_ = page;
  }
  void copy_rows(PageCopy const& copy) noexcept {
    HOLDFAST_ASSERT(copy_count_ < limits_.copies);
    HOLDFAST_ASSERT(copy.plane < limits_.planes);
    HOLDFAST_ASSERT(copy.destination != 0 && copy.source != 0);
    HOLDFAST_ASSERT(copy.destination != copy.source);
    lists_.copies[copy_count_++] = copy;
  }
  /// `count` entries from `entry` on, an address on rank 0, name `page` and those that follow it.
  void patch(std::uint32_t const* entry, std::uint32_t page, std::uint32_t count = 1) noexcept {
    HOLDFAST_ASSERT(entry >= tables_);
    HOLDFAST_ASSERT(count != 0);
    auto const place = static_cast<std::uint64_t>(entry - tables_);
    if (patch_count_ != 0) {
      TablePatch& last = lists_.patches[patch_count_ - 1];
      if (last.entry + last.count == place && last.page + last.count == page) {
        last.count += count;
        return;
      }
    }
    HOLDFAST_ASSERT(patch_count_ < limits_.patches);
    lists_.patches[patch_count_++] = {.entry = place, .page = page, .count = count};
  }
  /// Starts the record of the next sequence; planes add its write slots, the cache fills the rest.
  void open_mirror() noexcept {
    HOLDFAST_ASSERT(mirror_count_ < limits_.mirrors);
    HOLDFAST_ASSERT(column_count_ <= limits_.columns);
    lists_.mirrors[mirror_count_++] = {.first_column = column_count_};
  }
  /// Adds a write slot of the sequence whose record was started last, in column order.
  void write_slot(std::uint32_t slot) noexcept {
    HOLDFAST_ASSERT(column_count_ < limits_.columns);
    HOLDFAST_ASSERT(slot != 0);
    lists_.columns[column_count_++] = slot;
    ++mirror().write_count;
  }
  /// The record that was started last.
  MirrorUpdate& mirror() noexcept {
    HOLDFAST_ASSERT(mirror_count_ != 0);
    return lists_.mirrors[mirror_count_ - 1];
  }
  /// Adds rows to the step's map from rows to sequences.
  void run(RowRun const& run) noexcept {
    HOLDFAST_ASSERT(run_count_ < limits_.runs);
    lists_.runs[run_count_++] = run;
  }
  [[nodiscard]] std::uint32_t const* row_sequences(std::uint32_t rank) const noexcept {
    return parts_[rank].places.row_sequences;
  }
  /// One launch on every rank. On the first error the other ranks are still told: their mirrors follow
  /// the host, and the caller taints the sequences on all.
  [[nodiscard]] Status launch(Stream stream) noexcept;

 private:
  /// What was collected, as one rank's device reads it.
  struct Lists {
    PageCopy* copies;
    TablePatch* patches;
    MirrorUpdate* mirrors;
    RowRun* runs;
    std::uint32_t* columns;
  };
  /// One rank.
  struct Part {
    Device* device;
    StepPlaces places;
    StripLayout* strips;
    std::array<Lists, kParameterSlots + 1> slots;
    std::array<Event, kParameterSlots> done;  // after the launch in the slot
    std::array<SlotWait, kParameterSlots> waits;
  };

  void clear(std::uint32_t slot) noexcept {
    HOLDFAST_ASSERT(slot <= kSpareSlot);
    lists_ = parts_[0].slots[slot];
    tables_ = parts_[0].places.tables;
    copy_count_ = 0;
    patch_count_ = 0;
    mirror_count_ = 0;
    run_count_ = 0;
    column_count_ = 0;
    zero_page_ = 0;
  }
  [[nodiscard]] StepParameters parameters_of(Part const& part) const noexcept;
  /// Whether what was collected means the same in any order, since device code has none: nothing is written
  /// twice, and nothing is copied that is written. O(n^2).
  [[nodiscard]] bool has_no_order() const noexcept;
  /// Whether every copy lies in its page, and every record has its columns.
  [[nodiscard]] bool is_in_bounds() const noexcept;
  /// Goes on to the next slot.
  void advance(Stream stream) noexcept;
  /// Before the first slot of a half is written: its launches of the last lap are done.
  [[nodiscard]] Status wait_for_half() noexcept;

  base::FixedArray<Part> parts_;  // [ranks]
  StepLimits limits_{};
  std::array<Stream, kParameterSlots> used_{};  // where the launches of these slots went
  std::uint32_t slot_ = 0;                      // of the next launch
  Lists lists_{};                               // of rank 0, that work is collected in
  std::uint32_t const* tables_ = nullptr;       // of rank 0
  std::uint32_t copy_count_ = 0;
  std::uint32_t patch_count_ = 0;
  std::uint32_t mirror_count_ = 0;
  std::uint32_t run_count_ = 0;
  std::uint32_t column_count_ = 0;
  std::uint32_t zero_plane_ = 0;
  std::uint32_t zero_page_ = 0;
};

}  // namespace holdfast::internal::storage
