// SPDX-License-Identifier: Apache-2.0
// Goal: pool keys are the reduction of their own rows, whatever the writes looked like, and kernels
// declare exactly the bytes that they write.
// Method: keys against the formula computed apart; memory compared around every launch.
#include "planes/row_kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>
#include <memory>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

using internal::planes::kWriteIndexerKernel;
using internal::planes::kWriteRowsKernel;
using internal::planes::WriteIndexerParameters;
using internal::planes::WriteRowsParameters;

constexpr std::uint32_t kKeys = 1;  // class index in latent_layout(): latent, keys, ring
constexpr std::uint32_t kRing = 2;

/// One paged class by hand: pages of 2 rows, a table that scatters them, memory of one pattern.
class KernelTest : public testing::Test {
 protected:
  static constexpr std::byte kPattern{0xab};
  static constexpr std::uint32_t kPages = 8;

  KernelTest() { memory_.fill(kPattern); }

  /// Rows of so many strips, each of some f32 or what is given.
  RowsView view(std::uint32_t strips,
                std::uint32_t elements,
                std::uint32_t ring_rows,
                Format format = Format::kF32) {
    RowsView made{.pages = memory_.data(),
                  .table = table_.data(),
                  .sequence = &mirror_,
                  .page_bytes = memory_.size() / kPages,
                  .layer_offset = 16,
                  .page_rows = 2,
                  .ring_rows = ring_rows};
    for (std::uint32_t strip = 0; strip < strips; ++strip) {
      add_strip(made.strips, elements, format, made.page_rows);
    }
    return made;
  }
  /// Bytes that were declared as written, and those that are not the pattern any more.
  void expect_exact(Kernel const& kernel, void const* parameters) {
    struct Sink final : AccessSink {
      std::vector<bool> written = std::vector<bool>(sizeof memory_);
      std::byte const* base = nullptr;
      void read(void const* /*at*/, std::uint64_t /*bytes*/) noexcept override {}
      void write(void const* at, std::uint64_t bytes) noexcept override {
        auto const first = static_cast<std::size_t>(static_cast<std::byte const*>(at) - base);
        for (std::uint64_t i = 0; i < bytes; ++i) {
          written.at(first + i) = true;
        }
      }
    } sink;
    sink.base = memory_.data();
    kernel.accesses(parameters, sink);
    kernel.host(parameters);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      EXPECT_EQ(sink.written[i], memory_[i] != kPattern) << kernel.name << " byte " << i;
    }
  }
  float at(std::uint32_t page, std::uint64_t offset) const {
    float value = 0;
    std::memcpy(
        &value, memory_.data() + page * memory_.size() / kPages + 16 + offset, sizeof value);
    return value;
  }

  alignas(256) std::array<std::byte, kPages * 128> memory_;
  std::array<std::uint32_t, 4> table_ = {5, 2, 7, 3};
  SequenceMirror mirror_{
      .committed = 1, .open = 4, .generation = 1, .read_slot = 0, .write_slot = {}};
};

TEST_F(KernelTest, WriteRowsPutsStripsOfRowsInTheirPages) {
  std::array<float, 12> source{};  // rows 1, 2, 3 of 2 strips of 2 elements
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<float>(i) + 1;
  }
  WriteRowsParameters const parameters{
      .view = view(2, 2, 0), .source = source.data(), .first = 0, .count = 3};
  expect_exact(kWriteRowsKernel, &parameters);
  EXPECT_EQ(at(5, 8), 1.0F);         // row 1, keys
  EXPECT_EQ(at(5, 16 + 8), 3.0F);    // row 1, values
  EXPECT_EQ(at(2, 0), 5.0F);         // row 2
  EXPECT_EQ(at(2, 16 + 12), 12.0F);  // row 3, values, element 1
}

