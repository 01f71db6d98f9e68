// SPDX-License-Identifier: Apache-2.0
// Host twins of the row kernels. Numeric rule: + - * / min max in the written order, nothing
// contracted.
#include "planes/row_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <holdfast/formats.hpp>

#include "base/mutants.hpp"

namespace holdfast::internal::planes {
namespace {

constexpr std::uint32_t kF32Bytes = 4;
constexpr std::uint32_t kQuietNan = 0x7fc00000U;

/// A row's place: where its layer begins in its page, and which row of the page it is.
struct Place {
  std::byte* layer;
  std::uint32_t row;

  [[nodiscard]] std::byte* in(Strip const& strip) const noexcept {
    return layer + strip.offset + std::uint64_t{row} * strip.row_bytes;
  }
};

Place place_of(RowsView const& view, std::uint32_t row) noexcept {
  std::uint32_t physical = view.ring_rows == 0 ? row : row % view.ring_rows;
  if (HOLDFAST_MUTANT(kRingAddress) && view.ring_rows > view.page_rows && row >= view.ring_rows) {
    physical = row % (view.ring_rows - view.page_rows);
  }
  std::uint64_t const page = view.table[physical / view.page_rows];
  return {view.pages + page * view.page_bytes + view.layer_offset, physical % view.page_rows};
}

/// Address of row `row` of rows that have one strip.
std::byte* address_of(RowsView const& view, std::uint32_t row) noexcept {
  return place_of(view, row).in(view.strips[0]);
}

/// Calls `run(first, count)` for the pieces of rows [first, first + count) that lie in one page
/// each.
template <typename Run>
void for_each_run(RowsView const& view,
                  std::uint32_t first,
                  std::uint32_t count,
                  Run run) noexcept {
  std::uint32_t const end = first + count;
  while (first < end) {
    std::uint32_t const piece = std::min(end - first, view.page_rows - first % view.page_rows);
    run(first, piece);
    first += piece;
  }
}

void declare_table_reads(RowsView const& view,
                         std::uint32_t first,
                         std::uint32_t count,
                         AccessSink& sink) noexcept {
  sink.read(view.sequence, offsetof(SequenceMirror, write_slot));
  for_each_run(view, first, count, [&](std::uint32_t row, std::uint32_t /*rows*/) {
    std::uint32_t const physical = view.ring_rows == 0 ? row : row % view.ring_rows;
    sink.read(view.table + physical / view.page_rows, sizeof(std::uint32_t));
  });
}

/// A row as a kernel that cuts numbers off would store it.
void store_cut(Strip const& strip, float const* from, std::byte* to) noexcept {
  FormatTrait const& trait = trait_of(strip.format);
  std::uint32_t const lost = strip.format == Format::kF16 ? 0x1fffU : 0xffffU;  // f16: normal ones
  float cut[kLargestBlock.block_elements];
  for (std::uint32_t at = 0; at < strip.elements; at += trait.block_elements) {
    for (std::uint32_t i = 0; i < trait.block_elements; ++i) {
      cut[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(from[at + i]) & ~lost);
    }
    encode_elements(strip.format, cut, trait.block_elements, to);
    to += trait.block_bytes;
  }
}

void store_strip(Strip const& strip, float const* from, std::byte* to) noexcept {
  if (strip.format != Format::kF32 && HOLDFAST_MUTANT(kNarrowTruncates)) {
    store_cut(strip, from, to);
    return;
  }
  encode_elements(strip.format, from, strip.elements, to);
}

/// Calls `run(sequence, first, count)` for the rows [first, first + count) of each sequence of a step,
/// in the step's order; padding is left out.
template <typename Run>
void for_each_sequence(std::uint32_t const* row_sequences, std::uint32_t rows, Run run) noexcept {
  for (std::uint32_t first = 0, end = 0; first < rows; first = end) {
    std::uint32_t const sequence = row_sequences[first];
    while (end < rows && row_sequences[end] == sequence) {
      ++end;
    }
    if (sequence != 0) {
      run(sequence, first, end - first);
    }
  }
}

/// Rows of one layer of one sequence: `count` from position `first` on.
struct RowsOfOne {
  RowsView view;
  float const* source;
  std::uint32_t first;
  std::uint32_t count;
};

template <typename Run>
void for_each_part(WriteRowsParameters const& parameters, Run run) noexcept {
  std::uint64_t const row_elements = parameters.view.strips.elements();
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    RowsView const view = layer_view(parameters.view, layer);
    float const* const source =
        parameters.source + std::uint64_t{layer} * parameters.count * row_elements;
    if (parameters.row_sequences == nullptr) {
      run(RowsOfOne{view,
                    source,
                    view.sequence->committed - view.behind + parameters.first,
                    parameters.count});
      continue;
    }
    for_each_sequence(
        parameters.row_sequences,
        parameters.count,
        [&](std::uint32_t sequence, std::uint32_t first, std::uint32_t count) {
          RowsView const own = sequence_view(view, sequence);
          std::uint32_t const open =
              first - (HOLDFAST_MUTANT(kStepRowsMisplaced) ? 0 : own.sequence->first_row);
          run(RowsOfOne{own, source + first * row_elements, own.sequence->committed + open, count});
        });
  }
}

void declare_row_writes(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<WriteRowsParameters const*>(raw);
  if (parameters.row_sequences != nullptr) {
    sink.read(parameters.row_sequences, parameters.count * sizeof(std::uint32_t));
  }
  for_each_part(parameters, [&](RowsOfOne const& rows) {
    RowsView const& view = rows.view;
    sink.read(rows.source, std::uint64_t{rows.count} * view.strips.elements() * kF32Bytes);
    declare_table_reads(view, rows.first, rows.count, sink);
    for_each_run(view, rows.first, rows.count, [&](std::uint32_t row, std::uint32_t count) {
      Place const place = place_of(view, row);
      for (Strip const& strip : view.strips) {
        sink.write(place.in(strip), std::uint64_t{count} * strip.row_bytes);
      }
    });
  });
}

void write_rows(void const* raw) noexcept {
  for_each_part(*static_cast<WriteRowsParameters const*>(raw), [&](RowsOfOne const& rows) {
    RowsView const& view = rows.view;
    float const* source = rows.source;
    for_each_run(view, rows.first, rows.count, [&](std::uint32_t row, std::uint32_t count) {
      Place place = place_of(view, row);
      for (std::uint32_t const end = place.row + count; place.row != end; ++place.row) {
        for (Strip const& strip : view.strips) {
          store_strip(strip, source, place.in(strip));
          source += strip.elements;
        }
      }
    });
  });
}

/// Pools that the indexer kernel completes: calls `pool(index)` in the order in which they are
/// built.
template <typename Row, typename Pool>
void for_each_indexer_step(WriteIndexerParameters const& parameters, Row row, Pool pool) noexcept {
  std::uint32_t const base = parameters.ring.sequence->committed;
  std::uint32_t const written_end = base + parameters.written;
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    std::uint32_t const position = base + parameters.first + i;
    row(position, i);
    bool const ends_pool = (position + 1) % parameters.pool == 0;
    if (ends_pool || i + 1 == parameters.count) {
      std::uint32_t const index = position / parameters.pool;
      if ((index + 1) * parameters.pool <= written_end && index >= parameters.first_key) {
        pool(index);
      }
    }
  }
}

