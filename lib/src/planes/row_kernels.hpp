// SPDX-License-Identifier: Apache-2.0
// The row kernels that an engine's writes go through: append-only rows, and indexer rows with their
// keys.
#pragma once

#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/cuda.hpp>
#include <holdfast/device.hpp>

namespace holdfast::internal::planes {

/// Writes open rows [first, first + count) of one layer. Everything but `source` is at a fixed
/// address.
struct WriteRowsParameters {
  RowsView view;
  float const* source;  // [count, parts, elements of a part], device memory
  std::uint32_t first;  // open row, 0-based
  std::uint32_t count;
};

/// Writes open indexer rows into the ring and builds every pool key whose rows are then all
/// written. A key is built as soon as its last row is there, before a longer append laps it.
struct WriteIndexerParameters {
  RowsView ring;
  RowsView keys;
  float const* source;  // [count, index_width], device memory; nullptr: the rows are there already
  std::uint32_t first;  // open row, 0-based
  std::uint32_t count;
  std::uint32_t written;  // open rows [0, written) are there once these are
  std::uint32_t pool;
  std::uint32_t key_width;
  std::uint32_t first_key;  // keys below are final
};

extern Kernel const kWriteRowsKernel;
extern Kernel const kWriteIndexerKernel;
/// Their device code, in builds with CUDA.
[[nodiscard]] int launch_write_rows(void const* parameters, CudaQueue const& queue) noexcept;
[[nodiscard]] int launch_write_indexer(void const* parameters, CudaQueue const& queue) noexcept;

}  // namespace holdfast::internal::planes
