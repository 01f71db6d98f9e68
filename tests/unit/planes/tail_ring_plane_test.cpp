// SPDX-License-Identifier: Apache-2.0
// Goal: what is resident in a ring, which of its pages are written in place, what it refuses.
// Method: drives one ring by hand: pool 2, pages of 2 rows, R = 6, rounds up to 4.
#include "planes/tail_ring_plane.hpp"

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

using internal::planes::LoadKind;
using internal::planes::Opening;
using internal::planes::TailRingPlane;
using internal::storage::make_plan;
using internal::storage::Owner;
using internal::storage::Plan;
using internal::storage::StepWork;

constexpr internal::storage::StepLimits kLimits{
    .planes = 2, .copies = 8, .patches = 16, .columns = 4, .mirrors = 1, .runs = 1};

constexpr std::uint32_t kRing = 1;  // class index: pool keys come first

constexpr Holder sequence(std::uint32_t index) {
  return {HolderKind::kSequence, index};
}
constexpr Holder snapshot(std::uint32_t index) {
  return {HolderKind::kSnapshot, index};
}
constexpr Owner owner(std::uint32_t index, std::uint64_t generation = 1) {
  return {.index = index, .mark = (generation << 32U) | index};
}

class TailRingPlaneTest : public testing::Test {
 protected:
  TailRingPlaneTest() {
    EXPECT_TRUE(IsOk(make_plan(small_layout({{{small_indexer()}}}), plan_)));
    auto const& known = plan_.classes[kRing];
    EXPECT_EQ(known.kind, PlaneKind::kTailRing);
    pages_.resize(known.pages * known.page_bytes / sizeof(float));
    device_table_.resize(plan_.sequence_limit * known.entries);
    auto* const base = reinterpret_cast<std::byte*>(pages_.data());
    EXPECT_TRUE(plane_.create(plan_, kRing, {.pages = base, .device_table = device_table_.data()}));
    attach_one_rank(step_, kLimits, *device_, block_, device_table_.data());
    step_.set_strips(0,
                     kRing,
                     {.base = base,
                      .page_bytes = known.page_bytes,
                      .runs = internal::storage::runs_of(known.strips, known.layer_count)});
    free_at_first_ = plane_.available();
  }
  ~TailRingPlaneTest() override { EXPECT_TRUE(plane_.audit()); }

