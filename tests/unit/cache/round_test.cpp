// SPDX-License-Identifier: Apache-2.0
// Goal: after accept(j) a sequence is what it would be had only the kept rows ever been appended.
// Method: every j of every k, through writes and views, from positions of every residue.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

class RoundTest : public testing::Test {
 protected:
  RoundTest()
      : cache_{Cache::create(hybrid_layout(), device_)},
        engine_{*cache_},
        sequence_{cache_->create_sequence()} {}

  std::uint32_t position() const { return static_cast<std::uint32_t>(history_.size()); }

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Result<Sequence> sequence_;
  History history_;
};

TEST_F(RoundTest, AcceptKeepsExactlyTheFirstRows) {
  for (std::uint32_t start = 0; start < 4; ++start) {
    for (std::uint32_t rows = 0; rows <= 4; ++rows) {
      for (std::uint32_t keep = 0; keep <= rows; ++keep) {
        *sequence_ = std::move(*cache_->create_sequence());
        history_.clear();
        if (start != 0) {
          engine_.append(*sequence_, history_, make_tokens(start, start));
        }
        engine_.verify(*sequence_, history_, make_tokens(rows, rows + 20), keep);
        engine_.expect(*sequence_, history_);
        engine_.verify(*sequence_, history_, make_tokens(4, 30), 2);
        engine_.expect(*sequence_, history_);
        ASSERT_FALSE(HasFailure()) << start << " " << rows << " " << keep;
      }
    }
  }
}

TEST_F(RoundTest, ViewsStandForWrites) {
  for (std::uint32_t keep = 0; keep <= 4; ++keep) {
    History const tokens = make_tokens(4, keep);
    auto round = sequence_->verify(4);
    ASSERT_TRUE(IsOk(round));
    engine_.write_views(*round, position(), tokens, true);
    ASSERT_TRUE(IsOk(round->accept(keep)));
    history_ = joined(history_, first_of(tokens, keep));
    engine_.expect(*sequence_, history_);
  }
}

TEST_F(RoundTest, AcceptSaysWhatItCommitted) {
  auto round = sequence_->verify(3);
  ASSERT_TRUE(IsOk(round));
  engine_.write(*round, 0, make_tokens(3, 1));
  auto const accepted = round->accept(2);
  ASSERT_TRUE(IsOk(accepted));
  EXPECT_EQ(accepted->committed, 2U);
  EXPECT_EQ(accepted->rows_to_append, 0U);
  EXPECT_EQ(*sequence_->position(), 2U);
}

TEST_F(RoundTest, EmptyRoundIsLegalAndChangesNothing) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  std::uint64_t const used = used_pages(*cache_);
  auto round = sequence_->verify(0);
  ASSERT_TRUE(IsOk(round));
  EXPECT_EQ(used_pages(*cache_), used) << "it takes nothing";
  auto const accepted = round->accept(0);
  ASSERT_TRUE(IsOk(accepted));
  EXPECT_EQ(accepted->committed, 0U);
  engine_.expect(*sequence_, history_);
  EXPECT_EQ(used_pages(*cache_), used);
}

TEST_F(RoundTest, KeepingMoreThanTheRoundLeavesItOpen) {
  auto round = sequence_->verify(2);
  ASSERT_TRUE(IsOk(round));
  engine_.write(*round, 0, make_tokens(2, 1));
  Picture const before = picture_of(*cache_);
  auto const refused = round->accept(3);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "keep"));
  EXPECT_EQ(refused.error().got, 3);
  EXPECT_EQ(refused.error().limit, 2);
  EXPECT_EQ(picture_of(*cache_), before);
  EXPECT_TRUE(IsOk(round->accept(1)));
  engine_.expect(*sequence_, first_of(make_tokens(2, 1), 1));
}

TEST_F(RoundTest, RowsThatAreNotKeptNeedNotBeWritten) {
  History const tokens = make_tokens(2, 4);
  auto round = sequence_->verify(4);
  ASSERT_TRUE(IsOk(round));
  engine_.write(*round, 0, tokens);  // states count as written whole
  auto const missing = round->accept(3);
  ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete, "attention_kv"));
  EXPECT_TRUE(IsOk(round->accept(2)));
  engine_.expect(*sequence_, tokens);
}

