// SPDX-License-Identifier: Apache-2.0
// The step kernel's device code. What a few sequences need travels as the kernel's own parameters; what
// is larger is read from the pinned block, at once into shared memory where it fits. Pieces, table
// entries and records of one launch never overlap, so that their order does not matter.
#include <algorithm>
#include <cstring>

#include "device/cuda_blocks.cuh"
#include "device/cuda_bugs.cuh"
#include "device/cuda_relaunch.hpp"
#include "storage/step.hpp"

namespace holdfast::internal::storage {
namespace {

using device::kBlockThreads;
using device::kTaskBytes;
using device::kWarp;
using device::tasks_of;

/// A run of strips of a page copy, with its addresses.
struct Piece {
  std::byte* to;
  std::byte const* from;
  std::uint64_t stride;  // between strips
  std::uint64_t bytes;   // of a strip
  std::uint32_t strips;
};

/// What is there to do, lists apart.
struct Head {
  std::byte* cleared;
  std::uint64_t cleared_bytes;
  std::byte* records;
  std::uint32_t* tables;
  std::uint32_t* row_sequences;
  std::uint64_t record_bytes;
  std::uint32_t copies;  // in packed lists pieces
  std::uint32_t patches;
  std::uint32_t mirrors;
  std::uint32_t runs;
  std::uint32_t columns;
  device::Bugs bugs;
};

[[nodiscard]] __host__ __device__ Piece piece_of(StripLayout const& layout,
                                                 PageCopy const& copy,
                                                 std::uint32_t run_index) noexcept {
  StripRun const& run = layout.runs.list[run_index];
  std::uint64_t const offset = run.offset + std::uint64_t{copy.first_row} * run.row_bytes;
  return {.to = layout.base + copy.destination * layout.page_bytes + offset,
          .from = layout.base + copy.source * layout.page_bytes + offset,
          .stride = run.stride,
          .bytes = std::uint64_t{copy.rows} * run.row_bytes,
          .strips = run.strips};
}

/// Lists that lie one after the other.
class PackedLists {
 public:
  __device__ PackedLists(std::byte const* base, Head const& head) noexcept
      : pieces_{reinterpret_cast<Piece const*>(base)},
        patches_{reinterpret_cast<TablePatch const*>(pieces_ + head.copies)},
        runs_{reinterpret_cast<RowRun const*>(patches_ + head.patches)},
        mirrors_{reinterpret_cast<MirrorUpdate const*>(runs_ + head.runs)},
        columns_{reinterpret_cast<std::uint32_t const*>(mirrors_ + head.mirrors)} {}
  [[nodiscard]] __device__ std::uint32_t pieces(std::uint32_t /*copy*/) const noexcept { return 1; }
  [[nodiscard]] __device__ Piece piece(std::uint32_t copy, std::uint32_t /*i*/) const noexcept {
    return pieces_[copy];
  }
  [[nodiscard]] __device__ TablePatch patch(std::uint32_t i) const noexcept { return patches_[i]; }
  [[nodiscard]] __device__ RowRun run(std::uint32_t i) const noexcept { return runs_[i]; }
  [[nodiscard]] __device__ MirrorUpdate const& mirror(std::uint32_t i) const noexcept {
    return mirrors_[i];
  }
  [[nodiscard]] __device__ std::uint32_t column(std::uint32_t i) const noexcept {
    return columns_[i];
  }

 private:
  Piece const* pieces_;
  TablePatch const* patches_;
  RowRun const* runs_;
  MirrorUpdate const* mirrors_;
  std::uint32_t const* columns_;
};

/// Lists where the host collected them.
class PinnedLists {
 public:
  __device__ explicit PinnedLists(StepParameters const& parameters) noexcept
      : parameters_{parameters} {}
  [[nodiscard]] __device__ std::uint32_t pieces(std::uint32_t copy) const noexcept {
    return parameters_.strips[parameters_.copies[copy].plane].runs.count;
  }
  [[nodiscard]] __device__ Piece piece(std::uint32_t copy, std::uint32_t i) const noexcept {
    PageCopy const known = parameters_.copies[copy];
    return piece_of(parameters_.strips[known.plane], known, i);
  }
  [[nodiscard]] __device__ TablePatch patch(std::uint32_t i) const noexcept {
    return parameters_.patches[i];
  }
  [[nodiscard]] __device__ RowRun run(std::uint32_t i) const noexcept {
    return parameters_.runs[i];
  }
  [[nodiscard]] __device__ MirrorUpdate const& mirror(std::uint32_t i) const noexcept {
    return parameters_.mirrors[i];
  }
  [[nodiscard]] __device__ std::uint32_t column(std::uint32_t i) const noexcept {
    return parameters_.columns[i];
  }

