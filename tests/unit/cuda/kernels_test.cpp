// SPDX-License-Identifier: Apache-2.0
// Goal: the device code of the library's kernels gives every byte that the host twin gives, and no
// other.
// Method: drawn parameters - widths that 16 bytes divide and others, rings that are lapped, lists
// of all sizes - on the same memory here and there, all of which is compared.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <holdfast/cache.hpp>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "planes/row_kernels.hpp"
#include "storage/step.hpp"
#include "tests/unit/cuda/cuda_test.hpp"

namespace holdfast::test {
namespace {

using internal::planes::kWriteIndexerKernel;
using internal::planes::kWriteRowsKernel;
using internal::planes::WriteIndexerParameters;
using internal::planes::WriteRowsParameters;

using CudaKernelTest = CudaTest;

/// Numbers of every kind: whole ones, halves of a last digit, the largest, infinities, NaNs.
float draw_value(Draw& draw) {
  switch (draw.below(16)) {
    case 0:
      return std::numeric_limits<float>::infinity();
    case 1:
      return -std::numeric_limits<float>::quiet_NaN();
    case 2:
      return 0x1p-20F * static_cast<float>(draw.below(2000));
    case 3:
      return 65504.0F + static_cast<float>(draw.below(64));
    case 4:
      return std::bit_cast<float>(draw.below(1U << 16U) << 16U | draw.below(1U << 16U));
    case 5:
      return -0.0F;
    case 6:
      return std::bit_cast<float>(draw.below(1U << 23U));  // subnormal
    default:
      return static_cast<float>(draw.below(1U << 20U)) * 0x1p-8F - 2048.0F;
  }
}

/// A plane of one layer among others: memory [pages], then table, mirror and rows to write.
struct Paged {
  Strips strips;
  std::uint32_t page_rows;
  std::uint32_t ring_rows;
  std::uint32_t entries;
  std::uint64_t layer_offset;
  std::uint64_t page_bytes;
  std::uint64_t pages_at;
  std::uint64_t table_at;

