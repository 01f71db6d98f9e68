// SPDX-License-Identifier: Apache-2.0
// Goal: snapshots, rollbacks, forks and truncations move all planes together or none.
// Method: a toy engine writes all planes; contents are compared with the token history.
#include <gtest/gtest.h>

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

class SnapshotTest : public testing::Test {
 protected:
  explicit SnapshotTest(Layout const& layout = hybrid_layout())
      : cache_{Cache::create(layout, device_)},
        engine_{*cache_},
        sequence_{cache_->create_sequence()} {}

  Snapshot snapshot() {
    auto taken = sequence_->snapshot();
    EXPECT_TRUE(IsOk(taken));
    return taken ? std::move(*taken) : Snapshot{};
  }

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Result<Sequence> sequence_;
  History history_;
};

class LatentSnapshotTest : public SnapshotTest {
 protected:
  LatentSnapshotTest() : SnapshotTest{latent_layout()} {}
};

class AttentionSnapshotTest : public SnapshotTest {
 protected:
  AttentionSnapshotTest() : SnapshotTest{attention_layout()} {}
};

TEST_F(SnapshotTest, CopiesNothingAndLaunchesNothing) {
  engine_.append(*sequence_, history_, make_tokens(7, 1));
  std::uint64_t const used = used_pages(*cache_);
  std::uint64_t const launches = device_.launches;
  Snapshot const held = snapshot();
  EXPECT_EQ(used_pages(*cache_), used);
  EXPECT_EQ(device_.launches, launches);
  engine_.expect(held, history_);
}

TEST_F(SnapshotTest, RollbackRestoresEveryPlaneFromEveryPosition) {
  for (std::uint32_t start = 0; start < 9; ++start) {
    if (start != 0) {
      engine_.append(*sequence_, history_, make_tokens(1, start));
    }
    Snapshot const held = snapshot();
    for (std::uint32_t const ahead : {1U, 2U, 5U, 13U}) {
      History later = history_;
      engine_.append(*sequence_, later, make_tokens(ahead, ahead + 40));
      engine_.expect(held, history_);
      ASSERT_TRUE(IsOk(sequence_->rollback(held)));
      engine_.expect(*sequence_, history_);
      engine_.expect(held, history_);
    }
    ASSERT_FALSE(HasFailure()) << "at " << start;
  }
}

TEST_F(SnapshotTest, RollbackGoesForwardToo) {
  Snapshot const empty = snapshot();
  engine_.append(*sequence_, history_, make_tokens(9, 1));
  Snapshot const full = snapshot();
  ASSERT_TRUE(IsOk(sequence_->rollback(empty)));
  engine_.expect(*sequence_, {});
  ASSERT_TRUE(IsOk(sequence_->rollback(full)));
  engine_.expect(*sequence_, history_);
  engine_.append(*sequence_, history_, make_tokens(3, 2));
  engine_.expect(*sequence_, history_);
}

TEST_F(SnapshotTest, RollbackTakesAnotherSequencesSnapshot) {
  auto other = cache_->create_sequence();
  ASSERT_TRUE(IsOk(other));
  History others;
  engine_.append(*other, others, make_tokens(5, 9));
  auto held = other->snapshot();
  ASSERT_TRUE(IsOk(held));
  engine_.append(*sequence_, history_, make_tokens(8, 1));
  ASSERT_TRUE(IsOk(sequence_->rollback(*held)));
  engine_.expect(*sequence_, others);
  History mine = others;
  engine_.append(*sequence_, mine, make_tokens(2, 3));
  engine_.append(*other, others, make_tokens(2, 4));
  engine_.expect(*sequence_, mine);
  engine_.expect(*other, others);
}

TEST_F(SnapshotTest, RollbackIsAtMostOneLaunch) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Snapshot const held = snapshot();
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  std::uint64_t const launches = device_.launches;
  ASSERT_TRUE(IsOk(sequence_->rollback(held)));
  EXPECT_LE(device_.launches, launches + 1);
}