  /// Begins, writes position + value into the first element of `written` rows, ends with `keep`.
  void run(Owner who,
           Opening const& opening,
           std::uint32_t written,
           std::uint32_t keep,
           float value = 0) {
    begin(who, opening);
    for (std::uint32_t i = 0; i < written; ++i) {
      cell(who.index, opening.base + i) = static_cast<float>(opening.base + i) + value;
    }
    end(who, opening, written, keep);
  }
  void begin(Owner who, Opening const& opening) {
    std::uint32_t const needed = plane_.need(who, opening);
    std::uint32_t const before = plane_.available();
    EXPECT_TRUE(step_.begin());
    plane_.open(who, opening, step_);
    EXPECT_EQ(before - plane_.available(), needed) << "need is exact";
    ASSERT_TRUE(IsOk(step_.launch({})));
  }
  void end(Owner who, Opening const& opening, std::uint32_t written, std::uint32_t keep) {
    EXPECT_TRUE(step_.begin());
    plane_.close(
        who,
        {.opening = opening, .keep = keep, .reached = opening.base + written, .written = written},
        step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
  }
  void append(Owner who, std::uint32_t base, std::uint32_t rows, float value = 0) {
    run(who, {.base = base, .rows = rows, .round = false}, rows, rows, value);
  }
  void load(std::uint32_t from, Owner who, LoadKind kind) {
    EXPECT_TRUE(step_.begin());
    plane_.load(from, who, kind, step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
  }
  float& cell(std::uint32_t index, std::uint32_t position) {
    return row(plane_.page_at(sequence(index), position % 6 / 2), position);
  }
  float& row(std::uint32_t page, std::uint32_t position) {
    return pages_[(std::uint64_t{page} * 2 + position % 2) * 4];  // 4 elements a row
  }
  PlaneState state(std::uint32_t index) const { return plane_.state(sequence(index)); }
  std::uint32_t taken() const { return free_at_first_ - plane_.available(); }

  Plan plan_;
  std::vector<float> pages_;
  std::vector<std::uint32_t> device_table_;
  std::vector<std::max_align_t> block_;
  std::unique_ptr<Device> device_ = make_host_device();
  TailRingPlane plane_;
  StepWork step_;
  std::uint32_t free_at_first_ = 0;
};

TEST_F(TailRingPlaneTest, TakesPagesAsRowsReachThemAndNeverMoreThanR) {
  append(owner(1), 0, 1);
  EXPECT_EQ(taken(), 1U);
  append(owner(1), 1, 3);
  EXPECT_EQ(taken(), 2U);
  append(owner(1), 4, 20);
  EXPECT_EQ(taken(), 3U);
}

TEST_F(TailRingPlaneTest, CommitRaisesLoByWhatWasWritten) {
  append(owner(1), 0, 6);
  EXPECT_EQ(state(1).lo, 0U);
  append(owner(1), 6, 2);
  EXPECT_EQ(state(1).lo, 2U);
  EXPECT_EQ(state(1).length, 8U);
}

TEST_F(TailRingPlaneTest, RejectedRowsOverwriteToo) {
  append(owner(1), 0, 4);
  run(owner(1), {.base = 4, .rows = 4, .round = true}, 4, 1);
  EXPECT_EQ(state(1).length, 5U);
  EXPECT_EQ(state(1).lo, 2U) << "rows up to 8 were written";
}

TEST_F(TailRingPlaneTest, RowsThatWereNotWrittenDoNotCount) {
  append(owner(1), 0, 4);
  run(owner(1), {.base = 4, .rows = 4, .round = true}, 2, 0);
  EXPECT_EQ(state(1).lo, 0U);
}

TEST_F(TailRingPlaneTest, DroppedAppendKeepsTheOpenPoolResident) {
  append(owner(1), 0, 5);
  run(owner(1), {.base = 5, .rows = 9, .round = false}, 9, 0, 100);
  EXPECT_EQ(state(1).length, 5U);
  EXPECT_EQ(state(1).lo, 4U);
  EXPECT_EQ(cell(1, 4), 4.0F) << "a drop is exact";
}

TEST_F(TailRingPlaneTest, TruncateNeedsTheOpenPoolResident) {
  append(owner(1), 0, 9);  // resident: [3, 9)
  ASSERT_EQ(state(1).lo, 3U);
  Status const refused = plane_.can_truncate(1, 3);  // needs row 2
  ASSERT_TRUE(HasCode(refused, ErrorCode::kRefused, "tail_ring"));
  EXPECT_EQ(refused.error().got, 2);
  EXPECT_EQ(refused.error().limit, 3);
  EXPECT_TRUE(HasCode(plane_.can_truncate(1, 1), ErrorCode::kRefused));
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 2))) << "no open pool, nothing is needed";
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 0)));
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 5)));
}

TEST_F(TailRingPlaneTest, TruncateLowersLoToTheLength) {
  append(owner(1), 0, 9);
  plane_.truncate(owner(1), 2, step_);
  EXPECT_EQ(state(1).length, 2U);
  EXPECT_EQ(state(1).lo, 2U);
}

TEST_F(TailRingPlaneTest, SnapshotHoldsThePageOfTheOpenPoolOnly) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  std::uint32_t const page = plane_.page_at(sequence(1), 2);
  EXPECT_EQ(plane_.arena().references(page), 2U);
  EXPECT_EQ(plane_.page_at(snapshot(1), 2), page);
  EXPECT_EQ(plane_.page_at(snapshot(1), 0), 0U);
  EXPECT_EQ(plane_.state(snapshot(1)).lo, 4U);
  plane_.drop(1);
  EXPECT_EQ(plane_.arena().references(page), 1U);
}

TEST_F(TailRingPlaneTest, SnapshotAtAPoolEndHoldsNothing) {
  append(owner(1), 0, 4);
  plane_.hold(1, 1);
  plane_.release(owner(1));
  EXPECT_EQ(taken(), 0U);
  EXPECT_EQ(plane_.state(snapshot(1)).length, 4U);
}

TEST_F(TailRingPlaneTest, LoadTakesTheHeldPageAndGivesUpTheOthers) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  append(owner(1), 5, 1);
  EXPECT_EQ(taken(), 3U);
  load(1, owner(1), LoadKind::kRollback);
  EXPECT_EQ(taken(), 1U);
  EXPECT_EQ(state(1).length, 5U);
  EXPECT_EQ(state(1).lo, 4U);
  EXPECT_EQ(plane_.device_table(1)[2], plane_.page_at(sequence(1), 2));
}

TEST_F(TailRingPlaneTest, WriterGoesOnInASharedPageInTheSameLap) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  EXPECT_EQ(plane_.need(owner(1), {.base = 5, .rows = 1, .round = false}), 0U);
  append(owner(1), 5, 1);
  EXPECT_EQ(row(plane_.page_at(snapshot(1), 2), 4), 4.0F);
}