float float_at(std::byte const* row, std::uint32_t element) noexcept {
  float value = 0.0F;
  std::memcpy(&value, row + std::uint64_t{element} * kF32Bytes, kF32Bytes);
  return value;
}

void build_key(WriteIndexerParameters const& parameters, std::uint32_t index) noexcept {
  constexpr std::uint32_t kBlock = 32;  // elements whose sums are kept at once
  std::uint32_t const width = parameters.key_width;
  std::uint32_t const first_row = index * parameters.pool;
  std::byte* destination = address_of(parameters.keys, index);
  for (std::uint32_t first = 0; first < width; first += kBlock) {
    std::uint32_t const count = std::min(width - first, kBlock);
    float sums[kBlock] = {};
    for (std::uint32_t i = 0; i < parameters.pool; ++i) {
      if (i == 0 && HOLDFAST_MUTANT(kKeySkipsFirstRow)) {
        continue;
      }
      std::byte const* const row = address_of(parameters.ring, first_row + i);
      for (std::uint32_t element = 0; element < count; ++element) {
        float const value = float_at(row, first + element);
        float const gate = float_at(row, width + first + element);
        float const weight = std::min(std::max(0.5F + 0.25F * gate, 0.0F), 1.0F);
        sums[element] = i == 0 ? weight * value : sums[element] + weight * value;
      }
    }
    for (std::uint32_t element = 0; element < count; ++element, destination += kF32Bytes) {
      float key = sums[element] / static_cast<float>(parameters.pool);
      key = std::isnan(key) ? std::bit_cast<float>(kQuietNan) : key;  // no payload of one processor
      std::memcpy(destination, &key, kF32Bytes);
    }
  }
}