TEST_F(SnapshotTest, ForkGoesItsOwnWay) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Snapshot held = snapshot();
  std::uint64_t const used = used_pages(*cache_);
  auto fork = held.fork();
  ASSERT_TRUE(IsOk(fork));
  EXPECT_EQ(used_pages(*cache_), used) << "a fork shares";
  History forked = history_;
  for (std::uint32_t step = 0; step < 6; ++step) {
    engine_.append(*sequence_, history_, make_tokens(2, step));
    engine_.verify(*fork, forked, make_tokens(3, step + 50), step % 4);
    engine_.expect(*sequence_, history_);
    engine_.expect(*fork, forked);
  }
  engine_.expect(held, make_tokens(5, 1));
}

TEST_F(SnapshotTest, SnapshotOutlivesItsSequence) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Snapshot held = snapshot();
  ASSERT_TRUE(IsOk(sequence_->release()));
  engine_.expect(held, history_);
  auto fork = held.fork();
  ASSERT_TRUE(IsOk(fork));
  engine_.expect(*fork, history_);
}

TEST_F(SnapshotTest, ManySnapshotsAliveAtOnceRestoreInAnyOrder) {
  std::vector<std::pair<Snapshot, History>> held;
  for (std::uint32_t i = 0; i < 4; ++i) {
    engine_.append(*sequence_, history_, make_tokens(3, i));
    held.emplace_back(snapshot(), history_);
  }
  for (std::size_t const i : {2U, 0U, 3U, 1U, 3U, 2U}) {
    ASSERT_TRUE(IsOk(sequence_->rollback(held[i].first)));
    engine_.expect(*sequence_, held[i].second);
    History later = held[i].second;
    engine_.append(*sequence_, later, make_tokens(4, static_cast<std::uint32_t>(i) + 80));
    for (auto const& [each, wanted] : held) {
      engine_.expect(each, wanted);
    }
  }
}

TEST_F(SnapshotTest, DroppingEverythingFreesEverything) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Snapshot held = snapshot();
  auto fork = held.fork();
  ASSERT_TRUE(IsOk(fork));
  History forked = history_;
  engine_.append(*fork, forked, make_tokens(7, 2));
  engine_.append(*sequence_, history_, make_tokens(7, 3));
  ASSERT_TRUE(IsOk(held.drop()));
  ASSERT_TRUE(IsOk(sequence_->release()));
  engine_.expect(*fork, forked);
  ASSERT_TRUE(IsOk(fork->release()));
  EXPECT_EQ(used_pages(*cache_), 0U);
  Inspection const look = cache_->inspect();
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    EXPECT_EQ(look.chunks_free(plane), look.chunk_limit(plane));
  }
}

TEST_F(SnapshotTest, ForeignSnapshotIsRefusedWithNothingChanged) {
  auto other = Cache::create(hybrid_layout(), device_);
  ASSERT_TRUE(IsOk(other));
  auto theirs = other->create_sequence();
  ASSERT_TRUE(IsOk(theirs));
  auto foreign = theirs->snapshot();
  ASSERT_TRUE(IsOk(foreign));
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->rollback(*foreign), ErrorCode::kInvalidArgument, "snapshot"));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(SnapshotTest, TruncateIsRefusedByTheStateWithNothingChanged) {
  engine_.append(*sequence_, history_, make_tokens(4, 1));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->can_truncate(2), ErrorCode::kRefused, "recurrent"));
  EXPECT_TRUE(HasCode(sequence_->truncate(2), ErrorCode::kRefused, "recurrent"));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(SnapshotTest, TruncateToTheOwnLengthDoesNothing) {
  engine_.append(*sequence_, history_, make_tokens(4, 1));
  Picture const before = picture_of(*cache_);
  std::uint64_t const launches = device_.launches;
  EXPECT_TRUE(IsOk(sequence_->can_truncate(4)));
  EXPECT_TRUE(IsOk(sequence_->truncate(4)));
  EXPECT_EQ(picture_of(*cache_), before);
  EXPECT_EQ(device_.launches, launches);
}

TEST_F(SnapshotTest, TruncateAboveTheLengthIsInvalid) {
  engine_.append(*sequence_, history_, make_tokens(4, 1));
  auto const refused = sequence_->truncate(5);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "length"));
  EXPECT_EQ(refused.error().got, 5);
  EXPECT_EQ(refused.error().limit, 4);
}

