// SPDX-License-Identifier: Apache-2.0
// The row kernels that an engine's writes go through: append-only rows, indexer rows with their keys, and
// lists of both.
#pragma once

#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>
#include <holdfast/device.hpp>

namespace holdfast::internal::planes {

/// Writes open rows [first, first + count) of one sequence, or with `row_sequences` all rows of a step,
/// in `layers` layers of a class. Everything but `source` is at a fixed address.
struct WriteRowsParameters {
  RowsView view;        // of the first layer; of a step that of sequence 0
  float const* source;  // [layers, count, elements of a row], device memory
  std::uint32_t first;  // open row, 0-based; 0 for a step
  std::uint32_t count;
  std::uint32_t layers = 1;
  std::uint32_t const* row_sequences = nullptr;  // device [count], 0 for padding
};

/// Writes open indexer rows into the ring and builds every pool key whose rows are then all
/// written. A key is built as soon as its last row is there, before a longer append laps it. With
/// `row_sequences` these are all rows of a step, and `first`, `written` and `first_key` follow from the
/// sequences' records.
struct WriteIndexerParameters {
  RowsView ring;
  RowsView keys;
  float const* source;  // [layers, count, index_width], device memory; nullptr: the rows are there
  std::uint32_t first;  // open row, 0-based
  std::uint32_t count;
  std::uint32_t written;  // open rows [0, written) are there once these are
  std::uint32_t pool;
  std::uint32_t key_width;
  std::uint32_t first_key;  // keys below are final
  std::uint32_t layers = 1;
  std::uint32_t const* row_sequences = nullptr;  // device [count], 0 for padding
};

/// The view of the same rows in a later layer of the class.
[[nodiscard]] constexpr RowsView layer_view(RowsView view, std::uint32_t layers) noexcept {
  view.layer_offset += layers * view.strips.layer_bytes;
  return view;
}
/// The view of the same layer in another sequence, by the difference of indices from the view's own.
[[nodiscard]] inline RowsView sequence_view(RowsView view, std::uint32_t sequence) noexcept {
  view.table += std::uint64_t{sequence} * view.table_entries;
  view.sequence = reinterpret_cast<SequenceMirror const*>(
      reinterpret_cast<std::byte const*>(view.sequence) + sequence * view.record_bytes);
  return view;
}

/// Both at once, of one step: no two write the same rows.
struct WriteListParameters {
  static constexpr std::uint32_t kMost = 4;
  std::uint32_t row_count = 0;
  std::uint32_t indexer_count = 0;
  WriteRowsParameters rows[kMost];
  WriteIndexerParameters indexers[kMost];
};

extern Kernel const kWriteRowsKernel;
extern Kernel const kWriteIndexerKernel;
extern Kernel const kWriteListKernel;
/// Their device code, in builds with CUDA.
[[nodiscard]] int launch_write_rows(void const* parameters, CudaQueue const& queue) noexcept;
[[nodiscard]] int launch_write_indexer(void const* parameters, CudaQueue const& queue) noexcept;
[[nodiscard]] int launch_write_list(void const* parameters, CudaQueue const& queue) noexcept;

}  // namespace holdfast::internal::planes
