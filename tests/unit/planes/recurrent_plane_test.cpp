// SPDX-License-Identifier: Apache-2.0
// Goal: state slots are picked, shared and freed exactly, and a held slot is never written.
// Method: drives one plane by hand; rounds up to 4 rows.
#include "planes/recurrent_plane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
using internal::planes::RecurrentPlane;
using internal::planes::StateMode;
using internal::storage::make_plan;
using internal::storage::Owner;
using internal::storage::Plan;
using internal::storage::StepWork;

constexpr internal::storage::StepLimits kLimits{
    .planes = 1, .copies = 4, .patches = 4, .columns = 4, .mirrors = 1, .runs = 1};

constexpr Holder sequence(std::uint32_t index) {
  return {HolderKind::kSequence, index};
}
constexpr Holder snapshot(std::uint32_t index) {
  return {HolderKind::kSnapshot, index};
}
constexpr Owner owner(std::uint32_t index) {
  return {.index = index, .mark = (std::uint64_t{1} << 32U) | index};
}

class RecurrentPlaneTest : public testing::Test {
 protected:
  RecurrentPlaneTest() {
    EXPECT_TRUE(IsOk(make_plan(small_layout({{{small_recurrent()}}}), plan_)));
    auto const& known = plan_.classes[0];
    slots_.resize(known.pages * known.page_bytes / sizeof(float), -1.0F);
    auto* const base = reinterpret_cast<std::byte*>(slots_.data());
    EXPECT_TRUE(plane_.create(plan_, 0, {.pages = base, .device_table = nullptr}));
    attach_one_rank(step_, kLimits, *device_, block_, nullptr);
    step_.set_strips(0,
                     0,
                     {.base = base,
                      .page_bytes = known.page_bytes,
                      .runs = {.count = 1, .list = {{.strips = 1, .row_bytes = 4}}}});
    free_at_first_ = plane_.available();
    start(1);
  }
  ~RecurrentPlaneTest() override { EXPECT_TRUE(plane_.audit()); }