TEST_F(AttentionSnapshotTest, EverythingTruncates) {
  engine_.append(*sequence_, history_, make_tokens(11, 1));
  Snapshot const held = snapshot();
  for (std::uint32_t const length : {10U, 7U, 4U, 1U, 0U}) {
    ASSERT_TRUE(IsOk(sequence_->truncate(length)));
    engine_.expect(*sequence_, first_of(history_, length));
  }
  engine_.expect(held, history_);
  History again;
  engine_.append(*sequence_, again, make_tokens(6, 2));
  engine_.expect(*sequence_, again);
  engine_.expect(held, history_);
}

TEST_F(AttentionSnapshotTest, TruncateThenAppendEqualsNeverAppended) {
  engine_.append(*sequence_, history_, make_tokens(9, 1));
  for (std::uint32_t length = 9; length-- > 0;) {
    ASSERT_TRUE(IsOk(sequence_->truncate(length)));
    History now = first_of(history_, length);
    engine_.append(*sequence_, now, make_tokens(3, length));
    engine_.expect(*sequence_, now);
    ASSERT_TRUE(IsOk(sequence_->truncate(length)));
  }
}

TEST_F(AttentionSnapshotTest, PageThatComesBackThroughASnapshotIsNotWrittenInPlace) {
  engine_.append(*sequence_, history_, make_tokens(3, 1));
  Snapshot const three = snapshot();
  engine_.append(*sequence_, history_, make_tokens(1, 2));  // in place, in the shared page
  Snapshot const four = snapshot();
  ASSERT_TRUE(IsOk(sequence_->truncate(1)));  // gives that page up
  History short_one = first_of(history_, 1);
  engine_.append(*sequence_, short_one, make_tokens(1, 3));  // lowers `sealed` by a copy
  ASSERT_TRUE(IsOk(sequence_->rollback(three)));
  History other = first_of(history_, 3);
  engine_.append(*sequence_, other, make_tokens(1, 4));
  engine_.expect(*sequence_, other);
  engine_.expect(four, history_);
}

TEST_F(LatentSnapshotTest, TruncateIsAnsweredByWhatIsResident) {
  engine_.append(*sequence_, history_, make_tokens(12, 1));
  for (std::uint32_t length = 12; length-- > 0;) {
    // Resident: [6, 12), so an odd length needs the row below it.
    bool const possible = length % 2 == 0 || length > 6;
    Status const answer = sequence_->can_truncate(length);
    EXPECT_EQ(answer.has_value(), possible) << length;
    if (!possible) {
      EXPECT_TRUE(HasCode(answer, ErrorCode::kRefused, "tail_ring"));
    }
  }
  ASSERT_TRUE(IsOk(sequence_->truncate(7)));
  history_ = first_of(history_, 7);
  engine_.expect(*sequence_, history_);
  engine_.append(*sequence_, history_, make_tokens(1, 9));  // completes the open pool again
  engine_.expect(*sequence_, history_);
}

TEST_F(LatentSnapshotTest, TruncateRefusedByTheRingTouchesNoPlane) {
  engine_.append(*sequence_, history_, make_tokens(12, 1));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->truncate(5), ErrorCode::kRefused, "tail_ring"));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(LatentSnapshotTest, TruncateNeverConsultsSnapshots) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Snapshot const held = snapshot();
  engine_.append(*sequence_, history_, make_tokens(7, 2));
  EXPECT_TRUE(HasCode(sequence_->truncate(5), ErrorCode::kRefused, "tail_ring"));
  EXPECT_TRUE(IsOk(sequence_->rollback(held)));
}

TEST_F(LatentSnapshotTest, ReadyFollowsEveryMovement) {
  engine_.append(*sequence_, history_, make_tokens(5, 1));
  Holder const holder{HolderKind::kSequence, sequence_->id().index};
  auto const ready = [&] { return cache_->inspect().state(holder, 1).length; };
  EXPECT_EQ(ready(), 2U);
  Snapshot const held = snapshot();
  engine_.append(*sequence_, history_, make_tokens(3, 2));
  EXPECT_EQ(ready(), 4U);
  ASSERT_TRUE(IsOk(sequence_->truncate(6)));
  EXPECT_EQ(ready(), 3U);
  ASSERT_TRUE(IsOk(sequence_->rollback(held)));
  EXPECT_EQ(ready(), 2U);
}

}  // namespace
}  // namespace holdfast::test