TEST_F(TailRingPlaneTest, WriterCopiesASharedPageInTheNextLap) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  append(owner(1), 5, 5);  // up to the second row of entry 1, lap 1
  std::uint32_t const held = plane_.page_at(snapshot(1), 2);
  EXPECT_EQ(plane_.page_at(sequence(1), 2), held);
  append(owner(1), 10, 1, 100);  // entry 2, lap 1
  EXPECT_NE(plane_.page_at(sequence(1), 2), held);
  EXPECT_EQ(row(held, 4), 4.0F);
  EXPECT_EQ(cell(1, 10), 110.0F);
  EXPECT_EQ(cell(1, 5), 5.0F) << "the copier's resident rows come along";
}

TEST_F(TailRingPlaneTest, AppendThatWrapsOntoASharedPageCopiesIt) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  append(owner(1), 5, 7, 100);  // rows 5 .. 11: row 11 meets entry 2 again
  EXPECT_EQ(row(plane_.page_at(snapshot(1), 2), 4), 4.0F);
}

TEST_F(TailRingPlaneTest, ForkCopiesTheOpenPool) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  load(1, owner(2), LoadKind::kFork);
  EXPECT_EQ(state(2).sealed, 5U);
  EXPECT_EQ(plane_.need(owner(2), {.base = 5, .rows = 1, .round = false}), 1U);
  append(owner(2), 5, 1, 100);
  append(owner(1), 5, 1, 200);
  EXPECT_EQ(cell(2, 4), 4.0F);
  EXPECT_EQ(cell(2, 5), 105.0F);
  EXPECT_EQ(cell(1, 5), 205.0F);
}

TEST_F(TailRingPlaneTest, LongAppendHoldsTheBasePageUntilItCloses) {
  append(owner(1), 0, 5);
  std::uint32_t const base_page = plane_.page_at(sequence(1), 2);
  Opening const opening{.base = 5, .rows = 6, .round = false};
  EXPECT_EQ(plane_.view_limit(5), 5U);
  begin(owner(1), opening);
  ASSERT_EQ(plane_.open_pages(1).size(), 1U);
  EXPECT_EQ(plane_.open_pages(1)[0], base_page);
  EXPECT_NE(plane_.page_at(sequence(1), 2), base_page);
  EXPECT_EQ(cell(1, 4), 4.0F) << "the copy has the live rows";
  end(owner(1), opening, 0, 0);
  EXPECT_TRUE(plane_.open_pages(1).empty());
  EXPECT_EQ(plane_.page_at(sequence(1), 2), base_page);
  EXPECT_EQ(plane_.device_table(1)[2], base_page);
  EXPECT_EQ(taken(), 3U);
}

TEST_F(TailRingPlaneTest, CommittedLongAppendGivesTheBasePageBack) {
  append(owner(1), 0, 5);
  append(owner(1), 5, 6);
  EXPECT_EQ(taken(), 3U);
  EXPECT_EQ(state(1).lo, 5U);
}

TEST_F(TailRingPlaneTest, AppendUpToTheViewLimitIsNotLong) {
  append(owner(1), 0, 5);
  Opening const opening{.base = 5, .rows = 5, .round = false};
  begin(owner(1), opening);
  EXPECT_TRUE(plane_.open_pages(1).empty());
  end(owner(1), opening, 0, 0);
}

TEST_F(TailRingPlaneTest, OtherGenerationIsNotTheWriter) {
  append(owner(1, 1), 0, 5);
  plane_.hold(1, 1);
  plane_.release(owner(1, 1));
  load(1, owner(1, 2), LoadKind::kFork);
  EXPECT_EQ(plane_.need(owner(1, 2), {.base = 5, .rows = 1, .round = false}), 1U);
}

TEST_F(TailRingPlaneTest, ReleaseFreesEverythingThatNobodyElseHolds) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  plane_.release(owner(1));
  EXPECT_EQ(taken(), 1U);
  plane_.drop(1);
  EXPECT_EQ(taken(), 0U);
}

TEST_F(TailRingPlaneTest, SizesItself) {
  auto const& known = plan_.classes[kRing];
  EXPECT_EQ(known.ring_rows, 6U);
  EXPECT_EQ(known.page_rows, 2U);
  EXPECT_EQ(known.entries, 3U);
  EXPECT_EQ(known.row_elements, 4U);
  EXPECT_EQ(plane_.need_to_start(), 0U);
}

}  // namespace
}  // namespace holdfast::test