  void start(std::uint32_t index) {
    EXPECT_TRUE(step_.begin());
    plane_.start(owner(index), step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
  }
  static Opening append_of(std::uint32_t base, std::uint32_t rows) {
    return {.base = base, .rows = rows, .round = false};
  }
  static Opening round_of(std::uint32_t base, std::uint32_t rows) {
    return {.base = base, .rows = rows, .round = true};
  }
  static Opening in_place(Opening opening) {
    opening.mode = StateMode::kInPlace;
    return opening;
  }
  std::vector<std::uint32_t> begin(std::uint32_t index, Opening const& opening) {
    std::uint32_t const needed = plane_.need(owner(index), opening);
    std::uint32_t const before = plane_.available();
    EXPECT_TRUE(step_.begin());
    step_.open_mirror();
    plane_.open(owner(index), opening, step_);
    EXPECT_EQ(before - plane_.available(), needed) << "need is exact";
    auto const columns = plane_.open_pages(index);
    EXPECT_EQ(columns.size(), needed);
    return {columns.begin(), columns.end()};
  }
  void end(std::uint32_t index, Opening const& opening, std::uint32_t keep) {
    std::uint32_t const all = opening.base + opening.rows;
    plane_.close(owner(index),
                 {.opening = opening, .keep = keep, .reached = all, .written = opening.rows},
                 step_);
  }
  std::uint32_t slot(Holder holder) const { return plane_.state(holder).slot; }
  std::uint32_t taken() const { return free_at_first_ - plane_.available(); }

  Plan plan_;
  std::vector<float> slots_;
  std::vector<std::max_align_t> block_;
  std::unique_ptr<Device> device_ = make_host_device();
  RecurrentPlane plane_;
  StepWork step_;
  std::uint32_t free_at_first_ = 0;
};

TEST_F(RecurrentPlaneTest, StartTakesOneSlotOfZeros) {
  EXPECT_EQ(plane_.need_to_start(), 1U);
  EXPECT_EQ(taken(), 1U);
  std::uint64_t const size = plan_.classes[0].page_bytes / sizeof(float);
  auto const first = slots_.begin() + static_cast<std::ptrdiff_t>(slot(sequence(1)) * size);
  EXPECT_TRUE(std::all_of(
      first, first + static_cast<std::ptrdiff_t>(size), [](float value) { return value == 0; }));
  EXPECT_EQ(slots_[0], -1.0F) << "the reserved slot is left alone";
}

TEST_F(RecurrentPlaneTest, AppendNeedsOneSlotHoweverLong) {
  EXPECT_EQ(plane_.need(owner(1), append_of(0, 1)), 1U);
  EXPECT_EQ(plane_.need(owner(1), append_of(0, 30)), 1U);
}

TEST_F(RecurrentPlaneTest, RoundNeedsOneSlotARow) {
  EXPECT_EQ(plane_.need(owner(1), round_of(0, 0)), 0U);
  EXPECT_EQ(plane_.need(owner(1), round_of(0, 4)), 4U);
}

TEST_F(RecurrentPlaneTest, AppendNeverWritesTheSlotThatItReads) {
  std::uint32_t const before = slot(sequence(1));
  auto const columns = begin(1, append_of(0, 3));
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_NE(columns[0], before);
  end(1, append_of(0, 3), 3);
  EXPECT_EQ(slot(sequence(1)), columns[0]);
  EXPECT_EQ(plane_.state(sequence(1)).length, 3U);
  EXPECT_EQ(taken(), 1U);
}

TEST_F(RecurrentPlaneTest, DropKeepsTheSlot) {
  std::uint32_t const before = slot(sequence(1));
  begin(1, append_of(0, 3));
  end(1, append_of(0, 3), 0);
  EXPECT_EQ(slot(sequence(1)), before);
  EXPECT_EQ(plane_.state(sequence(1)).length, 0U);
  EXPECT_EQ(taken(), 1U);
}

TEST_F(RecurrentPlaneTest, AcceptPicksTheColumnAfterTheLastKeptRow) {
  for (std::uint32_t keep = 0; keep <= 4; ++keep) {
    std::uint32_t const base = plane_.state(sequence(1)).length;
    std::uint32_t const before = slot(sequence(1));
    auto const columns = begin(1, round_of(base, 4));
    end(1, round_of(base, 4), keep);
    EXPECT_EQ(slot(sequence(1)), keep == 0 ? before : columns[keep - 1]) << keep;
    EXPECT_EQ(plane_.state(sequence(1)).length, base + keep);
    EXPECT_EQ(taken(), 1U);
  }
}

TEST_F(RecurrentPlaneTest, EmptyRoundTakesNothing) {
  std::uint32_t const before = slot(sequence(1));
  EXPECT_TRUE(begin(1, round_of(0, 0)).empty());
  end(1, round_of(0, 0), 0);
  EXPECT_EQ(slot(sequence(1)), before);
}

TEST_F(RecurrentPlaneTest, SnapshotSharesTheSlot) {
  plane_.hold(1, 1);
  EXPECT_EQ(slot(snapshot(1)), slot(sequence(1)));
  EXPECT_EQ(plane_.arena().references(slot(sequence(1))), 2U);
  EXPECT_EQ(taken(), 1U);
  begin(1, append_of(0, 1));
  end(1, append_of(0, 1), 1);
  EXPECT_NE(slot(snapshot(1)), slot(sequence(1)));
  EXPECT_EQ(taken(), 2U);
  plane_.drop(1);
  EXPECT_EQ(taken(), 1U);
}

TEST_F(RecurrentPlaneTest, RollbackTakesTheSameSlotTwice) {
  plane_.hold(1, 1);
  std::uint32_t const held = slot(snapshot(1));
  for (int i = 0; i < 2; ++i) {
    begin(1, append_of(0, 1));
    end(1, append_of(0, 1), 1);
    plane_.load(1, owner(1), LoadKind::kRollback, step_);
    EXPECT_EQ(slot(sequence(1)), held);
    EXPECT_EQ(plane_.state(sequence(1)).length, 0U);
    EXPECT_EQ(taken(), 1U);
  }
}

TEST_F(RecurrentPlaneTest, ForkSharesUntilItWrites) {
  plane_.hold(1, 1);
  plane_.load(1, owner(2), LoadKind::kFork, step_);
  EXPECT_EQ(slot(sequence(2)), slot(sequence(1)));
  EXPECT_EQ(plane_.arena().references(slot(sequence(1))), 3U);
  plane_.release(owner(1));
  plane_.drop(1);
  EXPECT_EQ(plane_.arena().references(slot(sequence(2))), 1U);
}

TEST_F(RecurrentPlaneTest, RefusesEveryOtherLength) {
  begin(1, append_of(0, 3));
  end(1, append_of(0, 3), 3);
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 3)));
  for (std::uint32_t length = 0; length < 3; ++length) {
    EXPECT_TRUE(HasCode(plane_.can_truncate(1, length), ErrorCode::kRefused, "recurrent"));
  }
}

