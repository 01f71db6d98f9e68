// SPDX-License-Identifier: Apache-2.0
// The row kernels' device code: rows through page tables, narrowed on the way, and pool keys. Each
// gives the bits of its host twin, whatever the order in which blocks run.
#include "device/cuda_blocks.cuh"
#include "device/cuda_bugs.cuh"
#include "planes/row_kernels.hpp"

namespace holdfast::internal::planes {
namespace {

using device::kBlockThreads;

[[nodiscard]] __device__ std::byte* address_of(RowsView const& view, std::uint32_t row) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? row : row % view.ring_rows;
  // Page sizes are powers of two but for odd tests, and a division is most of the arithmetic here.
  bool const is_power = (view.page_rows & (view.page_rows - 1)) == 0;
  std::uint32_t const entry = is_power ? physical >> (31 - __clz(static_cast<int>(view.page_rows)))
                                       : physical / view.page_rows;
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

/// Elements that one thread stores at a time: 16 bytes, or one.
template <Format kFormat, bool kWide>
inline constexpr std::uint32_t kElements = !kWide                    ? 1
                                           : kFormat == Format::kF32 ? 4
                                                                     : 8;

/// The parameters, and what is wrong with the code.
template <typename Parameters>
struct Arguments {
  Parameters parameters;
  device::Bugs bugs = device::row_bugs();
};

/// Elements on their way from a source row into a page.
template <Format kFormat, bool kWide>
class Piece {
 public:
  static constexpr std::uint32_t kCount = kElements<kFormat, kWide>;

  __device__ void load(float const* from) noexcept {
    if constexpr (kWide) {
      for (std::uint32_t i = 0; i < kCount / 4; ++i) {
        quads_[i] = reinterpret_cast<uint4 const*>(from)[i];
      }
    } else {
      quads_[0].x = *reinterpret_cast<std::uint32_t const*>(from);
    }
  }
  __device__ void store(std::byte* to, device::Bugs bugs) const noexcept {
    // As words: what is stored as it came keeps the bits of a NaN.
    if constexpr (kFormat == Format::kF32 && kWide) {
      *reinterpret_cast<uint4*>(to) = quads_[0];
    } else if constexpr (kFormat == Format::kF32) {
      *reinterpret_cast<std::uint32_t*>(to) = quads_[0].x;
    } else if constexpr (kWide) {
      *reinterpret_cast<uint4*>(to) = {pair(quads_[0].x, quads_[0].y, bugs),
                                       pair(quads_[0].z, quads_[0].w, bugs),
                                       pair(quads_[1].x, quads_[1].y, bugs),
                                       pair(quads_[1].z, quads_[1].w, bugs)};
    } else {
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(one(quads_[0].x, bugs));
    }
  }

 private:
  [[nodiscard]] static __device__ std::uint32_t one(std::uint32_t bits,
                                                    device::Bugs bugs) noexcept {
    if (kFormat == Format::kBf16 && bugs.has(device::Bug::kRoundedDown)) {
      return bits >> 16U;
    }
    float const value = __uint_as_float(bits);
    return kFormat == Format::kF16 ? narrow_to_f16(value) : narrow_to_bf16(value);
  }
  [[nodiscard]] static __device__ std::uint32_t pair(std::uint32_t low,
                                                     std::uint32_t high,
                                                     device::Bugs bugs) noexcept {
    float const first = __uint_as_float(low);
    float const second = __uint_as_float(high);
    if (first != first || second != second || bugs.has(device::Bug::kRoundedDown)) {
      return one(low, bugs) | one(high, bugs) << 16U;
    }
    // All but NaNs are rounded as narrow_elements() does, two by one instruction.
    std::uint32_t packed = 0;
    if constexpr (kFormat == Format::kF16) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
    } else {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
    }
    return packed;
  }

