// SPDX-License-Identifier: Apache-2.0
// Goal: what is written in place is what would have been written elsewhere, costs one copy of a slot
// at most, and says when dropping it is not exact. Method: against histories, with a device that
// counts launches, and what they write as long as a slot.
#include <gtest/gtest.h>

#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/step_engine.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

constexpr AppendMode kInPlace = AppendMode::kInPlace;

class InPlaceTest : public testing::Test {
 protected:
  InPlaceTest() : InPlaceTest{hybrid_layout()} {}
  explicit InPlaceTest(Layout const& layout)
      : cache_{Cache::create(layout, device_)},
        engine_{*cache_},
        sequence_{cache_->create_sequence()} {
    engine_.append(*sequence_, history_, make_tokens(3, 1));
    device_.watched_bytes = slot_bytes();
  }

  std::uint32_t position() const { return static_cast<std::uint32_t>(history_.size()); }
  std::uint64_t slot_bytes() const {
    auto const needed = bytes_needed(hybrid_layout());
    return needed->per_slot;
  }
  bool tainted(Sequence const& sequence) const {
    return cache_->inspect().sequence(sequence.id().index).tainted;
  }
  /// Nothing but release and inspect works on it.
  void expect_tainted(Sequence& sequence) {
    EXPECT_TRUE(tainted(sequence));
    EXPECT_TRUE(HasCode(sequence.append(1), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence.verify(0), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence.snapshot(), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence.truncate(0), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence.can_truncate(0), ErrorCode::kTainted));
    StepItem const item{.sequence = &sequence, .kind = StepKind::kVerify, .rows = 1};
    EXPECT_TRUE(HasCode(cache_->can_begin({&item, 1}), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(cache_->begin({&item, 1}), ErrorCode::kTainted));
    EXPECT_TRUE(IsOk(sequence.position()));
    EXPECT_TRUE(IsOk(sequence.release()));
  }

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Result<Sequence> sequence_;
  History history_;
};

TEST_F(InPlaceTest, AppendOnAStateHeldAloneCopiesNothing) {
  std::uint64_t const used = used_pages(*cache_);
  std::uint64_t const launches = device_.launches;
  auto append = sequence_->append(1, {}, kInPlace);
  ASSERT_TRUE(IsOk(append));
  EXPECT_EQ(device_.watched_writes, 0U);
  EXPECT_EQ(device_.launches, launches + 1);
  EXPECT_EQ(used_pages(*cache_), used) << "row 3 goes to the page of row 2, and no slot is taken";
  EXPECT_FALSE(*append->drop_is_exact());
  engine_.write(*append, position(), make_tokens(1, 2));
  ASSERT_TRUE(IsOk(append->commit()));
  engine_.expect(*sequence_, joined(history_, make_tokens(1, 2)));
  EXPECT_TRUE(HasCode(append->drop_is_exact(), ErrorCode::kStale));
  EXPECT_FALSE(tainted(*sequence_));
}

TEST_F(InPlaceTest, AppendOnASharedStateCopiesOneSlotOnceAndDropsExactly) {
  auto snapshot = sequence_->snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  for (bool const commits : {false, true}) {
    std::uint64_t const launches = device_.launches;
    device_.watched_writes = 0;
    auto append = sequence_->append(2, {}, kInPlace);
    ASSERT_TRUE(IsOk(append));
    EXPECT_EQ(device_.watched_writes, 1U);
    EXPECT_EQ(device_.launches, launches + 1) << "it copies too";
    EXPECT_TRUE(*append->drop_is_exact());
    engine_.write(*append, position(), make_tokens(2, 2));
    ASSERT_TRUE(IsOk(commits ? append->commit() : append->drop()));
    engine_.expect(*sequence_, commits ? joined(history_, make_tokens(2, 2)) : history_);
    engine_.expect(*snapshot, history_);
    EXPECT_EQ(device_.watched_writes, 1U) << "the end copies nothing";
  }
}

TEST_F(InPlaceTest, ForksCountAsHolders) {
  auto snapshot = sequence_->snapshot();
  auto fork = snapshot->fork();
  ASSERT_TRUE(IsOk(fork));
  ASSERT_TRUE(IsOk(snapshot->drop()));
  auto append = sequence_->append(1, {}, kInPlace);
  EXPECT_TRUE(*append->drop_is_exact());
  engine_.write(*append, position(), make_tokens(1, 2));
  ASSERT_TRUE(IsOk(append->commit()));
  engine_.expect(*fork, history_);
  auto alone = fork->append(1, {}, kInPlace);
  EXPECT_FALSE(*alone->drop_is_exact()) << "the other has a state of its own now";
  engine_.write(*alone, position(), make_tokens(1, 3));
  ASSERT_TRUE(IsOk(alone->commit()));
  engine_.expect(*fork, joined(history_, make_tokens(1, 3)));
  engine_.expect(*sequence_, joined(history_, make_tokens(1, 2)));
}

TEST_F(InPlaceTest, DroppingAnAppendThatWroteTheOnlyStateTaints) {
  auto append = sequence_->append(2, {}, kInPlace);
  ASSERT_TRUE(IsOk(append));
  engine_.write(*append, position(), make_tokens(2, 2));
  EXPECT_TRUE(IsOk(append->drop()));
  expect_tainted(*sequence_);
  EXPECT_EQ(used_pages(*cache_), 0U);
}

TEST_F(InPlaceTest, DestroyingOneTaintsAsWell) {
  {
    auto append = sequence_->append(2, {}, kInPlace);
    ASSERT_TRUE(IsOk(append));
  }
  EXPECT_TRUE(tainted(*sequence_));
  auto other = cache_->create_sequence();
  History history;
  engine_.append(*other, history, make_tokens(4, 7));
  engine_.expect(*other, history);
}

TEST_F(InPlaceTest, IncompleteAppendsStayOpen) {
  auto append = sequence_->append(2, {}, kInPlace);
  ASSERT_TRUE(IsOk(append));
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kIncomplete));
  EXPECT_FALSE(tainted(*sequence_));
  engine_.write(*append, position(), make_tokens(2, 2));
  EXPECT_TRUE(IsOk(append->commit()));
  engine_.expect(*sequence_, joined(history_, make_tokens(2, 2)));
}

