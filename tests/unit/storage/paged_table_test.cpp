// SPDX-License-Identifier: Apache-2.0
// Goal: the writer and sealed rules, chunk sharing and exact freeing of page tables.
// Method: drives one table by hand - pages of 2 rows, chunks of 2 pages - with real steps on host
// memory; every test ends with an audit.
#include "storage/paged_table.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <memory>
#include <vector>

#include "storage/plan.hpp"
#include "storage/step.hpp"
#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/unit/one_rank.hpp"

namespace holdfast::test {
namespace {

using internal::storage::make_plan;
using internal::storage::Owner;
using internal::storage::PagedTable;
using internal::storage::Plan;
using internal::storage::StepWork;

constexpr internal::storage::StepLimits kLimits{
    .planes = 1, .copies = 4, .patches = 64, .columns = 1, .mirrors = 1, .runs = 1};

constexpr Holder sequence(std::uint32_t index) {
  return {HolderKind::kSequence, index};
}
constexpr Holder snapshot(std::uint32_t index) {
  return {HolderKind::kSnapshot, index};
}
constexpr Owner owner(std::uint32_t index, std::uint64_t generation = 1) {
  return {.index = index, .mark = (generation << 32U) | index};
}

class PagedTableTest : public testing::Test {
 protected:
  PagedTableTest() {
    EXPECT_TRUE(IsOk(make_plan(small_layout({{{LatentSpec{.width = 1}}}}), plan_)));
    auto const& known = plan_.classes[0];
    pages_.resize(known.pages * known.page_bytes / sizeof(float));
    device_table_.resize(plan_.sequence_limit * known.entries);
    auto* const base = reinterpret_cast<std::byte*>(pages_.data());
    EXPECT_TRUE(table_.create(plan_, 0, base, device_table_.data()));
    attach_one_rank(step_, kLimits, *device_, block_, device_table_.data());
    step_.set_strips(0,
                     0,
                     {.base = base,
                      .page_bytes = known.page_bytes,
                      .runs = internal::storage::runs_of(known.strips, known.layer_count)});
    free_at_first_ = table_.pages().free_count();
  }
  ~PagedTableTest() override { EXPECT_TRUE(table_.audit()); }

