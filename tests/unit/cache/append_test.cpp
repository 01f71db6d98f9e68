// SPDX-License-Identifier: Apache-2.0
// Goal: an append is all or nothing: committed rows are what was written, a drop leaves no trace.
// Method: a toy engine writes all planes; contents are compared with the token history.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

class AppendTest : public testing::Test {
 protected:
  explicit AppendTest(Layout const& layout = hybrid_layout())
      : cache_{Cache::create(layout, device_)},
        engine_{*cache_},
        sequence_{cache_->create_sequence()} {}

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Result<Sequence> sequence_;
  History history_;
};

TEST_F(AppendTest, NewSequenceIsEmptyWithOneSlotAndNoPages) {
  EXPECT_EQ(used_pages(*cache_), 1U);
  engine_.expect(*sequence_, {});
}

TEST_F(AppendTest, CommittedRowsAreWhatWasWritten) {
  for (std::uint32_t const count : {1U, 2U, 5U, 11U}) {
    engine_.append(*sequence_, history_, make_tokens(count, count));
    engine_.expect(*sequence_, history_);
  }
}

TEST_F(AppendTest, FillsTheSequenceToItsLastToken) {
  engine_.append(*sequence_, history_, make_tokens(40, 1));
  engine_.expect(*sequence_, history_);
  EXPECT_TRUE(HasCode(sequence_->append(1), ErrorCode::kTooLong, "rows"));
}

TEST_F(AppendTest, PositionMovesOnlyAtCommit) {
  auto append = sequence_->append(3);
  ASSERT_TRUE(IsOk(append));
  engine_.write(*append, 0, make_tokens(3, 1));
  EXPECT_EQ(*sequence_->position(), 0U);
  EXPECT_EQ(cache_->inspect().sequence(sequence_->id().index).open_rows, 3U);
  EXPECT_EQ(cache_->inspect().mirror(sequence_->id().index)->open, 3U);
  ASSERT_TRUE(IsOk(append->commit()));
  EXPECT_EQ(*sequence_->position(), 3U);
  EXPECT_EQ(cache_->inspect().mirror(sequence_->id().index)->open, 0U);
}

TEST_F(AppendTest, DropIsExactFromEveryPosition) {
  for (std::uint32_t step = 0; step < 12; ++step) {
    std::uint64_t const used = used_pages(*cache_);
    auto append = sequence_->append(9);  // longer than the ring
    ASSERT_TRUE(IsOk(append));
    engine_.write(*append, static_cast<std::uint32_t>(history_.size()), make_tokens(9, 77));
    ASSERT_TRUE(IsOk(append->drop()));
    engine_.expect(*sequence_, history_);
    EXPECT_LE(used, used_pages(*cache_)) << "ring pages stay, nothing else";
    engine_.append(*sequence_, history_, make_tokens(1, step));
    engine_.expect(*sequence_, history_);
  }
}

TEST_F(AppendTest, DestroyedHandleDrops) {
  {
    auto append = sequence_->append(2);
    ASSERT_TRUE(IsOk(append));
    engine_.write(*append, 0, make_tokens(2, 1));
  }
  engine_.expect(*sequence_, {});
  EXPECT_EQ(used_pages(*cache_), 2U) << "the slot, and the ring's page";
  engine_.append(*sequence_, history_, make_tokens(2, 2));
  engine_.expect(*sequence_, history_);
}

TEST_F(AppendTest, AssignedHandleDropsWhatItHeld) {
  auto other = cache_->create_sequence();
  ASSERT_TRUE(IsOk(other));
  auto first = sequence_->append(2);
  auto second = other->append(1);
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(second));
  *first = std::move(*second);
  EXPECT_FALSE(cache_->inspect().sequence(sequence_->id().index).open);
  engine_.write(*first, 0, make_tokens(1, 4));
  ASSERT_TRUE(IsOk(first->commit()));
  engine_.expect(*other, make_tokens(1, 4));
  EXPECT_TRUE(HasCode(second->commit(), ErrorCode::kStale));
}

TEST_F(AppendTest, NoRowsAreRefused) {
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->append(0), ErrorCode::kInvalidArgument, "rows"));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(AppendTest, TooManyRowsAreRefusedWithNothingChanged) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Picture const before = picture_of(*cache_);
  auto const refused = sequence_->append(36);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kTooLong, "rows"));
  EXPECT_EQ(refused.error().got, 41);
  EXPECT_EQ(refused.error().limit, 40);
  EXPECT_TRUE(HasCode(sequence_->append(UINT32_MAX), ErrorCode::kTooLong));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(AppendTest, CommitAfterMissingRowsLeavesTheHandleOpen) {
  auto append = sequence_->append(2);
  ASSERT_TRUE(IsOk(append));
  Status const missing = append->commit();
  ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete, "attention_kv"));
  EXPECT_EQ(missing.error().layer, 0);
  EXPECT_EQ(missing.error().got, 0);
  EXPECT_EQ(missing.error().limit, 2);
  EXPECT_TRUE(cache_->inspect().sequence(sequence_->id().index).open);
  engine_.write(*append, 0, make_tokens(2, 3));
  ASSERT_TRUE(IsOk(append->commit()));
  engine_.expect(*sequence_, make_tokens(2, 3));
}

