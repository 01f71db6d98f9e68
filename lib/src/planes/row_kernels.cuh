// SPDX-License-Identifier: Apache-2.0
// The row kernels' device code: rows through page tables, narrowed on the way, and pool keys. Each
// gives the bits of its host twin, whatever the order in which blocks run.
#pragma once

#include <holdfast/formats.hpp>

#include "device/cuda_blocks.cuh"
#include "device/cuda_bugs.cuh"
#include "planes/row_kernels.hpp"

namespace holdfast::internal::planes {

using device::kBlockThreads;

/// Where a layer's rows of one sequence lie.
struct Rows {
  std::uint32_t const* table;
  std::byte* pages;  // with the layer's place in a page
};

/// A row's place: where its layer begins in its page, and which row of the page it is.
struct Place {
  std::byte* layer;  // nullptr for padding
  std::uint32_t row;

  [[nodiscard]] __device__ std::byte* in(Strip const& strip) const noexcept {
    return layer + strip.offset + std::uint64_t{row} * strip.row_bytes;
  }
};

[[nodiscard]] inline __device__ Place place_of(RowsView const& view,
                                               Rows const& rows,
                                               std::uint32_t row) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? row : row % view.ring_rows;
  // Page sizes are powers of two but for odd tests, and a division is most of the arithmetic here.
  bool const is_power = (view.page_rows & (view.page_rows - 1)) == 0;
  std::uint32_t const entry = is_power ? physical >> (31 - __clz(static_cast<int>(view.page_rows)))
                                       : physical / view.page_rows;
  std::uint64_t const page = rows.table[entry];
  return {rows.pages + page * view.page_bytes, physical - entry * view.page_rows};
}

/// Address of a row that has one strip.
[[nodiscard]] inline __device__ std::byte* address_of(RowsView const& view,
                                                      Rows const& rows,
                                                      std::uint32_t row) noexcept {
  return place_of(view, rows, row).in(view.strips[0]);
}

/// The record of a sequence, counted from that of the view.
[[nodiscard]] inline __device__ SequenceMirror const& record_of(RowsView const& view,
                                                                std::uint32_t sequence) noexcept {
  return *reinterpret_cast<SequenceMirror const*>(
      reinterpret_cast<std::byte const*>(view.sequence) + sequence * view.record_bytes);
}

[[nodiscard]] inline __device__ Rows rows_of(RowsView const& view,
                                             std::uint32_t sequence,
                                             std::uint32_t layer) noexcept {
  return {.table = view.table + std::uint64_t{sequence} * view.table_entries,
          .pages = view.pages + view.layer_offset + layer * view.strips.layer_bytes};
}

/// Which of the blocks that share a task this one is.
struct Blocks {
  std::uint32_t own;
  std::uint32_t count;
};

/// How threads share rows of `units` pieces of work each: a block takes several short rows at a time,
/// or a long one piece by piece.
struct Share {
  std::uint32_t first_row;  // of this thread
  std::uint32_t row_step;
  std::uint32_t first_unit;
  std::uint32_t unit_step;

  __device__ Share(std::uint32_t units, Blocks const& blocks) noexcept {
    std::uint32_t const rows = units < kBlockThreads ? kBlockThreads / units : 1;
    std::uint32_t const own = units < kBlockThreads ? threadIdx.x / units : 0;
    first_row = own < rows ? blocks.own * rows + own : UINT32_MAX;
    row_step = blocks.count * rows;
    first_unit = threadIdx.x - own * units;
    unit_step = units < kBlockThreads ? units : kBlockThreads;
  }
};

/// Elements that one thread stores at a time: 16 bytes or one, and of what is stored in blocks a block.
[[nodiscard]] constexpr std::uint32_t elements_of_piece(Format format, bool is_wide) noexcept {
  FormatTrait const& trait = trait_of(format);
  return trait.block_elements != 1 || !is_wide ? trait.block_elements : 16 / trait.block_bytes;
}

/// Elements on their way from a source row into a page, as their codec's own text stores them.
template <Format kFormat, bool kWide>
class EncodedPiece {
 public:
  static constexpr std::uint32_t kCount = elements_of_piece(kFormat, kWide);

  __device__ void load(float const* from) noexcept {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      values_[i] = from[i];
    }
  }
  __device__ void store(std::byte* to, device::Bugs /*bugs*/) const noexcept {
    constexpr std::uint32_t kBlocks = kCount / trait_of(kFormat).block_elements;
    CodecOf<kFormat>::Type::encode(values_, kBlocks, to);
  }

 private:
  float values_[kCount];
};