  /// What a begin does for open rows [from, to), then writes `value + row` into each.
  void write(Owner who, std::uint32_t from, std::uint32_t to, float value) {
    std::uint32_t const needed = table_.pages_needed(who, from, to);
    std::uint32_t const before = table_.pages().free_count();
    ASSERT_TRUE(step_.begin());
    table_.copy_on_write(who, from, to, step_);
    table_.extend(who, to, step_);
    EXPECT_EQ(before - table_.pages().free_count(), needed) << "need is exact";
    ASSERT_TRUE(IsOk(step_.launch({})));
    for (std::uint32_t row = from; row < to; ++row) {
      cell(sequence(who.index), row) = value + static_cast<float>(row);
    }
  }
  void load(std::uint32_t from, Owner who, bool fresh) {
    ASSERT_TRUE(step_.begin());
    table_.load(from, who, fresh, step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
  }
  float& cell(Holder holder, std::uint32_t row) {
    return pages_[std::uint64_t{table_.page_at(holder, row / 2)} * 2 + row % 2];
  }
  std::vector<float> cells(Holder holder, std::uint32_t rows) {
    std::vector<float> out;
    for (std::uint32_t row = 0; row < rows; ++row) {
      out.push_back(cell(holder, row));
    }
    return out;
  }
  /// The device's table names the same pages as the host's.
  void expect_device_table(std::uint32_t index) {
    for (std::uint32_t entry = 0; entry < table_.page_count(sequence(index)); ++entry) {
      EXPECT_EQ(table_.device_table(index)[entry], table_.page_at(sequence(index), entry));
    }
  }
  std::uint32_t taken() const { return free_at_first_ - table_.pages().free_count(); }

  Plan plan_;
  std::vector<float> pages_;
  std::vector<std::uint32_t> device_table_;
  std::vector<std::max_align_t> block_;
  std::unique_ptr<Device> device_ = make_host_device();
  PagedTable table_;
  StepWork step_;
  std::uint32_t free_at_first_ = 0;
};

using Floats = std::vector<float>;

TEST_F(PagedTableTest, HoldsThePagesOfItsRowsAndNoMore) {
  write(owner(1), 0, 3, 0);
  EXPECT_EQ(table_.page_count(sequence(1)), 2U);
  EXPECT_EQ(table_.chunk_count(sequence(1)), 1U);
  write(owner(1), 3, 5, 0);
  EXPECT_EQ(table_.page_count(sequence(1)), 3U);
  EXPECT_EQ(table_.chunk_count(sequence(1)), 2U);
  EXPECT_EQ(taken(), 3U);
  expect_device_table(1);
}

TEST_F(PagedTableTest, NoRowsNeedNoPage) {
  EXPECT_EQ(table_.pages_needed(owner(1), 3, 3), 0U);
}

TEST_F(PagedTableTest, CutGivesUpThePagesAboveAtOnce) {
  write(owner(1), 0, 8, 0);
  table_.cut(owner(1), 3);
  EXPECT_EQ(taken(), 2U);
  EXPECT_EQ(table_.page_count(sequence(1)), 2U);
  EXPECT_EQ(table_.chunk_count(sequence(1)), 1U);
  table_.cut(owner(1), 0);
  EXPECT_EQ(taken(), 0U);
  EXPECT_EQ(table_.chunks().free_count(), table_.chunks().count());
}

TEST_F(PagedTableTest, SnapshotTakesChunkReferencesOnly) {
  write(owner(1), 0, 5, 0);
  table_.hold(1, 1, 5);
  EXPECT_EQ(taken(), 3U);
  EXPECT_EQ(table_.chunk_at(snapshot(1), 0), table_.chunk_at(sequence(1), 0));
  EXPECT_EQ(table_.chunks().references(table_.chunk_at(snapshot(1), 1)), 2U);
  EXPECT_EQ(table_.pages().references(table_.page_at(snapshot(1), 2)), 1U);
  EXPECT_EQ(table_.snapshot_rows(1), 5U);
  EXPECT_EQ(table_.sealed(1), 5U);
}

TEST_F(PagedTableTest, WriterGoesOnInASharedPageAboveSealed) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  std::uint32_t const page = table_.page_at(sequence(1), 1);
  EXPECT_EQ(table_.pages_needed(owner(1), 3, 4), 0U);
  write(owner(1), 3, 4, 10);
  EXPECT_EQ(table_.page_at(sequence(1), 1), page);
  EXPECT_EQ(cells(snapshot(1), 3), (Floats{0, 1, 2}));
}

TEST_F(PagedTableTest, WriterBelowSealedCopies) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  table_.cut(owner(1), 1);
  EXPECT_EQ(table_.pages_needed(owner(1), 1, 2), 1U);
  write(owner(1), 1, 2, 10);
  EXPECT_EQ(cells(sequence(1), 2), (Floats{0, 11}));
  EXPECT_EQ(cells(snapshot(1), 3), (Floats{0, 1, 2}));
  EXPECT_EQ(table_.sealed(1), 1U) << "the copier is sealed at the row that it writes";
  expect_device_table(1);
}

TEST_F(PagedTableTest, ForkCopiesThePartialPageAndOnlyItsRows) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  write(owner(1), 3, 4, 50);  // in the shared page, above what the fork may see
  load(1, owner(2), true);
  EXPECT_EQ(table_.sealed(2), 3U);
  EXPECT_EQ(table_.page_at(sequence(2), 1), table_.page_at(sequence(1), 1));
  EXPECT_EQ(table_.pages_needed(owner(2), 3, 4), 1U);
  write(owner(2), 3, 3, 0);
  ASSERT_TRUE(step_.begin());
  table_.copy_on_write(owner(2), 3, 4, step_);
  ASSERT_TRUE(IsOk(step_.launch({})));
  EXPECT_EQ(cell(sequence(2), 2), 2.0F);
  EXPECT_EQ(cell(sequence(2), 3), 0.0F) << "the row above is another holder's";
  EXPECT_EQ(table_.pages().writer(table_.page_at(sequence(2), 1)), owner(2).mark);
  expect_device_table(2);
}

TEST_F(PagedTableTest, ForkOfAFullPageTakesAFreshOne) {
  write(owner(1), 0, 2, 0);
  table_.hold(1, 1, 2);
  load(1, owner(2), true);
  EXPECT_EQ(table_.pages_needed(owner(2), 2, 3), 1U);
  write(owner(2), 2, 3, 20);
  write(owner(1), 2, 3, 10);
  EXPECT_EQ(cell(sequence(1), 2), 12.0F);
  EXPECT_EQ(cell(sequence(2), 2), 22.0F);
}

TEST_F(PagedTableTest, AppendToASharedChunkTakesAPrivateOne) {
  write(owner(1), 0, 2, 0);  // one page in a chunk of two
  table_.hold(1, 1, 2);
  write(owner(1), 2, 3, 0);
  EXPECT_NE(table_.chunk_at(sequence(1), 0), table_.chunk_at(snapshot(1), 0));
  EXPECT_EQ(table_.chunks().used(table_.chunk_at(snapshot(1), 0)), 1U);
  EXPECT_EQ(table_.chunks().used(table_.chunk_at(sequence(1), 0)), 2U);
  EXPECT_EQ(table_.pages().references(table_.page_at(snapshot(1), 0)), 2U);
}