/// Calls `run` with the parameters of one layer of one sequence each.
template <typename Run>
void for_each_part(WriteIndexerParameters const& parameters, Run run) noexcept {
  std::uint64_t const row_elements = parameters.ring.strips[0].elements;
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    WriteIndexerParameters one = parameters;
    one.ring = layer_view(parameters.ring, layer);
    one.keys = layer_view(parameters.keys, layer);
    if (parameters.source != nullptr) {
      one.source = parameters.source + std::uint64_t{layer} * parameters.count * row_elements;
    }
    if (parameters.row_sequences == nullptr) {
      run(one);
      continue;
    }
    for_each_sequence(parameters.row_sequences,
                      parameters.count,
                      [&](std::uint32_t sequence, std::uint32_t first, std::uint32_t count) {
                        WriteIndexerParameters own = one;
                        own.ring = sequence_view(one.ring, sequence);
                        own.keys = sequence_view(one.keys, sequence);
                        own.source = one.source + first * row_elements;
                        own.first = first - own.ring.sequence->first_row;
                        own.count = count;
                        own.written = own.first + count;
                        own.first_key = own.ring.sequence->committed / own.pool;
                        run(own);
                      });
  }
}

void declare_part(WriteIndexerParameters const& parameters, AccessSink& sink) noexcept {
  RowsView const& ring = parameters.ring;
  std::uint32_t const first = ring.sequence->committed + parameters.first;
  declare_table_reads(ring, first, parameters.count, sink);
  if (parameters.source != nullptr) {
    sink.read(parameters.source, std::uint64_t{parameters.count} * ring.strips[0].row_bytes);
    for_each_run(ring, first, parameters.count, [&](std::uint32_t row, std::uint32_t rows) {
      sink.write(address_of(ring, row), std::uint64_t{rows} * ring.strips[0].row_bytes);
    });
  }
  for_each_indexer_step(
      parameters,
      [](std::uint32_t /*position*/, std::uint32_t /*i*/) {},
      [&](std::uint32_t index) {
        for_each_run(ring,
                     index * parameters.pool,
                     parameters.pool,
                     [&](std::uint32_t row, std::uint32_t rows) {
                       sink.read(address_of(ring, row),
                                 std::uint64_t{rows} * ring.strips[0].row_bytes);
                     });
        declare_table_reads(parameters.keys, index, 1, sink);
        sink.write(address_of(parameters.keys, index), parameters.keys.strips[0].row_bytes);
      });
}

void declare_indexer_writes(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<WriteIndexerParameters const*>(raw);
  if (parameters.row_sequences != nullptr) {
    sink.read(parameters.row_sequences, parameters.count * sizeof(std::uint32_t));
  }
  for_each_part(parameters, [&](WriteIndexerParameters const& part) { declare_part(part, sink); });
}

void write_part(WriteIndexerParameters const& parameters) noexcept {
  RowsView const& ring = parameters.ring;
  for_each_indexer_step(
      parameters,
      [&](std::uint32_t position, std::uint32_t i) {
        if (parameters.source != nullptr) {
          std::memcpy(address_of(ring, position),
                      parameters.source + std::uint64_t{i} * ring.strips[0].elements,
                      ring.strips[0].row_bytes);
        }
      },
      [&](std::uint32_t index) { build_key(parameters, index); });
}

void write_indexer(void const* raw) noexcept {
  for_each_part(*static_cast<WriteIndexerParameters const*>(raw), write_part);
}

/// Calls `rows` and `indexer` with the parts of a list.
template <typename Rows, typename Indexer>
void for_each_of_list(void const* raw, Rows rows, Indexer indexer) noexcept {
  auto const& parameters = *static_cast<WriteListParameters const*>(raw);
  for (std::uint32_t i = 0; i < parameters.row_count; ++i) {
    rows(&parameters.rows[i]);
  }
  for (std::uint32_t i = 0; i < parameters.indexer_count; ++i) {
    indexer(&parameters.indexers[i]);
  }
}

void declare_list(void const* raw, AccessSink& sink) noexcept {
  for_each_of_list(
      raw,
      [&](void const* part) { declare_row_writes(part, sink); },
      [&](void const* part) { declare_indexer_writes(part, sink); });
}

void write_list(void const* raw) noexcept {
  for_each_of_list(raw, write_rows, write_indexer);
}

}  // namespace

Kernel const kWriteRowsKernel{
    "holdfast.write_rows", sizeof(WriteRowsParameters), &declare_row_writes, &write_rows};
Kernel const kWriteIndexerKernel{"holdfast.write_indexer",
                                 sizeof(WriteIndexerParameters),
                                 &declare_indexer_writes,
                                 &write_indexer};
Kernel const kWriteListKernel{
    "holdfast.write_list", sizeof(WriteListParameters), &declare_list, &write_list};

}  // namespace holdfast::internal::planes