TEST_F(InPlaceTest, ReleasingTheSequenceGivesEverythingBack) {
  for (bool const shared : {false, true}) {
    auto sequence = cache_->create_sequence();
    std::uint64_t const used = used_pages(*cache_) - 1;
    Result<Snapshot> const snapshot = shared ? sequence->snapshot() : Result<Snapshot>{Error{}};
    auto append = sequence->append(2, {}, kInPlace);
    ASSERT_TRUE(IsOk(append));
    EXPECT_TRUE(IsOk(sequence->release()));
    EXPECT_EQ(used_pages(*cache_), used + (shared ? 1 : 0));
    EXPECT_TRUE(HasCode(append->drop_is_exact(), ErrorCode::kStale));
  }
}

TEST_F(InPlaceTest, RoundsCopyOneSlotAndKeepAllOrAdviseToAppend) {
  for (std::uint32_t rows = 0; rows <= 4; ++rows) {
    for (std::uint32_t keep = 0; keep <= rows; ++keep) {
      *sequence_ = std::move(*cache_->create_sequence());
      history_.clear();
      engine_.append(*sequence_, history_, make_tokens(3, 1));
      std::uint64_t const used = used_pages(*cache_);
      device_.watched_writes = 0;
      std::uint64_t const launches = device_.launches;
      auto round = sequence_->verify(rows, {}, RoundKind::kInPlace);
      ASSERT_TRUE(IsOk(round));
      EXPECT_EQ(device_.watched_writes, rows == 0 ? 0U : 1U);
      EXPECT_EQ(device_.launches, launches + 1);
      if (rows == 0) {
        EXPECT_EQ(used_pages(*cache_), used) << "it takes nothing";
      }
      History const tokens = make_tokens(rows, rows + 20);
      auto const view = round->state(cache_->inspect().states()[0].layer);
      for (std::uint32_t row = 0; row < rows; ++row) {
        EXPECT_EQ((&view->sequence->write_slot[0])[row], view->sequence->read_slot);
      }
      engine_.write_in_place(*round, position(), tokens);
      auto const accepted = round->accept(keep);
      ASSERT_TRUE(IsOk(accepted));
      bool const goes_back = keep < rows;
      EXPECT_EQ(accepted->committed, goes_back ? 0 : keep);
      EXPECT_EQ(accepted->rows_to_append, goes_back ? keep : 0);
      engine_.expect(*sequence_, goes_back ? history_ : joined(history_, tokens));
      ASSERT_FALSE(HasFailure()) << rows << " " << keep;
    }
  }
}

