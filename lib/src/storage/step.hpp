// SPDX-License-Identifier: Apache-2.0
// The device half of a begin, finish, rollback, fork or truncate: collected on the host in a pinned
// block, then done by one launch. Row copies come first, then table entries, then the sequence
// record.
#pragma once

#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/device.hpp>
#include <span>

#include "base/contract.hpp"

namespace holdfast::internal::storage {

/// How a page of one class is laid out: `strips` contiguous pieces of page_rows * row_bytes.
struct StripLayout {
  std::byte* base;
  std::uint64_t page_bytes;
  std::uint64_t strip_bytes;
  std::uint32_t strips;
  std::uint32_t row_bytes;
};

/// Rows [first_row, first_row + rows) of a page, all layers and parts.
struct PageCopy {
  std::uint32_t plane;
  std::uint32_t destination;
  std::uint32_t source;
  std::uint32_t first_row;
  std::uint32_t rows;
};

/// One entry of a device page table.
struct TablePatch {
  std::uint32_t* entry;
  std::uint32_t page;
};

/// New contents of a sequence's device record.
struct MirrorUpdate {
  SequenceMirror* mirror;
  std::uint32_t committed;
  std::uint32_t open;
  std::uint32_t generation;
  std::uint32_t read_slot;
  std::uint32_t const* write_slots;
  std::uint32_t write_count;
};

/// A run of rows of one step that belong to one sequence, in the engine's row order; sequence 0 is
/// padding.
struct RowRun {
  std::uint32_t sequence;
  std::uint32_t rows;
};

/// Parameters of the step kernel; every pointer is to pinned or device memory.
struct StepParameters {
  StripLayout const* strips;  // [planes]
  PageCopy const* copies;
  TablePatch const* patches;
  MirrorUpdate const* mirrors;
  RowRun const* runs;
  std::uint32_t* row_sequences;  // device, one entry a row of the step
  std::uint32_t copy_count;
  std::uint32_t patch_count;
  std::uint32_t mirror_count;
  std::uint32_t run_count;
  std::byte* zero;  // device memory to fill with zeros before anything else; nullptr for none
  std::uint64_t zero_bytes;
};

/// The step kernel: one launch does all the library's own device work of one call.
extern Kernel const kStepKernel;

/// How much device work one call can need; sized at creation for the worst case.
struct StepLimits {
  std::uint32_t planes;
  std::uint32_t copies;
  std::uint32_t patches;
  std::uint32_t columns;
  std::uint32_t mirrors;
  std::uint32_t runs;
};

/// Collects the device work of one call over some sequences. Never allocates after attach.
class StepWork {
 public:
  /// Bytes of pinned memory that `attach` needs.
  [[nodiscard]] static std::uint64_t block_bytes(StepLimits const& limits) noexcept;
  /// `row_sequences` is device memory, one entry a row of the longest step.
  void attach(std::byte* block, StepLimits const& limits, std::uint32_t* row_sequences) noexcept;
  void set_strips(std::uint32_t plane, StripLayout const& layout) noexcept {
    strips_[plane] = layout;
  }

  void clear() noexcept {
    parameters_.copy_count = 0;
    parameters_.patch_count = 0;
    parameters_.mirror_count = 0;
    parameters_.run_count = 0;
    parameters_.zero = nullptr;
    parameters_.zero_bytes = 0;
    columns_used_ = 0;
  }
  /// Fills device memory with zeros; once a call.
  void zero(std::byte* base, std::uint64_t bytes) noexcept {
    HOLDFAST_ASSERT(parameters_.zero == nullptr);
    parameters_.zero = base;
    parameters_.zero_bytes = bytes;
  }
  void copy_rows(PageCopy const& copy) noexcept {
    HOLDFAST_ASSERT(parameters_.copy_count < limits_.copies);
    copies_[parameters_.copy_count++] = copy;
  }
  void patch(std::uint32_t* entry, std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(parameters_.patch_count < limits_.patches);
    patches_[parameters_.patch_count++] = {entry, page};
  }
  /// Starts the record of the next sequence; planes add its write slots, the cache fills the rest.
  void open_mirror() noexcept {
    HOLDFAST_ASSERT(parameters_.mirror_count < limits_.mirrors);
    mirrors_[parameters_.mirror_count++] = {.write_slots = columns_ + columns_used_};
  }
  /// Adds a write slot of the sequence whose record was started last, in column order.
  void write_slot(std::uint32_t slot) noexcept {
    HOLDFAST_ASSERT(columns_used_ < limits_.columns && parameters_.mirror_count != 0);
    columns_[columns_used_++] = slot;
    ++mirror().write_count;
  }
  /// The record that was started last.
  MirrorUpdate& mirror() noexcept {
    HOLDFAST_ASSERT(parameters_.mirror_count != 0);
    return mirrors_[parameters_.mirror_count - 1];
  }
  /// Adds rows to the step's map from rows to sequences.
  void run(RowRun const& run) noexcept {
    HOLDFAST_ASSERT(parameters_.run_count < limits_.runs);
    runs_[parameters_.run_count++] = run;
  }
  [[nodiscard]] std::uint32_t const* row_sequences() const noexcept {
    return parameters_.row_sequences;
  }
  [[nodiscard]] Status launch(Device& device, Stream stream) noexcept {
    return device.launch(kStepKernel, &parameters_, stream);
  }

 private:
  StepParameters parameters_{};
  StepLimits limits_{};
  StripLayout* strips_ = nullptr;
  PageCopy* copies_ = nullptr;
  TablePatch* patches_ = nullptr;
  MirrorUpdate* mirrors_ = nullptr;
  RowRun* runs_ = nullptr;
  std::uint32_t* columns_ = nullptr;
  std::uint32_t columns_used_ = 0;
};

}  // namespace holdfast::internal::storage