TEST_F(RoundTest, UnwrittenRoundIsDroppedExactly) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  std::uint64_t const used = used_pages(*cache_);
  auto round = sequence_->verify(4);
  ASSERT_TRUE(IsOk(round));
  ASSERT_TRUE(IsOk(round->drop()));
  engine_.expect(*sequence_, history_);
  EXPECT_LE(used_pages(*cache_), used + 1) << "at most a ring page stays";
}

TEST_F(RoundTest, DestroyedRoundIsAcceptZero) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  {
    auto round = sequence_->verify(4);
    ASSERT_TRUE(IsOk(round));
    engine_.write(*round, 3, make_tokens(4, 50));
  }
  engine_.expect(*sequence_, history_);
  engine_.append(*sequence_, history_, make_tokens(3, 2));
  engine_.expect(*sequence_, history_);
}

TEST_F(RoundTest, ProvisionalRowsMayBeWrittenAgain) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  auto round = sequence_->verify(4);
  ASSERT_TRUE(IsOk(round));
  for (std::uint32_t const seed : {60U, 61U, 62U}) {
    engine_.write(*round, 3, make_tokens(4, seed));
  }
  ASSERT_TRUE(IsOk(round->accept(3)));
  engine_.expect(*sequence_, joined(history_, first_of(make_tokens(4, 62), 3)));
}

TEST_F(RoundTest, RowsAboveAGapAreRefused) {
  auto round = sequence_->verify(3);
  ASSERT_TRUE(IsOk(round));
  std::array<float, 4> const source{};
  Status const refused = round->write(PlaneKind::kAttentionKv, 0, source.data(), 1, 1);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "first"));
  EXPECT_TRUE(HasCode(round->write(PlaneKind::kAttentionKv, 0, source.data(), UINT32_MAX, 1),
                      ErrorCode::kInvalidArgument,
                      "first"));
  EXPECT_TRUE(HasCode(round->write(PlaneKind::kAttentionKv, 0, source.data(), 0, 4),
                      ErrorCode::kInvalidArgument,
                      "count"));
}

TEST_F(RoundTest, LargerThanTheLargestRoundIsRefused) {
  Picture const before = picture_of(*cache_);
  auto const refused = sequence_->verify(5);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "rows"));
  EXPECT_EQ(refused.error().limit, 4);
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(RoundTest, RoundPastTheTokensIsTooLong) {
  engine_.append(*sequence_, history_, make_tokens(38, 1));
  EXPECT_TRUE(HasCode(sequence_->verify(3), ErrorCode::kTooLong));
  engine_.verify(*sequence_, history_, make_tokens(2, 2), 2);
  engine_.expect(*sequence_, history_);
  EXPECT_TRUE(IsOk(sequence_->verify(0)));
}

TEST_F(RoundTest, LayoutWithoutRoundsTakesTheEmptyOneOnly) {
  Layout layout = hybrid_layout();
  layout.capacity.largest_round = 0;
  auto cache = Cache::create(layout, device_);
  ASSERT_TRUE(IsOk(cache));
  auto sequence = cache->create_sequence();
  ASSERT_TRUE(IsOk(sequence));
  EXPECT_TRUE(HasCode(sequence->verify(1), ErrorCode::kInvalidArgument, "rows"));
  auto round = sequence->verify(0);
  ASSERT_TRUE(IsOk(round));
  EXPECT_TRUE(IsOk(round->accept(0)));
  ToyEngine const engine{*cache};
  History history;
  engine.append(*sequence, history, make_tokens(9, 1));
  engine.expect(*sequence, history);
}

TEST_F(RoundTest, OpenRoundMakesTheSequenceBusy) {
  auto round = sequence_->verify(1);
  ASSERT_TRUE(IsOk(round));
  EXPECT_TRUE(HasCode(sequence_->verify(1), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->append(1), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->snapshot(), ErrorCode::kBusy));
  EXPECT_TRUE(cache_->inspect().sequence(sequence_->id().index).round);
}

TEST_F(RoundTest, SnapshotsTakenBeforeARoundStayWhatTheyWere) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  auto snapshot = sequence_->snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  History const held = history_;
  for (std::uint32_t const keep : {0U, 4U, 1U, 3U}) {
    engine_.verify(*sequence_, history_, make_tokens(4, keep + 70), keep);
    engine_.expect(*snapshot, held);
    engine_.expect(*sequence_, history_);
  }
}

}  // namespace
}  // namespace holdfast::test