TEST_F(InPlaceTest, RowsOfARoundMayBeWrittenAgainFromTheBase) {
  auto round = sequence_->verify(3, {}, RoundKind::kInPlace);
  ASSERT_TRUE(IsOk(round));
  engine_.write_in_place(*round, position(), make_tokens(3, 8));
  StateInfo const info = cache_->inspect().states()[0];
  auto const view = round->state(info.layer);
  ASSERT_TRUE(IsOk(view));
  EXPECT_NE(view->base_slot, view->sequence->read_slot);
  EXPECT_EQ(view->sequence->read_slot, view->sequence->write_slot[0]);
  CopySegment const back{.destination = view->slots + view->sequence->write_slot[0] * slot_bytes(),
                         .source = view->slots + view->base_slot * slot_bytes(),
                         .bytes = slot_bytes()};
  ASSERT_TRUE(IsOk(device_.copy({&back, 1}, {})));
  engine_.write_in_place(*round, position(), make_tokens(3, 9));
  ASSERT_TRUE(IsOk(round->accept(3)));
  engine_.expect(*sequence_, joined(history_, make_tokens(3, 9)));
}

TEST_F(InPlaceTest, AcceptChecksItsRowsAndStaysOpen) {
  auto round = sequence_->verify(3, {}, RoundKind::kInPlace);
  ASSERT_TRUE(IsOk(round));
  EXPECT_TRUE(HasCode(round->accept(4), ErrorCode::kInvalidArgument, "keep"));
  EXPECT_TRUE(HasCode(round->accept(2), ErrorCode::kIncomplete))
      << "rows that are to be appended again must have been verified";
  EXPECT_TRUE(IsOk(round->accept(0)));
  engine_.expect(*sequence_, history_);
}

TEST_F(InPlaceTest, AStepCopiesAllItsSlotsInOneLaunch) {
  auto second = cache_->create_sequence();
  auto third = cache_->create_sequence();
  History second_history;
  History third_history;
  auto snapshot = second->snapshot();
  device_.watched_writes = 0;
  std::uint64_t const launches = device_.launches;
  StepItem const items[] = {
      {.sequence = &*sequence_,
       .kind = StepKind::kVerify,
       .rows = 2,
       .round_kind = RoundKind::kInPlace},
      {.rows = 2},
      {.sequence = &*second, .kind = StepKind::kAppend, .rows = 2, .append_mode = kInPlace},
      {.sequence = &*third, .kind = StepKind::kAppend, .rows = 1, .append_mode = kInPlace}};
  EXPECT_TRUE(IsOk(cache_->can_begin(items)));
  auto step = cache_->begin(items);
  ASSERT_TRUE(IsOk(step));
  EXPECT_EQ(device_.watched_writes, 2U) << "the third sequence holds its state alone";
  EXPECT_EQ(device_.launches, launches + 1);
  EXPECT_TRUE(*step->drop_is_exact(0));
  EXPECT_TRUE(HasCode(step->drop_is_exact(1), ErrorCode::kStale)) << "padding has no state";
  EXPECT_TRUE(*step->drop_is_exact(2));
  EXPECT_FALSE(*step->drop_is_exact(3));
  EXPECT_TRUE(HasCode(step->drop_is_exact(4), ErrorCode::kInvalidArgument, "item"));
  std::vector<StepPart> parts{append_part(*sequence_, history_, make_tokens(2, 3)),
                              pad_part(2),
                              append_part(*second, second_history, make_tokens(2, 4)),
                              append_part(*third, third_history, make_tokens(1, 5))};
  write_items(*cache_, *step, parts);
  std::uint32_t const keep[] = {1, 0, 2, 0};
  Accepted accepted[4] = {};
  std::uint64_t const before_finish = device_.launches;
  ASSERT_TRUE(IsOk(step->finish(keep, accepted)));
  EXPECT_EQ(device_.launches, before_finish + 1);
  EXPECT_EQ(accepted[0].committed, 0U);
  EXPECT_EQ(accepted[0].rows_to_append, 1U);
  EXPECT_EQ(accepted[2].committed, 2U);
  EXPECT_EQ(accepted[3].committed, 0U);
  engine_.expect(*sequence_, history_);
  engine_.expect(*second, make_tokens(2, 4));
  engine_.expect(*snapshot, {});
  EXPECT_FALSE(tainted(*sequence_));
  EXPECT_FALSE(tainted(*second));
  expect_tainted(*third);
}

