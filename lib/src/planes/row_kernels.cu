// SPDX-License-Identifier: Apache-2.0
// The row kernels' device code: rows through page tables, narrowed on the way, and pool keys. Each
// gives the bits of its host twin, whatever the order in which blocks run.
#include "device/cuda_blocks.cuh"
#include "planes/row_kernels.hpp"

namespace holdfast::internal::planes {
namespace {

using device::kBlockThreads;

[[nodiscard]] __device__ std::byte* address_of(RowsView const& view, std::uint32_t row) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? row : row % view.ring_rows;
  std::uint32_t const entry = physical / view.page_rows;
  std::uint64_t const page = view.table[entry];
  return view.pages + page * view.page_bytes + view.layer_offset +
         std::uint64_t{physical - entry * view.page_rows} * view.row_bytes;
}

/// How threads share rows of `units` pieces of work each: a block takes several short rows at a time,
/// or a long one piece by piece.
struct Share {
  std::uint32_t first_row;  // of this thread
  std::uint32_t row_step;
  std::uint32_t first_unit;
  std::uint32_t unit_step;

  __device__ Share(std::uint32_t units) noexcept {
    std::uint32_t const rows = units < kBlockThreads ? kBlockThreads / units : 1;
    std::uint32_t const own = units < kBlockThreads ? threadIdx.x / units : 0;
    first_row = own < rows ? blockIdx.x * rows + own : UINT32_MAX;
    row_step = gridDim.x * rows;
    first_unit = threadIdx.x - own * units;
    unit_step = units < kBlockThreads ? units : kBlockThreads;
  }
};

/// Rows that a block of Share takes at a time.
[[nodiscard]] std::uint32_t rows_of_block(std::uint32_t units) noexcept {
  return units < kBlockThreads ? kBlockThreads / units : 1;
}

template <Format kFormat>
[[nodiscard]] __device__ std::uint32_t narrow(float value) noexcept {
  return kFormat == Format::kF16 ? narrow_to_f16(value) : narrow_to_bf16(value);
}

/// Elements that one thread stores at a time: 16 bytes, or one.
template <Format kFormat, bool kWide>
inline constexpr std::uint32_t kElements = !kWide                    ? 1
                                           : kFormat == Format::kF32 ? 4
                                                                     : 8;

template <Format kFormat, bool kWide>
__device__ void store_elements(float const* from, std::byte* to) noexcept {
  if constexpr (kFormat == Format::kF32 && kWide) {
    // As words: what is stored as it came keeps the bits of a NaN.
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<uint4 const*>(from);
  } else if constexpr (kFormat == Format::kF32) {
    *reinterpret_cast<std::uint32_t*>(to) = *reinterpret_cast<std::uint32_t const*>(from);
  } else if constexpr (kWide) {
    float4 const low = reinterpret_cast<float4 const*>(from)[0];
    float4 const high = reinterpret_cast<float4 const*>(from)[1];
    *reinterpret_cast<uint4*>(to) = {narrow<kFormat>(low.x) | narrow<kFormat>(low.y) << 16U,
                                     narrow<kFormat>(low.z) | narrow<kFormat>(low.w) << 16U,
                                     narrow<kFormat>(high.x) | narrow<kFormat>(high.y) << 16U,
                                     narrow<kFormat>(high.z) | narrow<kFormat>(high.w) << 16U};
  } else {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(narrow<kFormat>(*from));
  }
}

template <Format kFormat, bool kWide>
__global__ void __launch_bounds__(kBlockThreads)
    write_rows(__grid_constant__ WriteRowsParameters const parameters) {
  constexpr std::uint32_t kPiece = kElements<kFormat, kWide>;
  RowsView const& view = parameters.view;
  std::uint32_t const first = view.sequence->committed - view.behind + parameters.first;
  std::uint32_t const part_units = view.row_bytes / (element_bytes(kFormat) * kPiece);
  std::uint32_t const units = part_units * view.parts;
  Share const share{units};
  for (std::uint32_t row = share.first_row; row < parameters.count; row += share.row_step) {
    float const* const source = parameters.source + std::uint64_t{row} * units * kPiece;
    std::byte* const base = address_of(view, first + row);
    for (std::uint32_t unit = share.first_unit; unit < units; unit += share.unit_step) {
      std::uint32_t const part = unit / part_units;
      std::uint32_t const element = (unit - part * part_units) * kPiece;
      store_elements<kFormat, kWide>(
          source + unit * kPiece,
          base + part * view.part_stride + std::uint64_t{element} * element_bytes(kFormat));
    }
  }
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

template <Format kFormat, bool kWide>
int launch_rows(WriteRowsParameters& parameters, CudaQueue const& queue) noexcept {
  std::uint32_t const units = parameters.view.parts * parameters.view.row_bytes /
                              (element_bytes(kFormat) * kElements<kFormat, kWide>);
  std::uint32_t const rows = rows_of_block(units);
  return device::launch_blocks(
      write_rows<kFormat, kWide>,
      parameters,
      {.blocks = device::blocks_for((parameters.count + rows - 1) / rows, queue.multiprocessors),
       .stream = queue.stream});
}

template <Format kFormat>
int launch_rows(WriteRowsParameters& parameters, CudaQueue const& queue) noexcept {
  return has_wide_rows(parameters.view) && is_aligned(parameters.source)
             ? launch_rows<kFormat, true>(parameters, queue)
             : launch_rows<kFormat, false>(parameters, queue);
}

/// Elements that a thread has of a row's values, and as many of its gates.
template <bool kWide>
struct Lanes {
  static constexpr std::uint32_t kCount = kWide ? 4 : 1;
  float values[kCount];

  __device__ void load(void const* from) noexcept {
    if constexpr (kWide) {
      *reinterpret_cast<float4*>(values) = *static_cast<float4 const*>(from);
    } else {
      values[0] = *static_cast<float const*>(from);
    }
  }
  __device__ void store(void* to) const noexcept {
    if constexpr (kWide) {
      *static_cast<float4*>(to) = *reinterpret_cast<float4 const*>(values);
    } else {
      *static_cast<float*>(to) = values[0];
    }
  }
};

[[nodiscard]] __device__ float weight_of(float gate) noexcept {
  float weight = 0.5F + 0.25F * gate;
  weight = weight < 0.0F ? 0.0F : weight;  // as std::max and std::min choose, NaN too
  return 1.0F < weight ? 1.0F : weight;
}

/// One thread has the same elements of all rows of a pool: it puts rows into the ring and adds them
/// to the key as it reads them, so that a source row is read once. Rows of the first pool that
/// were written before lie where a long append puts rows of the next lap: whoever adds those to
/// the first key writes over them afterwards, and nobody else does.
template <bool kWide>
class IndexerThread {
 public:
  __device__ IndexerThread(WriteIndexerParameters const& parameters, std::uint32_t unit) noexcept
      : parameters_{parameters},
        element_{unit * Lanes<kWide>::kCount},
        first_{parameters.ring.sequence->committed + parameters.first},
        end_{first_ + parameters.count},
        written_end_{parameters.ring.sequence->committed + parameters.written} {}

  [[nodiscard]] __device__ std::uint32_t first_pool() const noexcept {
    return first_ / parameters_.pool;
  }
  [[nodiscard]] __device__ std::uint32_t pools() const noexcept {
    return (end_ - 1) / parameters_.pool - first_pool() + 1;
  }

  __device__ void run_pool(std::uint32_t pool) noexcept {
    constexpr std::uint32_t kCount = Lanes<kWide>::kCount;
    std::uint32_t const base = pool * parameters_.pool;
    bool const has_key = base + parameters_.pool <= written_end_ && pool >= parameters_.first_key;
    Lanes<kWide> sum{};
    for (std::uint32_t i = 0; i < parameters_.pool; ++i) {
      std::uint32_t const position = base + i;
      bool const is_new = parameters_.source != nullptr && position >= first_ && position < end_;
      if (!is_new && !has_key) {
        continue;
      }
      Lanes<kWide> value;
      Lanes<kWide> gate;
      float const* const row =
          is_new ? source_row(position)
                 : reinterpret_cast<float const*>(address_of(parameters_.ring, position));
      value.load(row + element_);
      gate.load(row + parameters_.key_width + element_);
      if (is_new && !is_lapped(position) && !is_over_old_row(position)) {
        write_row(position, value, gate);
      }
      for (std::uint32_t lane = 0; lane < kCount; ++lane) {
        float const term = weight_of(gate.values[lane]) * value.values[lane];
        sum.values[lane] = i == 0 ? term : sum.values[lane] + term;
      }
    }
    if (has_key) {
      for (float& key : sum.values) {
        key = key / static_cast<float>(parameters_.pool);
        key = key != key ? __uint_as_float(0x7fc00000U) : key;
      }
      sum.store(address_of(parameters_.keys, pool) + std::uint64_t{element_} * sizeof(float));
    }
    if (pool == first_pool() && parameters_.source != nullptr) {
      write_over_old_rows();
    }
  }

 private:
  [[nodiscard]] __device__ float const* source_row(std::uint32_t position) const noexcept {
    return parameters_.source +
           std::uint64_t{position - first_} * (parameters_.ring.row_bytes / sizeof(float));
  }
  /// A later row of this launch takes its place.
  [[nodiscard]] __device__ bool is_lapped(std::uint32_t position) const noexcept {
    return end_ - position > parameters_.ring.ring_rows;
  }
  /// It takes the place of a row of the first pool that was written before.
  [[nodiscard]] __device__ bool is_over_old_row(std::uint32_t position) const noexcept {
    std::uint32_t const base = first_pool() * parameters_.pool;
    return (position - base) % parameters_.ring.ring_rows < first_ - base;
  }
  __device__ void write_row(std::uint32_t position,
                            Lanes<kWide> const& value,
                            Lanes<kWide> const& gate) const noexcept {
    auto* const row = reinterpret_cast<float*>(address_of(parameters_.ring, position));
    value.store(row + element_);
    gate.store(row + parameters_.key_width + element_);
  }
  __device__ void write_over_old_rows() const noexcept {
    for (std::uint32_t old = first_pool() * parameters_.pool; old < first_; ++old) {
      // The last row of this launch in that place.
      std::uint32_t const laps = (end_ - 1 - old) / parameters_.ring.ring_rows;
      if (laps != 0) {
        std::uint32_t const position = old + laps * parameters_.ring.ring_rows;
        Lanes<kWide> value;
        Lanes<kWide> gate;
        value.load(source_row(position) + element_);
        gate.load(source_row(position) + parameters_.key_width + element_);
        write_row(position, value, gate);
      }
    }
  }

  WriteIndexerParameters const& parameters_;
  std::uint32_t element_;
  std::uint32_t first_;  // position of the first row
  std::uint32_t end_;
  std::uint32_t written_end_;
};

template <bool kWide>
__global__ void __launch_bounds__(kBlockThreads)
    write_indexer(__grid_constant__ WriteIndexerParameters const parameters) {
  std::uint32_t const units = parameters.key_width / Lanes<kWide>::kCount;
  Share const share{units};
  for (std::uint32_t unit = share.first_unit; unit < units; unit += share.unit_step) {
    IndexerThread<kWide> thread{parameters, unit};
    for (std::uint32_t pool = share.first_row; pool < thread.pools(); pool += share.row_step) {
      thread.run_pool(thread.first_pool() + pool);
    }
  }
}

template <bool kWide>
int launch_indexer(WriteIndexerParameters& parameters, CudaQueue const& queue) noexcept {
  std::uint32_t const pools = parameters.count / parameters.pool + 2;  // at most
  std::uint32_t const rows = rows_of_block(parameters.key_width / Lanes<kWide>::kCount);
  return device::launch_blocks(
      write_indexer<kWide>,
      parameters,
      {.blocks = device::blocks_for((pools + rows - 1) / rows, queue.multiprocessors),
       .stream = queue.stream});
}

}  // namespace

int launch_write_rows(void const* raw, CudaQueue const& queue) noexcept {
  WriteRowsParameters parameters = *static_cast<WriteRowsParameters const*>(raw);
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
  WriteIndexerParameters parameters = *static_cast<WriteIndexerParameters const*>(raw);
  if (parameters.count == 0) {
    return cudaSuccess;
  }
  bool const is_wide = has_wide_rows(parameters.ring) && has_wide_rows(parameters.keys) &&
                       is_aligned(parameters.source);
  return is_wide ? launch_indexer<true>(parameters, queue)
                 : launch_indexer<false>(parameters, queue);
}

}  // namespace holdfast::internal::planes