TEST_F(RecurrentPlaneTest, SizesItself) {
  auto const& known = plan_.classes[0];
  EXPECT_EQ(known.page_rows, 0U);
  EXPECT_EQ(known.entries, 0U);
  EXPECT_EQ(known.page_bytes, 4U * (5U * 2U + 4U));
  auto const layers = plan_.layers_of(known);
  EXPECT_EQ(std::vector(layers.begin(), layers.end()), (std::vector<std::uint32_t>{0}));
}

TEST_F(RecurrentPlaneTest, InPlaceAppendOnASlotHeldAloneTakesNothing) {
  Opening const opening = in_place(append_of(0, 3));
  std::uint32_t const own = slot(sequence(1));
  EXPECT_TRUE(begin(1, opening).empty());
  EXPECT_EQ(step_.mirror().write_count, 1U);
  EXPECT_EQ(plane_.state(sequence(1)).read_slot, own);
  EXPECT_FALSE(plane_.drop_is_exact(1));
  end(1, opening, 3);
  EXPECT_EQ(slot(sequence(1)), own);
  EXPECT_TRUE(plane_.drop_is_exact(1)) << "nothing is open";
  EXPECT_EQ(taken(), 1U);
}

TEST_F(RecurrentPlaneTest, InPlaceAppendOnASharedSlotReadsAndWritesOneCopy) {
  plane_.hold(1, 1);
  Opening const opening = in_place(append_of(0, 3));
  std::uint32_t const held = slot(sequence(1));
  auto const fresh = begin(1, opening);
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(plane_.state(sequence(1)).read_slot, fresh[0]);
  EXPECT_EQ(plane_.state(sequence(1)).slot, held) << "the base stays the state until the end";
  EXPECT_TRUE(plane_.drop_is_exact(1));
  end(1, opening, 0);
  EXPECT_EQ(slot(sequence(1)), held);
  EXPECT_EQ(plane_.state(sequence(1)).read_slot, held);
  begin(1, opening);
  end(1, opening, 3);
  EXPECT_NE(slot(sequence(1)), held);
  EXPECT_EQ(slot(snapshot(1)), held);
}

TEST_F(RecurrentPlaneTest, InPlaceRoundTakesOneSlotHoweverMany) {
  std::uint32_t const base = slot(sequence(1));
  for (std::uint32_t const rows : {0U, 1U, 4U}) {
    Opening const opening = in_place(round_of(0, rows));
    auto const fresh = begin(1, opening);
    EXPECT_EQ(fresh.size(), rows == 0 ? 0U : 1U);
    EXPECT_EQ(step_.mirror().write_count, rows);
    EXPECT_TRUE(plane_.drop_is_exact(1)) << "a round holds its base";
    end(1, opening, 0);
    EXPECT_EQ(slot(sequence(1)), base);
    EXPECT_EQ(taken(), 1U);
  }
  Opening const whole = in_place(round_of(0, 4));
  auto const fresh = begin(1, whole);
  end(1, whole, 4);
  EXPECT_EQ(slot(sequence(1)), fresh[0]);
  EXPECT_EQ(taken(), 1U) << "the base is given back";
}

}  // namespace
}  // namespace holdfast::test