TEST_F(InPlaceTest, AFailedCopyTaintsTheSequenceAndNoSnapshot) {
  auto snapshot = sequence_->snapshot();
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(sequence_->append(1, {}, kInPlace), ErrorCode::kDeviceFailed));
  expect_tainted(*sequence_);
  auto fork = snapshot->fork();
  ASSERT_TRUE(IsOk(fork));
  engine_.expect(*fork, history_);
}

TEST_F(InPlaceTest, ARollbackSharesTheStateAgain) {
  auto snapshot = sequence_->snapshot();
  auto append = sequence_->append(1, {}, kInPlace);
  engine_.write(*append, position(), make_tokens(1, 2));
  ASSERT_TRUE(IsOk(append->commit()));
  ASSERT_TRUE(IsOk(sequence_->rollback(*snapshot)));
  auto again = sequence_->append(1, {}, kInPlace);
  EXPECT_TRUE(*again->drop_is_exact());
  engine_.write(*again, position(), make_tokens(1, 3));
  ASSERT_TRUE(IsOk(again->drop()));
  engine_.expect(*sequence_, history_);
}

TEST(InPlaceSlots, AreCountedExactly) {
  WrappingDevice device;
  Layout layout = hybrid_layout();
  layout.capacity.slots = 2;
  auto cache = Cache::create(layout, device);
  ASSERT_TRUE(IsOk(cache));
  auto sequence = cache->create_sequence();
  auto snapshot = sequence->snapshot();
  ToyEngine const engine{*cache};
  History history;
  {
    auto round = sequence->verify(4, {}, RoundKind::kInPlace);
    ASSERT_TRUE(IsOk(round)) << "columns would need four slots";
    EXPECT_TRUE(HasCode(cache->create_sequence(), ErrorCode::kExhausted, "recurrent"));
  }
  auto append = sequence->append(1, {}, kInPlace);
  ASSERT_TRUE(IsOk(append));
  engine.write(*append, 0, make_tokens(1, 1));
  ASSERT_TRUE(IsOk(append->commit()));
  auto alone = sequence->append(1, {}, kInPlace);
  ASSERT_TRUE(IsOk(alone)) << "both slots are taken, and none is needed";
  engine.write(*alone, 1, make_tokens(1, 2));
  ASSERT_TRUE(IsOk(alone->commit()));
  engine.expect(*sequence, joined(make_tokens(1, 1), make_tokens(1, 2)));
  auto const refused = sequence->verify(1, {}, RoundKind::kInPlace);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kExhausted, "recurrent"));
  EXPECT_EQ(refused.error().got, 1);
  EXPECT_EQ(refused.error().limit, 0);
}

TEST(InPlaceWithoutState, IsLikeEveryOtherMode) {
  WrappingDevice device;
  auto cache = Cache::create(latent_layout(), device);
  ASSERT_TRUE(IsOk(cache));
  auto sequence = cache->create_sequence();
  ToyEngine const engine{*cache};
  auto append = sequence->append(3, {}, kInPlace);
  EXPECT_TRUE(*append->drop_is_exact());
  ASSERT_TRUE(IsOk(append->drop()));
  engine.expect(*sequence, {});
  auto round = sequence->verify(3, {}, RoundKind::kInPlace);
  engine.write(*round, 0, make_tokens(3, 1));
  auto const accepted = round->accept(2);
  ASSERT_TRUE(IsOk(accepted));
  EXPECT_EQ(accepted->committed, 2U);
  EXPECT_EQ(accepted->rows_to_append, 0U);
  engine.expect(*sequence, first_of(make_tokens(3, 1), 2));
}

}  // namespace
}  // namespace holdfast::test
