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

/// Parameters of the step kernel; every pointer is to pinned or device memory.
struct StepParameters {
  StripLayout const* strips;  // [planes]
  PageCopy const* copies;
  TablePatch const* patches;
  MirrorUpdate mirror;
  std::uint32_t copy_count;
  std::uint32_t patch_count;
  std::byte* zero;  // device memory to fill with zeros before anything else; nullptr for none
  std::uint64_t zero_bytes;
};

/// The step kernel: one launch does all the library's own device work of one call.
extern Kernel const kStepKernel;

/// Collects the device work of one call. Fixed capacity, sized at creation for the worst case.
class Step {
 public:
  /// Bytes of pinned memory that `attach` needs.
  [[nodiscard]] static std::uint64_t block_bytes(std::uint32_t planes,
                                                 std::uint32_t copies,
                                                 std::uint32_t patches,
                                                 std::uint32_t columns) noexcept;
  void attach(std::byte* block,
              std::uint32_t planes,
              std::uint32_t copies,
              std::uint32_t patches,
              std::uint32_t columns) noexcept;
  void set_strips(std::uint32_t plane, StripLayout const& layout) noexcept {
    strips_[plane] = layout;
  }

  void clear() noexcept {
    parameters_.copy_count = 0;
    parameters_.patch_count = 0;
    parameters_.mirror.write_count = 0;
    parameters_.zero = nullptr;
    parameters_.zero_bytes = 0;
  }
  /// Fills device memory with zeros; once a step.
  void zero(std::byte* base, std::uint64_t bytes) noexcept {
    HOLDFAST_ASSERT(parameters_.zero == nullptr);
    parameters_.zero = base;
    parameters_.zero_bytes = bytes;
  }
  void copy_rows(PageCopy const& copy) noexcept {
    HOLDFAST_ASSERT(parameters_.copy_count < copy_limit_);
    copies_[parameters_.copy_count++] = copy;
  }
  void patch(std::uint32_t* entry, std::uint32_t page) noexcept {
    HOLDFAST_ASSERT(parameters_.patch_count < patch_limit_);
    patches_[parameters_.patch_count++] = {entry, page};
  }
  /// Adds a write slot of the open handle, in column order.
  void write_slot(std::uint32_t slot) noexcept {
    HOLDFAST_ASSERT(parameters_.mirror.write_count < column_limit_);
    columns_[parameters_.mirror.write_count++] = slot;
  }
  /// The sequence record of this call; write slots are kept.
  MirrorUpdate& mirror() noexcept { return parameters_.mirror; }
  [[nodiscard]] Status launch(Device& device, Stream stream) noexcept {
    return device.launch(kStepKernel, &parameters_, stream);
  }

 private:
  StepParameters parameters_{};
  StripLayout* strips_ = nullptr;
  PageCopy* copies_ = nullptr;
  TablePatch* patches_ = nullptr;
  std::uint32_t* columns_ = nullptr;
  std::uint32_t copy_limit_ = 0;
  std::uint32_t patch_limit_ = 0;
  std::uint32_t column_limit_ = 0;
};

}  // namespace holdfast::internal::storage