TEST_F(AppendTest, EachMissingPlaneAndLayerIsNamed) {
  Inspection const look = cache_->inspect();
  for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
    PlaneInfo const skipped = look.plane(index);
    if (skipped.kind == PlaneKind::kPoolKeys) {
      continue;  // derived
    }
    auto append = sequence_->append(1);
    ASSERT_TRUE(IsOk(append));
    for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
      PlaneInfo const known = look.plane(plane);
      for (std::uint32_t const layer : known.layers) {
        if (known.kind == PlaneKind::kPoolKeys ||
            (plane == index && layer == skipped.layers.back())) {
          continue;
        }
        if (known.page_rows == 0) {
          ASSERT_TRUE(IsOk(append->state(layer)));
        } else {
          auto const source = engine_.rows(known, layer, 0, {5});
          ASSERT_TRUE(IsOk(append->write(known.kind, layer, source.data(), 1)));
        }
      }
    }
    Status const missing = append->commit();
    ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete, skipped.name));
    EXPECT_EQ(missing.error().layer, static_cast<std::int32_t>(skipped.layers.back()));
    ASSERT_TRUE(IsOk(append->drop()));
  }
}

TEST_F(AppendTest, RowsAreTakenInOrderPieceByPiece) {
  History const tokens = make_tokens(5, 6);
  auto append = sequence_->append(5);
  ASSERT_TRUE(IsOk(append));
  engine_.write(*append, 0, first_of(tokens, 2));
  engine_.write(*append, 2, {tokens[2]});
  engine_.write(*append, 3, {tokens[3], tokens[4]});
  // The toy engine folds the state from the read slot, so the last piece must see all tokens.
  for (StateInfo const& info : cache_->inspect().states()) {
    if (info.kind == PlaneKind::kRecurrent) {
      EXPECT_TRUE(IsOk(append->state(info.layer)));
    } else {
      EXPECT_TRUE(IsOk(append->held(info.layer)));
    }
  }
  ASSERT_TRUE(IsOk(append->commit()));
  std::array<float, 4> found{};
  Inspection const look = cache_->inspect();
  for (std::uint32_t row = 0; row < 5; ++row) {
    ASSERT_TRUE(
        IsOk(look.read_rows({HolderKind::kSequence, sequence_->id().index}, 0, 0, row, 1, found)));
    for (std::uint32_t element = 0; element < 4; ++element) {
      EXPECT_EQ(found.at(element),
                row_element(PlaneKind::kAttentionKv, 0, row, tokens[row], element));
    }
  }
}

TEST_F(AppendTest, WriteRefusesWhatTheLayerLacks) {
  auto append = sequence_->append(1);
  ASSERT_TRUE(IsOk(append));
  std::array<float, 8> const source{};
  auto const write = [&](PlaneKind plane, std::uint32_t layer) {
    return append->write(plane, layer, source.data(), 1);
  };
  EXPECT_TRUE(HasCode(write(PlaneKind::kLatent, 0), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kAttentionKv, 99), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kPoolKeys, 2), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(PlaneKind::kRecurrent, 1), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(write(static_cast<PlaneKind>(77), 0), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(append->state(0), ErrorCode::kInvalidArgument, "layer"));
  EXPECT_TRUE(HasCode(append->rows(PlaneKind::kPoolKeys, 2), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(
      HasCode(append->rows(PlaneKind::kRecurrent, 1), ErrorCode::kInvalidArgument, "plane"));
  EXPECT_TRUE(HasCode(append->rows(PlaneKind::kLatent, 0), ErrorCode::kInvalidArgument, "plane"));
}

TEST_F(AppendTest, WriteRefusesMoreRowsThanAreOpenAndNullSources) {
  auto append = sequence_->append(2);
  ASSERT_TRUE(IsOk(append));
  std::array<float, 12> const source{};
  Status const refused = append->write(PlaneKind::kAttentionKv, 0, source.data(), 3);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "count"));
  EXPECT_EQ(refused.error().limit, 2);
  EXPECT_TRUE(HasCode(append->write(PlaneKind::kAttentionKv, 0, source.data(), UINT32_MAX),
                      ErrorCode::kInvalidArgument,
                      "count"));
  EXPECT_TRUE(HasCode(append->write(PlaneKind::kAttentionKv, 0, nullptr, 1),
                      ErrorCode::kInvalidArgument,
                      "source"));
  EXPECT_TRUE(IsOk(append->write(PlaneKind::kAttentionKv, 0, nullptr, 0)));
}