  [[nodiscard]] std::uint64_t arena_bytes() const noexcept { return page_bytes * (entries + 1); }
  /// Pages in another order than entries.
  void fill_table(Image& image) const {
    for (std::uint32_t entry = 0; entry < entries; ++entry) {
      image.on_host<std::uint32_t>(table_at)[entry] = (entry * 7 + 3) % entries + 1;
    }
  }
  [[nodiscard]] RowsView view(std::byte* base, std::uint64_t mirror_at) const {
    return {.pages = base + pages_at,
            .table = reinterpret_cast<std::uint32_t const*>(base + table_at),
            .sequence = reinterpret_cast<SequenceMirror const*>(base + mirror_at),
            .page_bytes = page_bytes,
            .layer_offset = layer_offset,
            .strips = strips,
            .page_rows = page_rows,
            .ring_rows = ring_rows};
  }
};

std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// Where a layer's strips lie in pages; a layer lies before and after it.
void lay_out(Paged& paged, std::span<StripDescription const> strips) {
  paged.strips = {};
  for (StripDescription const& strip : strips) {
    add_strip(
        paged.strips, static_cast<std::uint32_t>(strip.elements), strip.format, paged.page_rows);
  }
  paged.layer_offset = paged.strips.layer_bytes;
  paged.page_bytes = 3 * paged.strips.layer_bytes;
}

/// `rows` rows fit.
Paged draw_paged(Draw& draw, std::span<StripDescription const> strips, std::uint32_t rows) {
  Paged paged{.strips = {}, .page_rows = draw.one_of({1U, 2U, 3U, 7U, 64U}), .ring_rows = 0};
  paged.entries = (rows + paged.page_rows - 1) / paged.page_rows;
  if (paged.entries % 7 == 0) {
    ++paged.entries;  // so that the table is a permutation
  }
  lay_out(paged, strips);
  if (draw.below(2) == 0) {
    paged.page_bytes = round_up(paged.page_bytes);
  }
  return paged;
}

/// Strips of one size; most often of one format, too.
std::vector<StripDescription> draw_strips(Draw& draw) {
  std::uint32_t const blocks = draw.one_of({1U, 2U, 3U, 8U, 12U, 64U, 96U, 512U, 4096U});
  auto const first = static_cast<Format>(draw.below(kFormatCount));
  std::vector<StripDescription> strips(1 + draw.below(3));
  for (StripDescription& strip : strips) {
    strip.format = draw.below(3) == 0 ? static_cast<Format>(draw.below(kFormatCount)) : first;
    std::uint32_t const block = trait_of(strip.format).block_elements;
    strip.elements = (blocks + block - 1) / block * block;
  }
  return strips;
}

std::string name_of(std::span<StripDescription const> strips) {
  std::string text;
  for (StripDescription const& strip : strips) {
    text += std::to_string(strip.elements) + " x " + name_of(strip.format) + ", ";
  }
  return text;
}

TEST_F(CudaKernelTest, WriteRowsGivesTheBitsOfItsHostTwin) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    Draw draw{seed};
    std::vector<StripDescription> const strips = draw_strips(draw);
    std::uint32_t const rows = 1 + draw.below(draw.one_of({2U, 20U, 300U}));
    std::uint32_t const count = 1 + draw.below(rows);
    std::uint32_t const committed = draw.below(rows - count + 1);
    std::uint32_t const behind = draw.below(committed + 1);
    std::uint32_t const first = rows - count - committed + behind > 0
                                    ? draw.below(rows - count - committed + behind + 1)
                                    : 0;
    Paged paged = draw_paged(draw, strips, rows);
    paged.pages_at = 256;
    paged.table_at = round_up(paged.pages_at + paged.arena_bytes());
    std::uint64_t const source_at =
        round_up(paged.table_at + paged.entries * sizeof(std::uint32_t)) +
        sizeof(float) * draw.one_of({0U, 0U, 1U, 3U});
    std::uint64_t const source_bytes =
        std::uint64_t{count} * paged.strips.elements() * sizeof(float);
    Image image{*device_, source_at + source_bytes, draw};
    paged.fill_table(image);
    image.on_host<SequenceMirror>(0)->committed = committed;
    for (std::uint64_t i = 0; i < source_bytes / sizeof(float); ++i) {
      image.on_host<float>(source_at)[i] = draw_value(draw);
    }
    image.upload();
    auto const parameters = [&](std::byte* base) {
      WriteRowsParameters made{.view = paged.view(base, 0),
                               .source = reinterpret_cast<float const*>(base + source_at),
                               .first = first,
                               .count = count};
      made.view.behind = behind;
      return made;
    };
    auto const here = parameters(image.on_host<std::byte>(0));
    auto const there = parameters(image.on_device<std::byte>(0));
    ASSERT_EQ(image.difference(kWriteRowsKernel, &here, &there), -1)
        << "seed " << seed << ": " << name_of(strips) << count << " rows";
  }
}

