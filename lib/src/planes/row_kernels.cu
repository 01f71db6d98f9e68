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

/// What one launch writes: strips of one format.
struct GroupOfRows {
  WriteRowsParameters rows;
  StripGroup group;

  [[nodiscard]] __host__ __device__ Strip const& strip() const noexcept {
    return rows.view.strips[group.first];
  }
};

/// Calls `run(group)` for the groups of strips of these rows, until one answers an error.
template <typename Run>
int for_each_group(WriteRowsParameters const& rows, Run run) noexcept {
  int answer = cudaSuccess;
  for (std::uint32_t first = 0; first < rows.view.strips.count && answer == cudaSuccess;) {
    GroupOfRows const group{rows, StripGroup{rows.view.strips, first}};
    answer = run(group);
    first += group.group.count;
  }
  return answer;
}

/// Rows that a block of Share takes at a time.
[[nodiscard]] std::uint32_t rows_of_block(std::uint32_t units) noexcept {
  return units < kBlockThreads ? kBlockThreads / units : 1;
}

template <Format kFormat, bool kWide, std::uint32_t kPieces>
__global__ void __launch_bounds__(kBlockThreads)
    write_rows(__grid_constant__ Arguments<GroupOfRows> const arguments) {
  run_rows<kFormat, kWide, kPieces>(arguments.parameters.rows,
                                    arguments.parameters.group,
                                    {blockIdx.x, gridDim.x},
                                    arguments.bugs);
}

[[nodiscard]] bool is_aligned(std::uint64_t value) noexcept {
  return value % 16 == 0;
}
[[nodiscard]] bool is_aligned(void const* place) noexcept {
  return is_aligned(reinterpret_cast<std::uintptr_t>(place));
}
/// Whether every row begins where 16 bytes can be stored.
[[nodiscard]] bool has_wide_rows(RowsView const& view) noexcept {
  bool wide = is_aligned(view.pages) && is_aligned(view.page_bytes) &&
              is_aligned(view.layer_offset) && is_aligned(view.strips.layer_bytes);
  for (Strip const& strip : view.strips) {
    wide = wide && is_aligned(strip.offset) && is_aligned(strip.row_bytes) &&
           strip.elements % 4 == 0;  // in the source
  }
  return wide;
}

[[nodiscard]] bool is_wide(WriteRowsParameters const& parameters) noexcept {
  return has_wide_rows(parameters.view) && is_aligned(parameters.source);
}

/// Blocks that write these rows, with `at_once` pieces in each thread.
[[nodiscard]] std::uint32_t blocks_of(GroupOfRows const& known,
                                      std::uint32_t at_once,
                                      std::uint32_t multiprocessors) noexcept {
  Strip const& strip = known.strip();
  std::uint32_t const units =
      known.group.count * strip.elements / elements_of_piece(strip.format, is_wide(known.rows));
  std::uint64_t const rows = std::uint64_t{known.rows.layers} * known.rows.count;
  std::uint32_t const chunk = rows_of_chunk(units, at_once);
  return device::blocks_for((rows + chunk - 1) / chunk, multiprocessors);
}

/// Pieces that a thread has under way: those of blocks are large.
template <Format kFormat>
inline constexpr std::uint32_t kPiecesAtOnce = trait_of(kFormat).block_elements == 1 ? kAtOnce : 1;

/// Few rows are spread over as many threads as there are pieces; of many each thread takes some at once.
template <Format kFormat, bool kWide>
int launch_rows(GroupOfRows const& known, CudaQueue const& queue) noexcept {
  constexpr std::uint32_t kMany = kPiecesAtOnce<kFormat>;
  Arguments<GroupOfRows> arguments{known};
  device::Shape shape{.blocks = blocks_of(known, kMany, queue.multiprocessors),
                      .stream = queue.stream};
  if (shape.blocks >= queue.multiprocessors || kMany == 1) {
    return device::launch_blocks(write_rows<kFormat, kWide, kMany>, arguments, shape);
  }
  shape.blocks = blocks_of(known, 1, queue.multiprocessors);
  return device::launch_blocks(write_rows<kFormat, kWide, 1>, arguments, shape);
}

template <Format kFormat>
int launch_rows(GroupOfRows const& known, CudaQueue const& queue) noexcept {
  return is_wide(known.rows) ? launch_rows<kFormat, true>(known, queue)
                             : launch_rows<kFormat, false>(known, queue);
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

/// A list, and the block behind the last one of each part: rows group by group, then indexers. A thread
/// has one piece of a row: lists are of few rows, and it is their latency that counts.
struct ListArguments {
  static constexpr std::uint32_t kMostGroups = WriteListParameters::kMost * kLargestStripCount;
  struct Group {
    std::uint32_t rows;   // in the list
    std::uint32_t strip;  // that it begins with
  };

  std::uint32_t ends[kMostGroups + WriteListParameters::kMost];
  bool wide[kMostGroups + WriteListParameters::kMost];
  Group groups[kMostGroups];
  std::uint32_t group_count;
  device::Bugs bugs;
  WriteListParameters list;
};

template <bool kWide>
__device__ void run_rows_of_any(WriteRowsParameters const& parameters,
                                StripGroup const& group,
                                Blocks const& blocks,
                                device::Bugs bugs) noexcept {
  switch (parameters.view.strips[group.first].format) {
#define HOLDFAST_FORMAT_RUN(format, ...)                                 \
  case Format::format:                                                   \
    run_rows<Format::format, kWide, 1>(parameters, group, blocks, bugs); \
    break;
    HOLDFAST_FORMATS(HOLDFAST_FORMAT_RUN)
#undef HOLDFAST_FORMAT_RUN
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
  if (part < arguments.group_count) {
    WriteRowsParameters const& rows = list.rows[arguments.groups[part].rows];
    StripGroup const group{rows.view.strips, arguments.groups[part].strip};
    is_wide ? run_rows_of_any<true>(rows, group, blocks, arguments.bugs)
            : run_rows_of_any<false>(rows, group, blocks, arguments.bugs);
  } else {
    WriteIndexerParameters const& indexer = list.indexers[part - arguments.group_count];
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
  return for_each_group(parameters, [&](GroupOfRows const& group) -> int {
    switch (group.strip().format) {
#define HOLDFAST_FORMAT_LAUNCH(format, ...) \
  case Format::format:                      \
    return launch_rows<Format::format>(group, queue);
      HOLDFAST_FORMATS(HOLDFAST_FORMAT_LAUNCH)
#undef HOLDFAST_FORMAT_LAUNCH
    }
    return cudaErrorInvalidValue;
  });
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
  ListArguments arguments{.group_count = 0,
                          .bugs = device::row_bugs(),
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
    for_each_group(list.rows[i], [&](GroupOfRows const& group) -> int {
      arguments.groups[part] = {.rows = i, .strip = group.group.first};
      add(blocks_of(group, 1, queue.multiprocessors), is_wide(group.rows));
      return cudaSuccess;
    });
  }
  arguments.group_count = part;
  for (std::uint32_t i = 0; i < list.indexer_count; ++i) {
    add(blocks_of(list.indexers[i], queue.multiprocessors), is_wide(list.indexers[i]));
  }
  return device::launch_blocks(write_list, arguments, {.blocks = blocks, .stream = queue.stream});
}

}  // namespace holdfast::internal::planes