TEST_F(AppendTest, ViewsStandForWritesAndKeysAreBuiltAtCommit) {
  for (std::uint32_t const count : {1U, 2U, 4U, 5U, 3U, 5U}) {
    History const tokens = make_tokens(count, count + 3);
    auto append = sequence_->append(count);
    ASSERT_TRUE(IsOk(append));
    engine_.write_views(*append, static_cast<std::uint32_t>(history_.size()), tokens, false);
    ASSERT_TRUE(IsOk(append->commit()));
    history_ = joined(history_, tokens);
    engine_.expect(*sequence_, history_);
  }
}

TEST_F(AppendTest, RingViewTakesAtMostTheRowsThatSpareTheOpenPool) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  {
    auto append = sequence_->append(6);
    ASSERT_TRUE(IsOk(append));
    auto const refused = append->rows(PlaneKind::kTailRing, 2);
    ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "plane"));
    EXPECT_EQ(refused.error().got, 6);
    EXPECT_EQ(refused.error().limit, 5);  // R - 3 mod 2
  }
  auto append = sequence_->append(5);
  ASSERT_TRUE(IsOk(append));
  EXPECT_TRUE(IsOk(append->rows(PlaneKind::kTailRing, 2)));
}

TEST_F(AppendTest, ViewOfAPartCountsThatPartAsWritten) {
  auto append = sequence_->append(3);
  ASSERT_TRUE(IsOk(append));
  ASSERT_TRUE(IsOk(append->rows(PlaneKind::kAttentionKv, 0, 2)));
  Status const missing = append->commit();
  ASSERT_TRUE(HasCode(missing, ErrorCode::kIncomplete, "attention_kv"));
  EXPECT_EQ(missing.error().got, 2);
}

TEST_F(AppendTest, RowsAreReadTogetherAsOneByOne) {
  engine_.append(*sequence_, history_, make_tokens(7, 1));
  Inspection const look = cache_->inspect();
  Holder const holder{HolderKind::kSequence, sequence_->id().index};
  for (std::uint32_t plane = 0; plane + 1 < look.plane_count(); ++plane) {
    PlaneState const state = look.state(holder, plane);
    std::uint32_t const width = look.plane(plane).row_elements;
    std::vector<float> together(std::size_t{state.length - state.lo} * width);
    std::vector<float> single(width);
    ASSERT_TRUE(
        IsOk(look.read_rows(holder, plane, 1, state.lo, state.length - state.lo, together)));
    for (std::uint32_t row = state.lo; row < state.length; ++row) {
      ASSERT_TRUE(IsOk(look.read_rows(holder, plane, 1, row, 1, single)));
      auto const at =
          together.begin() + static_cast<std::ptrdiff_t>(std::size_t{row - state.lo} * width);
      EXPECT_TRUE(std::equal(single.begin(), single.end(), at)) << look.plane(plane).name << row;
    }
  }
  std::array<float, 4> out{};
  EXPECT_TRUE(HasCode(
      look.read_rows(holder, 0, 0, UINT32_MAX, 1, out), ErrorCode::kInvalidArgument, "row"));
  EXPECT_TRUE(HasCode(look.read_rows(holder, 0, 0, 0, 2, out), ErrorCode::kInvalidArgument, "out"));
}

TEST_F(AppendTest, OpenAppendMakesTheSequenceBusyAndNoOther) {
  auto snapshot = sequence_->snapshot();
  auto other = cache_->create_sequence();
  ASSERT_TRUE(IsOk(snapshot));
  ASSERT_TRUE(IsOk(other));
  auto append = sequence_->append(1);
  ASSERT_TRUE(IsOk(append));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->append(1), ErrorCode::kBusy, "sequence"));
  EXPECT_TRUE(HasCode(sequence_->verify(1), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->snapshot(), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->rollback(*snapshot), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->truncate(0), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequence_->can_truncate(0), ErrorCode::kBusy));
  EXPECT_EQ(picture_of(*cache_), before);
  EXPECT_TRUE(IsOk(sequence_->position()));
  History others;
  engine_.append(*other, others, make_tokens(2, 2));
  engine_.expect(*other, others);
}

TEST_F(AppendTest, ReleaseCancelsAnOpenAppend) {
  auto append = sequence_->append(7);
  ASSERT_TRUE(IsOk(append));
  engine_.write(*append, 0, make_tokens(7, 1));
  ASSERT_TRUE(IsOk(sequence_->release()));
  EXPECT_EQ(used_pages(*cache_), 0U);
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kStale));
}

}  // namespace
}  // namespace holdfast::test