/// The same for f32, f16 and bf16, whose codecs do with one instruction what takes many in their text.
template <Format kFormat, bool kWide>
class PlainPiece {
 public:
  static constexpr std::uint32_t kCount = elements_of_piece(kFormat, kWide);

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
    // All but NaNs are rounded as the codec does, two by one instruction.
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

template <Format kFormat, bool kWide>
struct PieceOf {
  using Type = EncodedPiece<kFormat, kWide>;
};
template <bool kWide>
struct PieceOf<Format::kF32, kWide> {
  using Type = PlainPiece<Format::kF32, kWide>;
};
template <bool kWide>
struct PieceOf<Format::kF16, kWide> {
  using Type = PlainPiece<Format::kF16, kWide>;
};
template <bool kWide>
struct PieceOf<Format::kBf16, kWide> {
  using Type = PlainPiece<Format::kBf16, kWide>;
};

/// Rows or pieces that a thread has under way at a time: enough to hide how far memory is.
constexpr std::uint32_t kAtOnce = 4;

/// Rows that a block takes at a time, of `units` pieces each, when a thread has `at_once` of them under
/// way: so many that few threads have none.
[[nodiscard]] constexpr __host__ __device__ std::uint32_t rows_of_chunk(
    std::uint32_t units, std::uint32_t at_once) noexcept {
  std::uint32_t const pieces = at_once * kBlockThreads;
  return units < pieces ? pieces / units : 1;
}

/// Neighbouring strips of equal elements, bytes and format.
struct StripGroup {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t element;       // of a row, where they begin
  std::uint32_t row_elements;  // of all strips
  std::uint64_t stride;        // bytes, from one to the next

  /// The one that begins with strip `first`.
  __host__ __device__ StripGroup(Strips const& strips, std::uint32_t first_strip) noexcept
      : first{first_strip}, count{1}, element{0}, row_elements{strips.elements()}, stride{0} {
    for (std::uint32_t i = 0; i < first; ++i) {
      element += strips[i].elements;
    }
    if (first + 1 < strips.count) {
      stride = strips[first + 1].offset - strips[first].offset;
    }
    while (first + count < strips.count && joins(strips, first + count)) {
      ++count;
    }
  }