TEST_F(PagedTableTest, TruncateIntoASharedChunkLeavesTheSnapshotWhole) {
  write(owner(1), 0, 4, 0);
  table_.hold(1, 1, 4);
  table_.cut(owner(1), 1);
  EXPECT_EQ(table_.page_count(snapshot(1)), 2U);
  EXPECT_EQ(cells(snapshot(1), 4), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(taken(), 2U);
}

TEST_F(PagedTableTest, WritingAPageHeldAloneLowersSealed) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  table_.drop_snapshot(1);
  table_.cut(owner(1), 1);
  EXPECT_EQ(table_.sealed(1), 3U);
  EXPECT_EQ(table_.pages_needed(owner(1), 1, 2), 0U);
  write(owner(1), 1, 2, 10);
  EXPECT_EQ(table_.sealed(1), 1U);
}

TEST_F(PagedTableTest, PageThatComesBackThroughASnapshotHasNoWriter) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  table_.cut(owner(1), 2);  // gives the page with row 2 up
  load(1, owner(1), false);
  EXPECT_EQ(table_.pages().writer(table_.page_at(sequence(1), 1)), 0U);
  EXPECT_EQ(table_.pages_needed(owner(1), 3, 4), 1U);
  write(owner(1), 3, 4, 10);
  EXPECT_EQ(cells(sequence(1), 4), (Floats{0, 1, 2, 13}));
}

TEST_F(PagedTableTest, RollbackKeepsTheMarkOfPagesThatItKeeps) {
  write(owner(1), 0, 3, 0);
  table_.hold(1, 1, 3);
  write(owner(1), 3, 7, 10);
  load(1, owner(1), false);
  EXPECT_EQ(table_.page_count(sequence(1)), 2U);
  EXPECT_EQ(taken(), 2U) << "what came after the snapshot is free";
  EXPECT_EQ(table_.pages().writer(table_.page_at(sequence(1), 1)), owner(1).mark);
  EXPECT_EQ(table_.pages_needed(owner(1), 3, 4), 0U);
  expect_device_table(1);
}

TEST_F(PagedTableTest, RollbackToAnotherHistorySwapsAllPages) {
  write(owner(1), 0, 5, 0);
  table_.hold(1, 1, 5);
  write(owner(2), 0, 3, 100);
  load(1, owner(2), false);
  EXPECT_EQ(cells(sequence(2), 5), (Floats{0, 1, 2, 3, 4}));
  EXPECT_EQ(taken(), 3U);
  expect_device_table(2);
  EXPECT_EQ(table_.sealed(2), 5U);
}

TEST_F(PagedTableTest, ReusedIndexIsNotTheOldWriter) {
  write(owner(1, 1), 0, 3, 0);
  table_.hold(1, 1, 3);
  table_.release_sequence(owner(1, 1));
  load(1, owner(1, 2), true);
  EXPECT_EQ(table_.pages_needed(owner(1, 2), 3, 4), 1U);
}

TEST_F(PagedTableTest, DropFreesExactlyWhatOnlyItHeld) {
  write(owner(1), 0, 6, 0);
  table_.hold(1, 1, 6);
  table_.cut(owner(1), 2);
  write(owner(1), 2, 4, 10);
  EXPECT_EQ(taken(), 4U);  // three of the snapshot, one of them shared, and a fresh one
  table_.drop_snapshot(1);
  EXPECT_EQ(taken(), 2U);
  EXPECT_EQ(cells(sequence(1), 4), (Floats{0, 1, 12, 13}));
  table_.release_sequence(owner(1));
  EXPECT_EQ(taken(), 0U);
  EXPECT_EQ(table_.chunks().free_count(), table_.chunks().count());
}

TEST_F(PagedTableTest, SnapshotOfTheSameRowsSharesChunksAgain) {
  write(owner(1), 0, 4, 0);
  std::uint32_t const free_chunks = table_.chunks().free_count();
  table_.hold(1, 1, 4);
  table_.hold(1, 2, 4);
  EXPECT_EQ(table_.chunks().free_count(), free_chunks);
  EXPECT_EQ(table_.chunks().references(table_.chunk_at(sequence(1), 0)), 3U);
  table_.release_sequence(owner(1));
  table_.drop_snapshot(1);
  EXPECT_EQ(cells(snapshot(2), 4), (Floats{0, 1, 2, 3}));
}

}  // namespace
}  // namespace holdfast::test