TEST_F(KernelTest, WriteRowsStartsAtTheFirstOpenRowGiven) {
  float const source = 9;
  WriteRowsParameters const parameters{
      .view = view(1, 1, 0), .source = &source, .first = 3, .count = 1};
  expect_exact(kWriteRowsKernel, &parameters);
  EXPECT_EQ(at(7, 0), 9.0F);  // row 1 + 3
}

TEST_F(KernelTest, WriteRowsWrapsAroundARing) {
  mirror_.committed = 5;
  std::array<float, 2> const source = {1, 2};
  WriteRowsParameters const parameters{
      .view = view(1, 1, 6), .source = source.data(), .first = 0, .count = 2};
  expect_exact(kWriteRowsKernel, &parameters);
  EXPECT_EQ(at(7, 4), 1.0F);  // row 5
  EXPECT_EQ(at(5, 0), 2.0F);  // row 6 is physical row 0
}

TEST_F(KernelTest, WriteRowsNarrowsToTheFormatOfTheView) {
  // Two rows of 2 strips of 2 elements: ties to both sides, a carry, and what only f16 rounds.
  std::array<float, 8> const source = {257, 259, -511.0F, 2049, 2051, 1, 65520, 0x1p-25F};
  for (auto const& [format, stored] :
       {std::pair{Format::kF16,
                  std::array<std::uint16_t, 8>{
                      0x5c04, 0x5c0c, 0xdffc, 0x6800, 0x6802, 0x3c00, 0x7c00, 0x0000}},
        {Format::kBf16, {0x4380, 0x4382, 0xc400, 0x4500, 0x4500, 0x3f80, 0x4780, 0x3300}}}) {
    memory_.fill(kPattern);
    mirror_.committed = 0;
    RowsView const narrow = view(2, 2, 0, format);
    WriteRowsParameters const parameters{
        .view = narrow, .source = source.data(), .first = 0, .count = 2};
    std::size_t next = 0;
    kWriteRowsKernel.host(&parameters);
    for (std::uint64_t const row : {0U, 1U}) {
      for (std::uint64_t const strip : {0U, 1U}) {
        for (std::uint64_t const element : {0U, 1U}) {
          std::uint16_t found = 0;
          std::memcpy(
              &found,
              memory_.data() + 5 * std::size_t{128} + 16 + strip * 8 + row * 4 + element * 2,
              sizeof found);
          EXPECT_EQ(found, stored.at(next)) << name_of(format) << " element " << next;
          ++next;
        }
      }
    }
    memory_.fill(kPattern);
    expect_exact(kWriteRowsKernel, &parameters);
  }
}

TEST_F(KernelTest, KeyIsTheWeightedMeanWithTheGateClamped) {
  mirror_.committed = 0;
  // [value | gate], one element each: weights 0 (clamped), 1 (clamped), 0.5 and 0.75.
  std::array<float, 8> const source = {8, -9, 6, 9, 4, 0, 2, 1};
  std::array<std::uint32_t, 2> key_table = {6, 1};
  RowsView keys = view(1, 1, 0);
  keys.table = key_table.data();
  WriteIndexerParameters const parameters{.ring = view(1, 2, 0),
                                          .keys = keys,
                                          .source = source.data(),
                                          .first = 0,
                                          .count = 4,
                                          .written = 4,
                                          .pool = 2,
                                          .key_width = 1,
                                          .first_key = 0};
  expect_exact(kWriteIndexerKernel, &parameters);
  EXPECT_EQ(at(6, 0), (0.0F * 8 + 1.0F * 6) / 2);
  EXPECT_EQ(at(6, 4), (0.5F * 4 + 0.75F * 2) / 2);
}

