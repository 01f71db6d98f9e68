// SPDX-License-Identifier: Apache-2.0
// Launches of the row kernels, one by one and as lists.
#include "planes/row_kernels.cuh"

namespace holdfast::internal::planes {
namespace {

/// The parameters, and what is wrong with the code.
template <typename Parameters>
struct Arguments {
  Parameters parameters;
  device::Bugs bugs = device::row_bugs();
};

/// Rows that a block of Share takes at a time.
[[nodiscard]] std::uint32_t rows_of_block(std::uint32_t units) noexcept {
  return units < kBlockThreads ? kBlockThreads / units : 1;
}

template <Format kFormat, bool kWide, std::uint32_t kPieces>
__global__ void __launch_bounds__(kBlockThreads)
    write_rows(__grid_constant__ Arguments<WriteRowsParameters> const arguments) {
  run_rows<kFormat, kWide, kPieces>(arguments.parameters, {blockIdx.x, gridDim.x}, arguments.bugs);
}

[[nodiscard]] bool is_aligned(std::uint64_t value) noexcept {
  return value % 16 == 0;
}
[[nodiscard]] bool is_aligned(void const* place) noexcept {
  return is_aligned(reinterpret_cast<std::uintptr_t>(place));
}
/// Whether every row begins where 16 bytes can be stored.
[[nodiscard]] bool has_wide_rows(RowsView const& view) noexcept {
  return is_aligned(view.pages) && is_aligned(view.page_bytes) && is_aligned(view.layer_offset) &&
         is_aligned(view.part_stride) && is_aligned(view.row_bytes);
}

[[nodiscard]] bool is_wide(WriteRowsParameters const& parameters) noexcept {
  return has_wide_rows(parameters.view) && is_aligned(parameters.source);
}

/// Blocks that write these rows, with `at_once` pieces in each thread.
[[nodiscard]] std::uint32_t blocks_of(WriteRowsParameters const& parameters,
                                      std::uint32_t at_once,
                                      std::uint32_t multiprocessors) noexcept {
  std::uint32_t const elements = !is_wide(parameters)                     ? 1
                                 : parameters.view.format == Format::kF32 ? 4
                                                                          : 8;
  std::uint32_t const units =
      parameters.view.parts * parameters.view.row_bytes /
      static_cast<std::uint32_t>(stored_bytes(parameters.view.format, elements));
  std::uint64_t const rows = std::uint64_t{parameters.layers} * parameters.count;
  std::uint32_t const chunk = rows_of_chunk(units, at_once);
  return device::blocks_for((rows + chunk - 1) / chunk, multiprocessors);
}

/// Few rows are spread over as many threads as there are pieces; of many each thread takes some at once.
template <Format kFormat, bool kWide>
int launch_rows(WriteRowsParameters const& parameters, CudaQueue const& queue) noexcept {
  Arguments<WriteRowsParameters> arguments{parameters};
  device::Shape shape{.blocks = blocks_of(parameters, kAtOnce, queue.multiprocessors),
                      .stream = queue.stream};
  if (shape.blocks >= queue.multiprocessors) {
    return device::launch_blocks(write_rows<kFormat, kWide, kAtOnce>, arguments, shape);
  }
  shape.blocks = blocks_of(parameters, 1, queue.multiprocessors);
  return device::launch_blocks(write_rows<kFormat, kWide, 1>, arguments, shape);
}

template <Format kFormat>
int launch_rows(WriteRowsParameters const& parameters, CudaQueue const& queue) noexcept {
  return is_wide(parameters) ? launch_rows<kFormat, true>(parameters, queue)
                             : launch_rows<kFormat, false>(parameters, queue);
}

template <bool kWide>
__global__ void __launch_bounds__(kBlockThreads)
    write_indexer(__grid_constant__ Arguments<WriteIndexerParameters> const arguments) {
  run_indexer<kWide>(arguments.parameters, {blockIdx.x, gridDim.x}, arguments.bugs);
}

[[nodiscard]] bool is_wide(WriteIndexerParameters const& parameters) noexcept {
  return has_wide_rows(parameters.ring) && has_wide_rows(parameters.keys) &&
         is_aligned(parameters.source);
}

/// Blocks that write these rows and keys.
[[nodiscard]] std::uint32_t blocks_of(WriteIndexerParameters const& parameters,
                                      std::uint32_t multiprocessors) noexcept {
  std::uint64_t const pools =  // at most
      std::uint64_t{parameters.layers} * (parameters.count / parameters.pool + 2);
  std::uint32_t const lanes = is_wide(parameters) ? Lanes<true>::kCount : Lanes<false>::kCount;
  std::uint32_t const rows = rows_of_block(parameters.key_width / lanes);
  return device::blocks_for((pools + rows - 1) / rows, multiprocessors);
}

/// A list, and the block behind the last one of each part. A thread has one piece of a row: lists are of
/// few rows, and it is their latency that counts.
struct ListArguments {
  std::uint32_t ends[2 * WriteListParameters::kMost];
  bool wide[2 * WriteListParameters::kMost];
  device::Bugs bugs;
  WriteListParameters list;
};

template <bool kWide>
__device__ void run_rows_of_any(WriteRowsParameters const& parameters,
                                Blocks const& blocks,
                                device::Bugs bugs) noexcept {
  switch (parameters.view.format) {
    case Format::kF32:
      run_rows<Format::kF32, kWide, 1>(parameters, blocks, bugs);
      break;
    case Format::kF16:
      run_rows<Format::kF16, kWide, 1>(parameters, blocks, bugs);
      break;
    case Format::kBf16:
      run_rows<Format::kBf16, kWide, 1>(parameters, blocks, bugs);
      break;
  }
}

/// Each part has blocks of its own: parts run beside each other.
__global__ void __launch_bounds__(kBlockThreads)
    write_list(__grid_constant__ ListArguments const arguments) {
  WriteListParameters const& list = arguments.list;
  std::uint32_t part = 0;
  std::uint32_t first = 0;
  while (blockIdx.x >= arguments.ends[part]) {
    first = arguments.ends[part++];
  }
  Blocks const blocks{blockIdx.x - first, arguments.ends[part] - first};
  bool const is_wide = arguments.wide[part];
  if (part < list.row_count) {
    WriteRowsParameters const& rows = list.rows[part];
    is_wide ? run_rows_of_any<true>(rows, blocks, arguments.bugs)
            : run_rows_of_any<false>(rows, blocks, arguments.bugs);
  } else {
    WriteIndexerParameters const& indexer = list.indexers[part - list.row_count];
    is_wide ? run_indexer<true>(indexer, blocks, arguments.bugs)
            : run_indexer<false>(indexer, blocks, arguments.bugs);
  }
}

}  // namespace

int launch_write_rows(void const* raw, CudaQueue const& queue) noexcept {
  auto const& parameters = *static_cast<WriteRowsParameters const*>(raw);
  if (parameters.count == 0) {
    return cudaSuccess;
  }
  switch (parameters.view.format) {
    case Format::kF32:
      return launch_rows<Format::kF32>(parameters, queue);
    case Format::kF16:
      return launch_rows<Format::kF16>(parameters, queue);
    case Format::kBf16:
      return launch_rows<Format::kBf16>(parameters, queue);
  }
  return cudaErrorInvalidValue;
}

int launch_write_indexer(void const* raw, CudaQueue const& queue) noexcept {
  auto const& parameters = *static_cast<WriteIndexerParameters const*>(raw);
  if (parameters.count == 0) {
    return cudaSuccess;
  }
  Arguments<WriteIndexerParameters> arguments{parameters};
  device::Shape const shape{.blocks = blocks_of(parameters, queue.multiprocessors),
                            .stream = queue.stream};
  return is_wide(parameters) ? device::launch_blocks(write_indexer<true>, arguments, shape)
                             : device::launch_blocks(write_indexer<false>, arguments, shape);
}

int launch_write_list(void const* raw, CudaQueue const& queue) noexcept {
  ListArguments arguments{.bugs = device::row_bugs(),
                          .list = *static_cast<WriteListParameters const*>(raw)};
  WriteListParameters const& list = arguments.list;
  std::uint32_t blocks = 0;
  std::uint32_t part = 0;
  auto const add = [&](std::uint32_t own, bool wide) {
    blocks += own;
    arguments.ends[part] = blocks;
    arguments.wide[part++] = wide;
  };
  for (std::uint32_t i = 0; i < list.row_count; ++i) {
    add(blocks_of(list.rows[i], 1, queue.multiprocessors), is_wide(list.rows[i]));
  }
  for (std::uint32_t i = 0; i < list.indexer_count; ++i) {
    add(blocks_of(list.indexers[i], queue.multiprocessors), is_wide(list.indexers[i]));
  }
  return device::launch_blocks(write_list, arguments, {.blocks = blocks, .stream = queue.stream});
}

}  // namespace holdfast::internal::planes