TEST_F(CudaKernelTest, WriteIndexerGivesTheBitsOfItsHostTwin) {
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    Draw draw{seed};
    std::uint32_t const pool = draw.one_of({2U, 3U, 4U, 8U});
    std::uint32_t const key_width = draw.one_of({1U, 2U, 3U, 4U, 32U, 128U, 300U, 1200U});
    std::uint32_t const ring_page = pool * (1 + draw.below(3));
    std::uint32_t const round = 8;
    std::uint32_t const ring_rows =
        ring_page * ((pool - 1 + round + ring_page - 1) / ring_page + draw.below(3));
    std::uint32_t const committed = draw.below(3 * ring_rows);
    bool const is_long = draw.below(2) == 0;
    bool const has_source = draw.below(4) != 0;
    // A piece of a long append, or of a round in which any row may have been written before.
    std::uint32_t const first = draw.below(is_long ? 2 * ring_rows : round);
    std::uint32_t const most =
        is_long && has_source ? 5 * ring_rows : round - std::min(first, round);
    if (most == 0) {
      continue;
    }
    std::uint32_t const count = 1 + draw.below(most);
    std::uint32_t const written =
        is_long ? first + count : first + count + draw.below(round - first - count + 1);
    std::uint32_t const end = committed + written + pool;
    StripDescription const ring_strip{2 * std::uint64_t{key_width}};
    StripDescription const key_strip{key_width};
    Paged ring = draw_paged(draw, {&ring_strip, 1}, ring_rows);
    ring.page_rows = ring_page;
    ring.entries = ring_rows / ring_page;
    lay_out(ring, {&ring_strip, 1});
    ring.page_bytes = round_up(ring.page_bytes);
    ring.ring_rows = ring_rows;
    Paged keys = draw_paged(draw, {&key_strip, 1}, end / pool + 1);
    ring.pages_at = 256;
    ring.table_at = round_up(ring.pages_at + ring.arena_bytes());
    keys.pages_at = round_up(ring.table_at + ring.entries * 4);
    keys.table_at = round_up(keys.pages_at + keys.arena_bytes());
    std::uint64_t const source_at = round_up(keys.table_at + keys.entries * 4);
    std::uint64_t const source_bytes = count * ring.strips.row_bytes();
    Image image{*device_, source_at + source_bytes, draw};
    for (std::uint64_t at = ring.pages_at; at < ring.table_at; at += 4) {
      *image.on_host<float>(at) = draw_value(draw);
    }
    for (std::uint64_t at = source_at; at < source_at + source_bytes; at += 4) {
      *image.on_host<float>(at) = draw_value(draw);
    }
    for (std::uint32_t entry = 0; entry < ring.entries; ++entry) {
      image.on_host<std::uint32_t>(ring.table_at)[entry] = ring.entries - entry;
    }
    keys.fill_table(image);
    image.on_host<SequenceMirror>(0)->committed = committed;
    image.upload();
    std::uint32_t const first_key = draw.below(2) == 0 ? 0 : committed / pool;
    auto const parameters = [&](std::byte* base) {
      return WriteIndexerParameters{
          .ring = ring.view(base, 0),
          .keys = keys.view(base, 0),
          .source = has_source ? reinterpret_cast<float const*>(base + source_at) : nullptr,
          .first = first,
          .count = count,
          .written = written,
          .pool = pool,
          .key_width = key_width,
          .first_key = first_key};
    };
    auto const here = parameters(image.on_host<std::byte>(0));
    auto const there = parameters(image.on_device<std::byte>(0));
    ASSERT_EQ(image.difference(kWriteIndexerKernel, &here, &there), -1)
        << "seed " << seed << ": pool " << pool << ", key " << key_width << ", ring " << ring_rows
        << ", committed " << committed << ", rows " << first << " + " << count << " of " << written
        << (has_source ? "" : ", no source");
  }
}

using internal::storage::kStepKernel;
using internal::storage::MirrorUpdate;
using internal::storage::PageCopy;
using internal::storage::RowRun;
using internal::storage::StepParameters;
using internal::storage::StripLayout;
using internal::storage::TablePatch;

/// Lists of a step, and where they lie: in pinned memory, as addresses of this side.
struct StepLists {
  std::vector<StripLayout> strips;
  std::vector<PageCopy> copies;
  std::vector<TablePatch> patches;
  std::vector<MirrorUpdate> mirrors;
  std::vector<RowRun> runs;
  std::vector<std::uint32_t> columns;
};

/// A number of things: few, some or so many that they are read from pinned memory.
std::uint32_t draw_count(Draw& draw, std::uint32_t most) {
  return draw.below(std::min(most, draw.one_of({1U, 4U, 40U, most})) + 1);
}

template <typename T>
T* put(std::byte*& at, std::vector<T> const& values) {
  T* const out = reinterpret_cast<T*>(at);
  std::copy(values.begin(), values.end(), out);
  at += (values.size() * sizeof(T) + 15) / 16 * 16;
  return out;
}