TEST_F(KernelTest, FinalKeysAndUnfinishedPoolsAreLeftAlone) {
  mirror_.committed = 2;
  std::array<float, 6> const source = {1, 0, 1, 0, 1, 0};
  std::array<std::uint32_t, 2> key_table = {6, 1};
  RowsView keys = view(1, 1, 0);
  keys.table = key_table.data();
  WriteIndexerParameters const parameters{.ring = view(1, 2, 0),
                                          .keys = keys,
                                          .source = source.data(),
                                          .first = 0,
                                          .count = 3,
                                          .written = 3,
                                          .pool = 2,
                                          .key_width = 1,
                                          .first_key = 1};
  expect_exact(kWriteIndexerKernel, &parameters);
  EXPECT_EQ(memory_[6 * 128 + 16], kPattern) << "key 0 is final";
  EXPECT_EQ(at(6, 4), 0.5F);
  EXPECT_EQ(memory_[1 * 128 + 16], kPattern) << "pool 2 has one row";
}

TEST_F(KernelTest, WithoutASourceOnlyKeysAreWritten) {
  mirror_.committed = 0;
  std::array<float, 4> const rows = {4, 0, 2, 0};
  for (std::uint32_t row = 0; row < 2; ++row) {
    std::memcpy(memory_.data() + 5 * 128 + 16 + row * std::size_t{8}, &rows[row * 2U], 8);
  }
  auto const before = memory_;
  std::array<std::uint32_t, 1> key_table = {6};
  RowsView keys = view(1, 1, 0);
  keys.table = key_table.data();
  WriteIndexerParameters const parameters{.ring = view(1, 2, 0),
                                          .keys = keys,
                                          .source = nullptr,
                                          .first = 0,
                                          .count = 2,
                                          .written = 2,
                                          .pool = 2,
                                          .key_width = 1,
                                          .first_key = 0};
  kWriteIndexerKernel.host(&parameters);
  EXPECT_EQ(at(6, 0), 1.5F);
  EXPECT_EQ(std::memcmp(memory_.data() + 5 * 128, before.data() + 5 * 128, 128), 0);
}

/// Keys through a cache: what the engine writes against the formula.
class PoolKeyTest : public testing::Test {
 protected:
  PoolKeyTest()
      : created_{Cache::create(latent_layout(), device_)}, sequence_{created_->create_sequence()} {}

  float key(std::uint32_t row, std::uint32_t element) const {
    std::array<float, 2> out{};
    EXPECT_TRUE(IsOk(created_->inspect().read_rows(
        {HolderKind::kSequence, sequence_->id().index}, kKeys, 0, row, 1, out)));
    return out.at(element);
  }

  DeclaringDevice device_;
  Result<Cache> created_;
  Result<Sequence> sequence_;
};

TEST_F(PoolKeyTest, AppendOfAnyCutBuildsTheSameKeys) {
  ToyEngine const engine{*created_};
  History history;
  for (std::uint32_t const count : {1U, 1U, 3U, 4U, 2U, 7U, 5U}) {
    engine.append(*sequence_, history, make_tokens(count, count));
    engine.expect(*sequence_, history);
  }
}

TEST_F(PoolKeyTest, LongAppendBuildsEachKeyBeforeItsRowsAreLapped) {
  ToyEngine const engine{*created_};
  History history;
  engine.append(*sequence_, history, make_tokens(3, 1));
  engine.append(*sequence_, history, make_tokens(31, 2));  // five laps of the ring
  engine.expect(*sequence_, history);
}

TEST_F(PoolKeyTest, RewritingARowOfARoundRebuildsItsKey) {
  ToyEngine const engine{*created_};
  History history;
  engine.append(*sequence_, history, make_tokens(3, 1));
  auto round = sequence_->verify(4);
  ASSERT_TRUE(IsOk(round));
  engine.write(*round, 3, make_tokens(4, 5));
  History const again = make_tokens(4, 9);
  for (std::uint32_t const layer : {0U, 2U}) {
    PlaneInfo const ring = created_->inspect().plane(kRing);
    PlaneInfo const latent = created_->inspect().plane(0);
    for (std::uint32_t const i : {2U, 0U, 3U, 1U}) {  // any open row, in any order
      auto const row = engine.rows(ring, layer, 3 + i, {again[i]});
      ASSERT_TRUE(IsOk(round->write(PlaneKind::kTailRing, layer, row.data(), i, 1)));
      auto const other = engine.rows(latent, layer, 3 + i, {again[i]});
      ASSERT_TRUE(IsOk(round->write(PlaneKind::kLatent, layer, other.data(), i, 1)));
    }
  }
  ASSERT_TRUE(IsOk(round->accept(4)));
  engine.expect(*sequence_, joined(history, again));
}

