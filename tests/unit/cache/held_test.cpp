// SPDX-License-Identifier: Apache-2.0
// Goal: held side state follows the sequence in every movement, with and without recurrent layers.
// Method: a toy engine folds the tokens into it; what it holds is compared with the token history.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>

#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

/// Attention and held side state, nothing else.
class HeldTest : public testing::Test {
 protected:
  WrappingDevice device_;
  Result<Cache> cache_ = Cache::create(held_layout(), device_);
  ToyEngine engine_{*cache_};
  Result<Sequence> sequence_ = cache_->create_sequence();
  History history_;
};

TEST_F(HeldTest, LivesInSlotsOfItsOwnWithoutRecurrentLayers) {
  Inspection const look = cache_->inspect();
  ASSERT_EQ(look.plane_count(), 2U);
  EXPECT_EQ(look.plane(1).kind, PlaneKind::kHeld);
  EXPECT_EQ(look.plane(1).page_bytes, 4U * (3U + 1U));
  ASSERT_EQ(look.states().size(), 2U);
  EXPECT_EQ(look.states()[1].layer, 1U);
  EXPECT_EQ(look.states()[1].held_offset, 4U * 3U);
  engine_.expect(*sequence_, history_);  // zeros
}

TEST_F(HeldTest, EveryKeepOfARoundPicksItsColumn) {
  for (std::uint32_t keep = 0; keep <= 4; ++keep) {
    engine_.append(*sequence_, history_, make_tokens(2, keep));
    engine_.verify(*sequence_, history_, make_tokens(4, keep + 9), keep);
    engine_.expect(*sequence_, history_);
  }
}

TEST_F(HeldTest, IsRestoredByRollbackAndFork) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  auto held = sequence_->snapshot();
  ASSERT_TRUE(IsOk(held));
  History longer = history_;
  engine_.append(*sequence_, longer, make_tokens(2, 2));
  engine_.expect(*sequence_, longer);
  auto other = held->fork();
  ASSERT_TRUE(IsOk(other));
  engine_.expect(*other, history_);
  ASSERT_TRUE(IsOk(sequence_->rollback(*held)));
  engine_.expect(*sequence_, history_);
  engine_.append(*other, longer = history_, make_tokens(1, 3));
  engine_.expect(*held, history_);
}

TEST_F(HeldTest, ForbidsEveryTruncationBelowThePosition) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  for (std::uint32_t length = 0; length < 3; ++length) {
    EXPECT_TRUE(HasCode(sequence_->truncate(length), ErrorCode::kRefused, "held"));
  }
  EXPECT_TRUE(IsOk(sequence_->truncate(3)));
  engine_.expect(*sequence_, history_);
}

TEST_F(HeldTest, MustBeWrittenBeforeACommit) {
  auto append = sequence_->append(2);
  ASSERT_TRUE(IsOk(append));
  float const rows[2][4] = {};
  ASSERT_TRUE(IsOk(append->write(PlaneKind::kAttentionKv, 0, &rows[0][0], 2)));
  ASSERT_TRUE(IsOk(append->held(0)));
  ASSERT_TRUE(IsOk(append->held(1, 1)));
  Status const missing = append->commit();
  ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete, "held"));
  EXPECT_EQ(missing.error().layer, 1);
  EXPECT_EQ(missing.error().got, 1);
  ASSERT_TRUE(IsOk(append->held(1)));
  EXPECT_TRUE(IsOk(append->commit()));
}

TEST_F(HeldTest, RefusesLayersWithoutAndUsedUpHandles) {
  auto append = sequence_->append(1);
  ASSERT_TRUE(IsOk(append));
  EXPECT_TRUE(HasCode(append->held(2), ErrorCode::kInvalidArgument, "layer"));
  EXPECT_TRUE(HasCode(append->state(0), ErrorCode::kInvalidArgument, "layer"));
  ASSERT_TRUE(IsOk(append->drop()));
  EXPECT_TRUE(HasCode(append->held(0), ErrorCode::kStale, "handle"));
  engine_.expect(*sequence_, history_);
}

TEST_F(HeldTest, ItemsOfAStepHaveViews) {
  StepItem const items[] = {{.kind = StepKind::kPad, .rows = 1},
                            {.sequence = &*sequence_, .kind = StepKind::kAppend, .rows = 1}};
  auto step = cache_->begin(items);
  ASSERT_TRUE(IsOk(step));
  auto const view = step->held(1, 0);
  ASSERT_TRUE(IsOk(view));
  EXPECT_EQ(view->elements, 3U);
  EXPECT_EQ(view->sequence->write_slot[0], cache_->inspect().open_pages(1, 1)[0]);
  EXPECT_TRUE(HasCode(step->held(0, 0), ErrorCode::kStale, "sequence"));
  EXPECT_TRUE(HasCode(step->held(2, 0), ErrorCode::kInvalidArgument, "item"));
}

}  // namespace
}  // namespace holdfast::test