 private:
  [[nodiscard]] __host__ __device__ bool joins(Strips const& strips,
                                               std::uint32_t i) const noexcept {
    return strips[i].elements == strips[first].elements &&
           strips[i].format == strips[first].format &&
           strips[i].offset - strips[i - 1].offset == stride;
  }
};

/// Where row `row` of the launch lies, counted over all layers.
[[nodiscard]] inline __device__ Place place_of(WriteRowsParameters const& parameters,
                                               std::uint32_t row,
                                               device::Bugs bugs) noexcept {
  RowsView const& view = parameters.view;
  std::uint32_t const layer = parameters.layers == 1 ? 0 : row / parameters.count;
  row -= layer * parameters.count;
  std::uint32_t sequence = 0;
  std::uint32_t open = parameters.first + row;
  if (parameters.row_sequences != nullptr) {
    sequence = parameters.row_sequences[row];
    if (sequence == 0) {
      return {nullptr, 0};
    }
    open = row - record_of(view, sequence).first_row;
  }
  if (bugs.has(device::Bug::kWrongPage) && row + 1 == parameters.count) {
    open = 0;
  }
  std::uint32_t const position = record_of(view, sequence).committed - view.behind + open;
  return place_of(view, rows_of(view, sequence, layer), position);
}

/// Pieces of rows in the strips of a group, kPieces of them under way in each thread.
template <Format kFormat, bool kWide, std::uint32_t kPieces>
__device__ void run_rows(WriteRowsParameters const& parameters,
                         StripGroup const& group,
                         Blocks const& blocks,
                         device::Bugs bugs) noexcept {
  using Piece = typename PieceOf<kFormat, kWide>::Type;
  constexpr auto kPieceBytes = static_cast<std::uint32_t>(stored_bytes(kFormat, Piece::kCount));
  Strip const& strip = parameters.view.strips[group.first];
  std::uint32_t const strip_units = strip.elements / Piece::kCount;
  std::uint32_t const units = strip_units * group.count;
  std::uint32_t const others = group.row_elements - group.count * strip.elements;
  std::uint32_t const chunk = rows_of_chunk(units, kPieces);
  std::uint32_t const rows = parameters.layers * parameters.count;
  for (std::uint32_t first = blocks.own * chunk; first < rows; first += blocks.count * chunk) {
    std::uint32_t const count = min(chunk, rows - first) * units;
    float const* const source =
        parameters.source + std::uint64_t{first} * group.row_elements + group.element;
    for (std::uint32_t at = threadIdx.x; at < count; at += kPieces * kBlockThreads) {
      Piece pieces[kPieces];
#pragma unroll
      for (std::uint32_t i = 0; i < kPieces; ++i) {
        std::uint32_t const own = at + i * kBlockThreads;
        if (own < count) {
          // Rows that are of this group alone follow each other without a gap.
          std::uint64_t const gaps = others == 0 ? 0 : own / units * std::uint64_t{others};
          pieces[i].load(source + std::uint64_t{own} * Piece::kCount + gaps);
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kPieces; ++i) {
        std::uint32_t const own = at + i * kBlockThreads;
        if (own < count) {
          std::uint32_t const row = own / units;
          std::uint32_t const unit = own - row * units;
          std::uint32_t const in_group = unit / strip_units;
          Place const place = place_of(parameters, first + row, bugs);
          if (place.layer != nullptr) {
            pieces[i].store(place.in(strip) + in_group * group.stride +
                                std::uint64_t{unit - in_group * strip_units} * kPieceBytes,
                            bugs);
          }
        }
      }
    }
  }
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

[[nodiscard]] __device__ inline float weight_of(float gate) noexcept {
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
  /// Rows of one layer of one sequence, counted from those of the parameters' views.
  struct Part {
    std::uint32_t layer;
    std::uint32_t sequence;
    std::uint32_t first;  // open row
    std::uint32_t count;
    std::uint32_t written;
    std::uint32_t first_key;
    float const* source;
  };

  __device__ IndexerThread(WriteIndexerParameters const& parameters,
                           Part const& part,
                           std::uint32_t unit,
                           device::Bugs bugs) noexcept
      : parameters_{parameters},
        ring_{rows_of(parameters.ring, part.sequence, part.layer)},
        keys_{rows_of(parameters.keys, part.sequence, part.layer)},
        source_{part.source},
        bugs_{bugs},
        element_{unit * Lanes<kWide>::kCount},
        first_{record_of(parameters.ring, part.sequence).committed + part.first},
        end_{first_ + part.count},
        written_end_{first_ - part.first + part.written},
        first_key_{part.first_key} {}

  [[nodiscard]] __device__ std::uint32_t first_pool() const noexcept {
    return first_ / parameters_.pool;
  }
  [[nodiscard]] __device__ std::uint32_t pools() const noexcept {
    return (end_ - 1) / parameters_.pool - first_pool() + 1;
  }

  __device__ void run_pool(std::uint32_t pool) noexcept {
    constexpr std::uint32_t kCount = Lanes<kWide>::kCount;
    std::uint32_t const base = pool * parameters_.pool;
    bool const has_key = base + parameters_.pool <= written_end_ && pool >= first_key_;
    if (bugs_.has(device::Bug::kKeyAcrossLap) && pool == first_pool() && source_ != nullptr) {
      write_over_old_rows();
    }
    Lanes<kWide> sum{};
    for (std::uint32_t first = 0; first < parameters_.pool; first += kAtOnce) {
      Lanes<kWide> values[kAtOnce];
      Lanes<kWide> gates[kAtOnce];
#pragma unroll
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        std::uint32_t const position = base + first + i;
        if (first + i < parameters_.pool && (has_key || is_new(position))) {
          float const* const row =
              is_new(position)
                  ? source_row(position)
                  : reinterpret_cast<float const*>(address_of(parameters_.ring, ring_, position));
          values[i].load(row + element_);
          gates[i].load(row + parameters_.key_width + element_);
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
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
      sum.store(address_of(parameters_.keys, keys_, pool) +
                std::uint64_t{element_} * sizeof(float));
    }
    if (pool == first_pool() && source_ != nullptr) {
      write_over_old_rows();
    }
  }

 private:
  /// It comes from the source.
  [[nodiscard]] __device__ bool is_new(std::uint32_t position) const noexcept {
    return source_ != nullptr && position >= first_ && position < end_;
  }
  [[nodiscard]] __device__ float const* source_row(std::uint32_t position) const noexcept {
    return source_ + std::uint64_t{position - first_} * parameters_.ring.strips[0].elements;
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
    auto* const row = reinterpret_cast<float*>(address_of(parameters_.ring, ring_, position));
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
  Rows ring_;
  Rows keys_;
  float const* source_;  // of row `first_`
  device::Bugs bugs_;
  std::uint32_t element_;
  std::uint32_t first_;  // position of the first row
  std::uint32_t end_;
  std::uint32_t written_end_;
  std::uint32_t first_key_;  // keys below are final
};

/// Pools of one sequence; tasks are numbered over all layers.
template <bool kWide>
__device__ void run_pools(WriteIndexerParameters const& parameters,
                          std::uint32_t unit,
                          Share const& share,
                          device::Bugs bugs) noexcept {
  for (std::uint32_t layer = 0, before = 0; layer < parameters.layers; ++layer) {
    float const* const source = parameters.source == nullptr
                                    ? nullptr
                                    : parameters.source + std::uint64_t{layer} * parameters.count *
                                                              parameters.ring.strips[0].elements;
    IndexerThread<kWide> thread{parameters,
                                {.layer = layer,
                                 .sequence = 0,
                                 .first = parameters.first,
                                 .count = parameters.count,
                                 .written = parameters.written,
                                 .first_key = parameters.first_key,
                                 .source = source},
                                unit,
                                bugs};
    std::uint32_t const pools = thread.pools();
    std::uint32_t const skipped =
        before <= share.first_row
            ? 0
            : (before - share.first_row + share.row_step - 1) / share.row_step;
    for (std::uint64_t task = share.first_row + std::uint64_t{skipped} * share.row_step;
         task < before + pools;
         task += share.row_step) {
      thread.run_pool(thread.first_pool() + static_cast<std::uint32_t>(task - before));
    }
    before += pools;
  }
}

/// A row of a step runs its pool when it is the last one there. Tasks are as many rows as a pool has,
/// so that every thread finds some that are.
template <bool kWide>
__device__ void run_step_rows(WriteIndexerParameters const& parameters,
                              std::uint32_t unit,
                              Share const& share,
                              device::Bugs bugs) noexcept {
  std::uint32_t const row_elements = parameters.ring.strips[0].elements;
  std::uint32_t const groups = (parameters.count + parameters.pool - 1) / parameters.pool;
  for (std::uint64_t task = share.first_row; task < std::uint64_t{groups} * parameters.layers;
       task += share.row_step) {
    auto const layer = static_cast<std::uint32_t>(task) / groups;
    std::uint32_t const first =
        (static_cast<std::uint32_t>(task) - layer * groups) * parameters.pool;
    std::uint32_t const end = min(first + parameters.pool, parameters.count);
    for (std::uint32_t row = first; row < end; ++row) {
      std::uint32_t const sequence = parameters.row_sequences[row];
      if (sequence == 0) {
        continue;
      }
      SequenceMirror const& record = record_of(parameters.ring, sequence);
      std::uint32_t const open = row - record.first_row;
      std::uint32_t const position = record.committed + open;
      if ((position + 1) % parameters.pool != 0 && open + 1 != record.open) {
        continue;
      }
      float const* const source =
          parameters.source +
          (std::uint64_t{layer} * parameters.count + record.first_row) * row_elements;
      IndexerThread<kWide> thread{parameters,
                                  {.layer = layer,
                                   .sequence = sequence,
                                   .first = 0,
                                   .count = record.open,
                                   .written = record.open,
                                   .first_key = record.committed / parameters.pool,
                                   .source = source},
                                  unit,
                                  bugs};
      thread.run_pool(position / parameters.pool);
    }
  }
}

template <bool kWide>
__device__ void run_indexer(WriteIndexerParameters const& parameters,
                            Blocks const& blocks,
                            device::Bugs bugs) noexcept {
  std::uint32_t const units = parameters.key_width / Lanes<kWide>::kCount;
  Share const share{units, blocks};
  for (std::uint32_t unit = share.first_unit; unit < units && share.first_row != UINT32_MAX;
       unit += share.unit_step) {
    if (parameters.row_sequences == nullptr) {
      run_pools<kWide>(parameters, unit, share, bugs);
    } else {
      run_step_rows<kWide>(parameters, unit, share, bugs);
    }
  }
}

}  // namespace holdfast::internal::planes