TEST_F(CudaKernelTest, StepGivesTheBitsOfItsHostTwin) {
  constexpr std::uint32_t kSequences = 600;
  constexpr std::uint32_t kRows = 40000;
  constexpr std::uint32_t kColumns = 8;
  constexpr std::uint64_t kRecordBytes = 64;
  constexpr std::uint32_t kEntries = 9000;
  constexpr std::uint32_t kPages = 60;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw{seed};
    StepLists lists;
    std::uint64_t const tables_at = kSequences * kRecordBytes;
    std::uint64_t const rows_at = tables_at + kEntries * sizeof(std::uint32_t);
    std::uint64_t bytes = round_up(rows_at + kRows * sizeof(std::uint32_t));
    std::vector<std::uint64_t> bases;
    for (std::uint32_t plane = 0; plane < 3; ++plane) {
      std::uint32_t const page_rows = draw.one_of({1U, 2U, 5U, 64U});
      std::uint32_t const layers = 1 + draw.below(3);
      Strips strips;
      std::uint32_t const first = draw.one_of({1U, 3U, 4U, 64U, 250U});
      for (std::uint32_t left = 1 + draw.below(3); left != 0; --left) {
        std::uint32_t const elements =
            draw.below(2) == 0 ? first : draw.one_of({1U, 3U, 4U, 64U, 250U});
        add_strip(strips, elements, draw.below(2) == 0 ? Format::kBf16 : Format::kF32, page_rows);
      }
      lists.strips.push_back({.base = nullptr,
                              .page_bytes = layers * strips.layer_bytes,
                              .runs = internal::storage::runs_of(strips, layers)});
      bases.push_back(bytes);
      bytes = round_up(bytes + kPages * lists.strips.back().page_bytes);
      // Destinations are fresh pages: none is a source, or copied to twice.
      std::uint32_t const copies = draw_count(draw, kPages / 2 - 2);
      for (std::uint32_t i = 0; i < copies; ++i) {
        std::uint32_t const first_row = draw.below(page_rows);
        lists.copies.push_back({.plane = plane,
                                .destination = kPages / 2 + 1 + i,
                                .source = 1 + draw.below(kPages / 2 - 1),
                                .first_row = first_row,
                                .rows = 1 + draw.below(page_rows - first_row)});
      }
    }
    std::uint32_t const patches = draw_count(draw, kEntries / 20);
    // Places of ten entries each, in no order; a run is in one of them.
    for (std::uint32_t i = 0; i < patches; ++i) {
      lists.patches.push_back({.entry = (std::uint64_t{i} * 1009 + seed) % (kEntries / 10) * 10,
                               .page = draw.below(1U << 30U),
                               .count = 1 + draw.below(10)});
    }
    std::uint32_t const mirrors = draw_count(draw, kSequences - 1);
    for (std::uint32_t i = 0; i < mirrors; ++i) {
      std::uint32_t const columns = draw.below(kColumns + 1);
      lists.mirrors.push_back({.sequence = 1 + i,
                               .committed = draw.below(1U << 20U),
                               .open = draw.below(99),
                               .generation = draw.below(1U << 30U),
                               .read_slot = draw.below(1000),
                               .first_column = static_cast<std::uint32_t>(lists.columns.size()),
                               .write_count = columns});
      for (std::uint32_t column = 0; column < columns; ++column) {
        lists.columns.push_back(draw.below(1000));
      }
    }
    std::uint32_t const runs = draw_count(draw, 500);
    for (std::uint32_t i = 0; i < runs; ++i) {
      lists.runs.push_back(
          {.sequence = draw.below(kSequences), .rows = draw.below(draw.one_of({2U, 80U}))});
    }
    bool const clears = draw.below(2) == 0;
    std::uint32_t const cleared_plane = draw.below(3);

    Image image{*device_, bytes, draw};
    image.upload();
    auto pinned = device_->allocate(1U << 20U, MemoryKind::kPinned);
    ASSERT_TRUE(IsOk(pinned));
    std::byte* at = pinned->base;
    auto const parameters = [&](std::byte* base) {
      for (std::size_t plane = 0; plane < bases.size(); ++plane) {
        lists.strips[plane].base = base + bases[plane];
      }
      return StepParameters{.strips = put(at, lists.strips),
                            .copies = put(at, lists.copies),
                            .patches = put(at, lists.patches),
                            .mirrors = put(at, lists.mirrors),
                            .runs = put(at, lists.runs),
                            .columns = put(at, lists.columns),
                            .records = base,
                            .tables = reinterpret_cast<std::uint32_t*>(base + tables_at),
                            .row_sequences = reinterpret_cast<std::uint32_t*>(base + rows_at),
                            .record_bytes = kRecordBytes,
                            .copy_count = static_cast<std::uint32_t>(lists.copies.size()),
                            .patch_count = patches,
                            .mirror_count = mirrors,
                            .run_count = runs,
                            .zero_plane = cleared_plane,
                            .zero_page = clears ? kPages - 1U : 0U};
    };
    auto const here = parameters(image.on_host<std::byte>(0));
    auto const there = parameters(image.on_device<std::byte>(0));
    ASSERT_LT(at, pinned->base + pinned->bytes);
    EXPECT_EQ(image.difference(kStepKernel, &here, &there), -1)
        << "seed " << seed << ": " << lists.copies.size() << " copies, " << patches << " entries, "
        << mirrors << " records, " << runs << " runs";
    device_->free(*pinned);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace holdfast::test