 private:
  StepParameters const& parameters_;
};

template <typename Lists>
__device__ void move_pages(Head const& head, Lists const& lists) noexcept {
  if (head.bugs.has(device::Bug::kWildWrite) && head.copies != 0) {
    *reinterpret_cast<std::uint32_t volatile*>(std::uintptr_t{64}) = 1;
  }
  device::OwnTasks own;
  own.of_next(tasks_of(head.cleared_bytes), [&](std::uint32_t task) {
    std::uint64_t const at = std::uint64_t{task} * kTaskBytes;
    std::uint64_t const left = head.cleared_bytes - at;
    device::clear_piece(head.cleared + at,
                        static_cast<std::uint32_t>(left < kTaskBytes ? left : kTaskBytes));
  });
  auto const move = [&](Piece const& piece) {
    std::uint32_t const tasks = tasks_of(piece.bytes);
    own.of_next(tasks * piece.strips, [&](std::uint32_t task) {
      std::uint32_t const strip = piece.strips == 1 ? 0 : task / tasks;
      std::uint64_t const at = std::uint64_t{task - strip * tasks} * kTaskBytes;
      std::uint64_t const offset = strip * piece.stride + at;
      std::uint64_t const left = piece.bytes - at;
      device::copy_piece(piece.to + offset,
                         piece.from + offset,
                         static_cast<std::uint32_t>(left < kTaskBytes ? left : kTaskBytes),
                         !head.bugs.has(device::Bug::kTailLost));
    });
  };
  for (std::uint32_t copy = 0; copy < head.copies; ++copy) {
    for (std::uint32_t i = 0; i < lists.pieces(copy); ++i) {
      move(lists.piece(copy, i));
    }
  }
}

template <typename Lists>
__device__ void update_tables(Head const& head, Lists const& lists) noexcept {
  std::uint32_t const warp = (blockIdx.x * kBlockThreads + threadIdx.x) / kWarp;
  std::uint32_t const lane = threadIdx.x % kWarp;
  for (std::uint32_t i = warp; i < head.patches; i += gridDim.x * (kBlockThreads / kWarp)) {
    TablePatch const patch = lists.patch(i);
    bool const loses_last = head.bugs.has(device::Bug::kEntryStale) && i + 1 == head.patches;
    std::uint32_t const count = loses_last ? patch.count - 1 : patch.count;
    for (std::uint32_t at = lane; at < count; at += kWarp) {
      head.tables[patch.entry + at] = patch.page + at;
    }
  }
}

template <typename Lists>
__device__ void update_records(Head const& head, Lists const& lists) noexcept {
  std::uint32_t const thread = blockIdx.x * kBlockThreads + threadIdx.x;
  std::uint32_t const threads = gridDim.x * kBlockThreads;
  if (head.bugs.has(device::Bug::kBelowArena) && thread == 0) {
    reinterpret_cast<std::uint32_t*>(head.records)[-1] = 1;
  }
  for (std::uint32_t i = thread; i < head.mirrors; i += threads) {
    MirrorUpdate const& update = lists.mirror(i);
    auto& record =
        *reinterpret_cast<SequenceMirror*>(head.records + update.sequence * head.record_bytes);
    if (!head.bugs.has(device::Bug::kLengthStale)) {
      record.committed = update.committed;
    }
    record.open = update.open;
    record.generation = update.generation;
    record.first_row = update.first_row;
    if (head.bugs.has(device::Bug::kSlotStale)) {
      continue;
    }
    record.read_slot = update.read_slot;
    for (std::uint32_t column = 0; column < update.write_count; ++column) {
      record.write_slot[column] = lists.column(update.first_column + column);
    }
  }
}

/// One block: the sequence of every row, a warp for a run.
template <typename Lists>
__device__ void map_rows(Head const& head, Lists const& lists) noexcept {
  __shared__ std::uint32_t ends[kBlockThreads];
  std::uint32_t base = 0;
  for (std::uint32_t chunk = 0; chunk < head.runs; chunk += kBlockThreads) {
    std::uint32_t const count = min(head.runs - chunk, kBlockThreads);
    std::uint32_t const mapped = head.bugs.has(device::Bug::kLastRunLost) ? count - 1 : count;
    ends[threadIdx.x] = threadIdx.x < count ? lists.run(chunk + threadIdx.x).rows : 0;
    __syncthreads();
    for (std::uint32_t step = 1; step < kBlockThreads; step *= 2) {
      std::uint32_t const below = threadIdx.x < step ? 0 : ends[threadIdx.x - step];
      __syncthreads();
      ends[threadIdx.x] += below;
      __syncthreads();
    }
    for (std::uint32_t run = threadIdx.x / kWarp; run < mapped; run += kBlockThreads / kWarp) {
      std::uint32_t const first = base + (run == 0 ? 0 : ends[run - 1]);
      std::uint32_t const sequence = lists.run(chunk + run).sequence;
      for (std::uint32_t row = first + threadIdx.x % kWarp; row < base + ends[run]; row += kWarp) {
        head.row_sequences[row] = sequence;
      }
    }
    base += ends[count - 1];
    __syncthreads();
  }
}

template <typename Lists>
__device__ void run_step(Head const& head, Lists const& lists) noexcept {
  update_tables(head, lists);
  update_records(head, lists);
  if (blockIdx.x == gridDim.x - 1) {
    map_rows(head, lists);
  }
  move_pages(head, lists);
}

template <std::uint32_t kBytes>
struct PackedArguments {
  Head head;
  alignas(16) std::byte lists[kBytes];
};

template <std::uint32_t kBytes>
__global__ void __launch_bounds__(kBlockThreads)
    packed_step(__grid_constant__ PackedArguments<kBytes> const arguments) {
  run_step(arguments.head, PackedLists{arguments.lists, arguments.head});
}

struct PinnedArguments {
  Head head;
  StepParameters parameters;
};

__global__ void __launch_bounds__(kBlockThreads)
    pinned_step(__grid_constant__ PinnedArguments const arguments) {
  run_step(arguments.head, PinnedLists{arguments.parameters});
}

/// Bytes of lists that a block takes into its shared memory.
constexpr std::uint32_t kStagedBytes = 30 * 1024;

template <typename T>
[[nodiscard]] __host__ __device__ std::uint64_t quads_of(std::uint32_t count) noexcept {
  return (std::uint64_t{count} * sizeof(T) + sizeof(uint4) - 1) / sizeof(uint4);
}

/// A list in shared memory, behind what is there already. `at` counts all of it.
template <typename T>
__device__ T const* take(uint4* staged, std::uint64_t& at, std::uint32_t count) noexcept {
  auto const* const list = reinterpret_cast<T const*>(staged + at);
  at += quads_of<T>(count);
  return list;
}

/// As pinned_step, but every byte of the lists is under way over the bus at the same time.
__global__ void __launch_bounds__(kBlockThreads)
    staged_step(__grid_constant__ PinnedArguments const arguments) {
  __shared__ uint4 staged[kStagedBytes / sizeof(uint4)];
  Head const& head = arguments.head;
  StepParameters const& there = arguments.parameters;
  StepParameters here = there;
  std::uint64_t end = 0;
  here.copies = take<PageCopy>(staged, end, head.copies);
  std::uint64_t const patches = end;
  here.patches = take<TablePatch>(staged, end, head.patches);
  std::uint64_t const mirrors = end;
  here.mirrors = take<MirrorUpdate>(staged, end, head.mirrors);
  std::uint64_t const runs = end;
  here.runs = take<RowRun>(staged, end, head.runs);
  std::uint64_t const columns = end;
  here.columns = take<std::uint32_t>(staged, end, head.columns);
#pragma unroll 4
  for (std::uint64_t i = threadIdx.x; i < end; i += kBlockThreads) {
    auto const from = [&](void const* list, std::uint64_t first) {
      return static_cast<uint4 const*>(list) + (i - first);
    };
    staged[i] = *(i >= columns   ? from(there.columns, columns)
                  : i >= runs    ? from(there.runs, runs)
                  : i >= mirrors ? from(there.mirrors, mirrors)
                  : i >= patches ? from(there.patches, patches)
                                 : from(there.copies, 0));
  }
  __syncthreads();
  run_step(head, PinnedLists{here});
}

[[nodiscard]] bool fits_staged(Head const& head) noexcept {
  std::uint64_t const quads = quads_of<PageCopy>(head.copies) + quads_of<TablePatch>(head.patches) +
                              quads_of<MirrorUpdate>(head.mirrors) + quads_of<RowRun>(head.runs) +
                              quads_of<std::uint32_t>(head.columns);
  return quads * sizeof(uint4) <= kStagedBytes;
}

std::uint32_t columns_of(StepParameters const& parameters) noexcept {
  std::uint32_t columns = 0;
  for (std::uint32_t i = 0; i < parameters.mirror_count; ++i) {
    MirrorUpdate const& mirror = parameters.mirrors[i];
    columns = std::max(columns, mirror.first_column + mirror.write_count);
  }
  return columns;
}

Head head_of(StepParameters const& parameters) noexcept {
  Head head{.cleared = nullptr,
            .cleared_bytes = 0,
            .records = parameters.records,
            .tables = parameters.tables,
            .row_sequences = parameters.row_sequences,
            .record_bytes = parameters.record_bytes,
            .copies = parameters.copy_count,
            .patches = parameters.patch_count,
            .mirrors = parameters.mirror_count,
            .runs = parameters.run_count,
            .columns = columns_of(parameters),
            .bugs = device::step_bugs()};
  if (parameters.zero_page != 0) {
    StripLayout const& layout = parameters.strips[parameters.zero_plane];
    head.cleared = layout.base + parameters.zero_page * layout.page_bytes;
    head.cleared_bytes = layout.page_bytes;
  }
  return head;
}

/// Blocks that the work is spread over.
std::uint32_t blocks_of(StepParameters const& parameters, Head const& head) noexcept {
  constexpr std::uint32_t kRunsOfBlock = 4 * kBlockThreads / kWarp;
  std::uint64_t tasks = tasks_of(head.cleared_bytes);
  for (std::uint32_t i = 0; i < head.copies; ++i) {
    PageCopy const& copy = parameters.copies[i];
    StripRuns const& runs = parameters.strips[copy.plane].runs;
    for (std::uint32_t run = 0; run < runs.count; ++run) {
      tasks += std::uint64_t{runs.list[run].strips} *
               tasks_of(std::uint64_t{copy.rows} * runs.list[run].row_bytes);
    }
  }
  std::uint64_t const entries = (head.patches + kRunsOfBlock - 1) / kRunsOfBlock;
  return device::blocks_of_tasks(std::max(tasks, entries));
}

template <typename T>
std::byte* put(std::byte* to, T const* values, std::uint32_t count) noexcept {
  std::memcpy(to, values, count * sizeof(T));
  return to + count * sizeof(T);
}

/// Runs of strips that are copied.
std::uint32_t pieces_of(StepParameters const& parameters) noexcept {
  std::uint32_t pieces = 0;
  for (std::uint32_t i = 0; i < parameters.copy_count; ++i) {
    pieces += parameters.strips[parameters.copies[i].plane].runs.count;
  }
  return pieces;
}

/// As PackedLists reads them.
void pack_lists(StepParameters const& parameters, Head const& head, std::byte* to) noexcept {
  auto* pieces = reinterpret_cast<Piece*>(to);
  for (std::uint32_t i = 0; i < parameters.copy_count; ++i) {
    PageCopy const& copy = parameters.copies[i];
    StripLayout const& layout = parameters.strips[copy.plane];
    for (std::uint32_t run = 0; run < layout.runs.count; ++run) {
      *pieces++ = piece_of(layout, copy, run);
    }
  }
  to = put(reinterpret_cast<std::byte*>(pieces), parameters.patches, head.patches);
  to = put(to, parameters.runs, head.runs);
  to = put(to, parameters.mirrors, head.mirrors);
  put(to, parameters.columns, head.columns);
}

/// Bytes of packed lists.
std::uint64_t packed_bytes(Head const& head) noexcept {
  return std::uint64_t{head.copies} * sizeof(Piece) +
         std::uint64_t{head.patches} * sizeof(TablePatch) +
         std::uint64_t{head.runs} * sizeof(RowRun) +
         std::uint64_t{head.mirrors} * sizeof(MirrorUpdate) +
         std::uint64_t{head.columns} * sizeof(std::uint32_t);
}

template <std::uint32_t kBytes>
int launch_packed(StepParameters const& parameters,
                  Head const& head,
                  device::Shape const& shape,
                  device::Relaunch& relaunch) noexcept {
  PackedArguments<kBytes> arguments;
  arguments.head = head;
  pack_lists(parameters, head, arguments.lists);
  return relaunch.launch(packed_step<kBytes>, arguments, shape);
}

}  // namespace

int launch_step(void const* raw, CudaQueue const& queue) noexcept {
  // Sizes of a kernel's parameters: all of them are copied, so that small ones are quicker, and large
  // ones slower than what is read over the bus.
  constexpr std::uint32_t kSmall = 256 - sizeof(Head);
  constexpr std::uint32_t kLarge = 1024 - sizeof(Head);
  auto const& parameters = *static_cast<StepParameters const*>(raw);
  auto& relaunches = *static_cast<device::Relaunches*>(queue.relaunches);
  Head const head = head_of(parameters);
  Head packed = head;
  packed.copies = pieces_of(parameters);
  device::Shape const shape{.blocks = blocks_of(parameters, head), .stream = queue.stream};
  // Most launches are of one block; to change their number takes longer than the parameters.
  auto& own = relaunches[shape.blocks == 1 ? 0 : 1];
  if (std::uint64_t const bytes = packed_bytes(packed); bytes <= kLarge) {
    return bytes > kSmall ? launch_packed<kLarge>(parameters, packed, shape, own[1])
                          : launch_packed<kSmall>(parameters, packed, shape, own[0]);
  }
  PinnedArguments arguments{head, parameters};
  return fits_staged(head) ? own[2].launch(staged_step, arguments, shape)
                           : own[3].launch(pinned_step, arguments, shape);
}

}  // namespace holdfast::internal::storage