TEST_F(PoolKeyTest, KeyOverARejectedRowIsBuiltAgain) {
  ToyEngine const engine{*created_};
  History history;
  engine.append(*sequence_, history, make_tokens(3, 1));
  engine.verify(*sequence_, history, make_tokens(4, 5), 0);
  engine.append(*sequence_, history, make_tokens(1, 8));
  EXPECT_EQ(key(1, 0), key_element(history, 0, 2, 2, 2, 0));
  engine.expect(*sequence_, history);
}

/// A fixed program over all planes: every kind of operation, positions of every residue.
void run_program(Cache& cache, std::uint32_t seed, std::uint32_t steps) {
  ToyEngine const engine{cache};
  auto sequence = cache.create_sequence();
  ASSERT_TRUE(IsOk(sequence));
  History history;
  std::vector<std::pair<Snapshot, History>> snapshots;
  std::uint32_t state = seed;
  auto const draw = [&](std::uint32_t limit) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8U) % limit;
  };
  for (std::uint32_t step = 0; step < steps; ++step) {
    auto const position = static_cast<std::uint32_t>(history.size());
    std::uint32_t const room = 40 - position;
    switch (draw(7)) {
      case 0:
        if (room > 0) {
          engine.append(*sequence, history, make_tokens(1 + draw(room), draw(1000)));
        }
        break;
      case 1:
      case 2:
        if (room > 3) {
          std::uint32_t const rows = draw(5);
          engine.verify(*sequence, history, make_tokens(rows, draw(1000)), draw(rows + 1));
        }
        break;
      case 3:
        if (snapshots.size() < 4) {
          auto snapshot = sequence->snapshot();
          ASSERT_TRUE(IsOk(snapshot));
          snapshots.emplace_back(std::move(*snapshot), history);
        }
        break;
      case 4:
        if (!snapshots.empty()) {
          auto const& [snapshot, held] =
              snapshots[draw(static_cast<std::uint32_t>(snapshots.size()))];
          ASSERT_TRUE(IsOk(sequence->rollback(snapshot)));
          history = held;
        }
        break;
      case 5:
        if (!snapshots.empty()) {
          auto fork = snapshots.front().first.fork();
          ASSERT_TRUE(IsOk(fork));
          *sequence = std::move(*fork);
          history = snapshots.front().second;
          snapshots.erase(snapshots.begin());
        }
        break;
      default: {
        std::uint32_t const length = draw(position + 1);
        if (sequence->truncate(length)) {
          history = first_of(history, length);
        }
      }
    }
    engine.expect(*sequence, history);
    for (auto const& [snapshot, held] : snapshots) {
      engine.expect(snapshot, held);
    }
    if (testing::Test::HasFailure()) {
      FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(DeclaredAccesses, EveryByteThatChangesWasDeclared) {
  std::vector<Layout> layouts = layouts_of_formats();
  layouts.insert(layouts.end(),
                 {attention_layout(),
                  latent_layout(),
                  hybrid_layout(),
                  formats_layout(),
                  pool_of_one_layout()});
  for (Layout const& layout : layouts) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      DeclaringDevice device;
      auto cache = Cache::create(layout, device);
      ASSERT_TRUE(IsOk(cache));
      run_program(*cache, seed, 60);
      EXPECT_EQ(device.undeclared_bytes, 0U);
      EXPECT_GT(device.changed_bytes, 0U) << "the comparison saw something";
      EXPECT_GE(device.declared_bytes, device.changed_bytes);
    }
  }
}

}  // namespace
}  // namespace holdfast::test