  uint4 quads_[kCount < 4 ? 1 : kCount / 4];
};

/// Rows that a thread has under way at a time: enough to hide how far memory is.
constexpr std::uint32_t kRowsAtOnce = 4;

template <Format kFormat, bool kWide>
__global__ void __launch_bounds__(kBlockThreads)
    write_rows(__grid_constant__ Arguments<WriteRowsParameters> const arguments) {
  WriteRowsParameters const& parameters = arguments.parameters;
  constexpr std::uint32_t kPiece = Piece<kFormat, kWide>::kCount;
  RowsView const& view = parameters.view;
  std::uint32_t const first = view.sequence->committed - view.behind + parameters.first;
  std::uint32_t const part_units = view.row_bytes / (element_bytes(kFormat) * kPiece);
  std::uint32_t const units = part_units * view.parts;
  Share const share{units};
  for (std::uint32_t unit = share.first_unit; unit < units; unit += share.unit_step) {
    std::uint32_t const part = unit / part_units;
    std::uint64_t const in_row = part * view.part_stride + std::uint64_t{unit - part * part_units} *
                                                               kPiece * element_bytes(kFormat);
    for (std::uint32_t row = share.first_row; row < parameters.count;
         row += kRowsAtOnce * share.row_step) {
      Piece<kFormat, kWide> pieces[kRowsAtOnce];
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        std::uint32_t const own = row + i * share.row_step;
        if (own < parameters.count) {
          pieces[i].load(parameters.source + (std::uint64_t{own} * units + unit) * kPiece);
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        std::uint32_t const own = row + i * share.row_step;
        if (own < parameters.count) {
          bool const is_late =
              arguments.bugs.has(device::Bug::kWrongPage) && own + 1 == parameters.count;
          pieces[i].store(address_of(view, is_late ? first : first + own) + in_row, arguments.bugs);
        }
      }
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
int launch_rows(WriteRowsParameters const& parameters, CudaQueue const& queue) noexcept {
  std::uint32_t const units = parameters.view.parts * parameters.view.row_bytes /
                              (element_bytes(kFormat) * kElements<kFormat, kWide>);
  std::uint32_t const rows = rows_of_block(units) * kRowsAtOnce;
  Arguments<WriteRowsParameters> arguments{parameters};
  return device::launch_blocks(
      write_rows<kFormat, kWide>,
      arguments,
      {.blocks = device::blocks_for((parameters.count + rows - 1) / rows, queue.multiprocessors),
       .stream = queue.stream});
}

template <Format kFormat>
int launch_rows(WriteRowsParameters const& parameters, CudaQueue const& queue) noexcept {
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
  __device__ IndexerThread(WriteIndexerParameters const& parameters,
                           std::uint32_t unit,
                           device::Bugs bugs) noexcept
      : parameters_{parameters},
        bugs_{bugs},
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
    if (bugs_.has(device::Bug::kKeyAcrossLap) && pool == first_pool() &&
        parameters_.source != nullptr) {
      write_over_old_rows();
    }
    Lanes<kWide> sum{};
    for (std::uint32_t first = 0; first < parameters_.pool; first += kRowsAtOnce) {
      Lanes<kWide> values[kRowsAtOnce];
      Lanes<kWide> gates[kRowsAtOnce];
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        std::uint32_t const position = base + first + i;
        if (first + i < parameters_.pool && (has_key || is_new(position))) {
          float const* const row =
              is_new(position)
                  ? source_row(position)
                  : reinterpret_cast<float const*>(address_of(parameters_.ring, position));
          values[i].load(row + element_);
          gates[i].load(row + parameters_.key_width + element_);
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kRowsAtOnce; ++i) {
        std::uint32_t const position = base + first + i;
        if (first + i >= parameters_.pool || !(has_key || is_new(position))) {
          continue;
        }
        if (is_new(position) && !is_lapped(position) && !is_over_old_row(position)) {
          write_row(position, values[i], gates[i]);
        }
        for (std::uint32_t lane = 0; lane < kCount; ++lane) {
          float const term = weight_of(gates[i].values[lane]) * values[i].values[lane];
          sum.values[lane] = first + i == 0 ? term : sum.values[lane] + term;
        }
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
  /// It comes from the source.
  [[nodiscard]] __device__ bool is_new(std::uint32_t position) const noexcept {
    return parameters_.source != nullptr && position >= first_ && position < end_;
  }
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
  device::Bugs bugs_;
  std::uint32_t element_;
  std::uint32_t first_;  // position of the first row
  std::uint32_t end_;
  std::uint32_t written_end_;
};

template <bool kWide>
__global__ void __launch_bounds__(kBlockThreads)
    write_indexer(__grid_constant__ Arguments<WriteIndexerParameters> const arguments) {
  WriteIndexerParameters const& parameters = arguments.parameters;
  std::uint32_t const units = parameters.key_width / Lanes<kWide>::kCount;
  Share const share{units};
  for (std::uint32_t unit = share.first_unit; unit < units; unit += share.unit_step) {
    IndexerThread<kWide> thread{parameters, unit, arguments.bugs};
    for (std::uint32_t pool = share.first_row; pool < thread.pools(); pool += share.row_step) {
      thread.run_pool(thread.first_pool() + pool);
    }
  }
}

template <bool kWide>
int launch_indexer(WriteIndexerParameters const& parameters, CudaQueue const& queue) noexcept {
  std::uint32_t const pools = parameters.count / parameters.pool + 2;  // at most
  std::uint32_t const rows = rows_of_block(parameters.key_width / Lanes<kWide>::kCount);
  Arguments<WriteIndexerParameters> arguments{parameters};
  return device::launch_blocks(
      write_indexer<kWide>,
      arguments,
      {.blocks = device::blocks_for((pools + rows - 1) / rows, queue.multiprocessors),
       .stream = queue.stream});
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
  bool const is_wide = has_wide_rows(parameters.ring) && has_wide_rows(parameters.keys) &&
                       is_aligned(parameters.source);
  return is_wide ? launch_indexer<true>(parameters, queue)
                 : launch_indexer<false>(parameters, queue);
}

}  // namespace holdfast::internal::planes
