// SPDX-License-Identifier: Apache-2.0
// Goal: what fails says what was lacking and changes nothing, or taints one sequence and no other.
// Method: arenas too small by one; a device that fails one call.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
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

TEST(CacheCreate, GivesTheLayoutsRefusal) {
  WrappingDevice device;
  Layout layout = hybrid_layout();
  layout.page_rows = 0;
  EXPECT_TRUE(HasCode(Cache::create(layout, device), ErrorCode::kInvalidArgument, "page_rows"));
  EXPECT_EQ(device.allocations, 0U);
}

TEST(CacheCreate, EveryFailedAllocationIsOutOfMemoryAndLeaksNothing) {
  for (std::uint64_t failing = 0;; ++failing) {
    WrappingDevice device;
    device.failing_allocation = failing;
    auto const cache = Cache::create(hybrid_layout(), device);
    if (cache) {
      EXPECT_EQ(failing, device.allocations) << "every allocation was failed once";
      EXPECT_GE(failing, 2U);
      break;
    }
    EXPECT_TRUE(HasCode(cache, ErrorCode::kOutOfMemory));
    EXPECT_EQ(device.live(), 0U);
  }
}

TEST(CacheCreate, FailedFillIsReportedAndLeaksNothing) {
  WrappingDevice device;
  device.failing_fill = true;
  EXPECT_TRUE(HasCode(Cache::create(hybrid_layout(), device), ErrorCode::kDeviceFailed));
  EXPECT_EQ(device.live(), 0U);
}

TEST(CacheCreate, ArenasThatNoAddressCountsAreRefusedBeforeAnyAllocation) {
  // Arenas and tables together take 2^62 bytes at most; this arena alone takes all of them.
  Layout layout = small_layout({{{LatentSpec{.width = kLargestSize}}}});
  layout.page_rows = 1U << 16U;
  layout.capacity.pages = (1U << 20U) - 1;
  EXPECT_TRUE(HasCode(validate(layout), ErrorCode::kInvalidArgument, "latent"));
  WrappingDevice device;
  EXPECT_TRUE(HasCode(Cache::create(layout, device), ErrorCode::kInvalidArgument, "latent"));
  EXPECT_EQ(device.allocations, 0U);
}

class ExhaustionTest : public testing::Test {
 protected:
  void create(Layout const& layout) {
    cache_ = Cache::create(layout, device_);
    ASSERT_TRUE(IsOk(cache_));
    sequence_ = cache_->create_sequence();
    ASSERT_TRUE(IsOk(sequence_));
  }

  WrappingDevice device_;
  Result<Cache> cache_{Error{}};
  Result<Sequence> sequence_{Error{}};
};

TEST_F(ExhaustionTest, PagesAreNamedByTheirPlane) {
  Layout layout = hybrid_layout();
  layout.capacity.pages = 3;
  create(layout);
  ToyEngine const engine{*cache_};
  History history;
  engine.append(*sequence_, history, make_tokens(5, 1));
  Picture const before = picture_of(*cache_);
  auto const refused = sequence_->append(2);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kExhausted, "attention_kv"));
  EXPECT_EQ(refused.error().got, 1);
  EXPECT_EQ(refused.error().limit, 0);
  EXPECT_TRUE(HasCode(sequence_->verify(2), ErrorCode::kExhausted, "attention_kv"));
  EXPECT_EQ(picture_of(*cache_), before);
  engine.append(*sequence_, history, make_tokens(1, 2));  // fits the last page
  engine.expect(*sequence_, history);
}

TEST_F(ExhaustionTest, RingPagesAreNamed) {
  Layout layout = latent_layout();
  layout.capacity.ring_pages = 3;
  create(layout);
  ToyEngine const engine{*cache_};
  History history;
  engine.append(*sequence_, history, make_tokens(9, 1));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->append(6), ErrorCode::kExhausted, "tail_ring"))
      << "a long append holds one more page";
  EXPECT_EQ(picture_of(*cache_), before);
  engine.append(*sequence_, history, make_tokens(5, 2));
  engine.expect(*sequence_, history);
}

TEST_F(ExhaustionTest, SlotsAreNamed) {
  Layout layout = hybrid_layout();
  layout.capacity.slots = 3;
  create(layout);
  Picture const before = picture_of(*cache_);
  auto const refused = sequence_->verify(3);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kExhausted, "recurrent"));
  EXPECT_EQ(refused.error().got, 3);
  EXPECT_EQ(refused.error().limit, 2);
  EXPECT_EQ(picture_of(*cache_), before);
  EXPECT_TRUE(IsOk(sequence_->verify(2)));
}

TEST_F(ExhaustionTest, NewSequenceNeedsASlot) {
  Layout layout = hybrid_layout();
  layout.capacity.slots = 1;
  create(layout);
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(cache_->create_sequence(), ErrorCode::kExhausted, "recurrent"));
  EXPECT_EQ(picture_of(*cache_), before);
}

TEST_F(ExhaustionTest, SequencesAreNamed) {
  create(hybrid_layout());
  auto second = cache_->create_sequence();
  auto third = cache_->create_sequence();
  ASSERT_TRUE(IsOk(third));
  auto snapshot = sequence_->snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(cache_->create_sequence(), ErrorCode::kExhausted, "sequences"));
  EXPECT_TRUE(HasCode(snapshot->fork(), ErrorCode::kExhausted, "sequences"));
  EXPECT_EQ(picture_of(*cache_), before);
  ASSERT_TRUE(IsOk(third->release()));
  EXPECT_TRUE(IsOk(snapshot->fork()));
}

TEST_F(ExhaustionTest, SnapshotsAreNamed) {
  create(hybrid_layout());
  std::vector<Snapshot> held;
  for (int i = 0; i < 4; ++i) {
    auto snapshot = sequence_->snapshot();
    ASSERT_TRUE(IsOk(snapshot));
    held.push_back(std::move(*snapshot));
  }
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(sequence_->snapshot(), ErrorCode::kExhausted, "snapshots"));
  EXPECT_EQ(picture_of(*cache_), before);
  held.pop_back();
  EXPECT_TRUE(IsOk(sequence_->snapshot()));
}

TEST_F(ExhaustionTest, WorstCaseCapacityNeverRunsOut) {
  create(hybrid_layout());
  ToyEngine const engine{*cache_};
  std::vector<Snapshot> held;
  std::vector<Sequence> sequences;
  sequences.push_back(std::move(*sequence_));
  sequences.push_back(std::move(*cache_->create_sequence()));
  sequences.push_back(std::move(*cache_->create_sequence()));
  for (std::uint32_t i = 0; i < 4; ++i) {
    Sequence& sequence = sequences[i % 3];
    History history;
    ASSERT_TRUE(IsOk(sequence.rollback(held.empty() ? *sequence.snapshot() : held.front())));
    if (*sequence.position() == 0) {
      engine.append(sequence, history, make_tokens(1, i));
    }
    auto snapshot = sequence.snapshot();
    ASSERT_TRUE(IsOk(snapshot));
    held.push_back(std::move(*snapshot));
    auto append = sequence.append(40 - *sequence.position());
    ASSERT_TRUE(IsOk(append));
  }
  for (Sequence& sequence : sequences) {
    EXPECT_TRUE(IsOk(sequence.verify(4)));
  }
}

/// One call that launches, on a sequence of five rows with a snapshot at its position.
struct LaunchingCall {
  char const* name;
  std::function<Status(Sequence&, Snapshot const&, WrappingDevice&)> run;
};

template <typename T>
Status status_of(Result<T> const& result) {
  return result ? Status{} : Status{result.error()};
}

std::vector<LaunchingCall> launching_calls() {
  using Device = WrappingDevice;
  return {
      {"append",
       [](Sequence& it, Snapshot const&, Device& device) {
         device.fail_next_launch();
         return status_of(it.append(2));
       }},
      {"verify",
       [](Sequence& it, Snapshot const&, Device& device) {
         device.fail_next_launch();
         return status_of(it.verify(2));
       }},
      {"write",
       [](Sequence& it, Snapshot const&, Device& device) {
         auto append = it.append(1);
         std::array<float, 4> const source{};
         device.fail_next_launch();
         return append->write(PlaneKind::kAttentionKv, 0, source.data(), 1);
       }},
      {"write of indexer rows",
       [](Sequence& it, Snapshot const&, Device& device) {
         auto round = it.verify(1);
         std::array<float, 4> const source{};
         device.fail_next_launch();
         return round->write(PlaneKind::kTailRing, 2, source.data(), 0, 1);
       }},
      {"drop",
       [](Sequence& it, Snapshot const&, Device& device) {
         auto append = it.append(9);
         device.fail_next_launch();
         return append->drop();
       }},
      {"accept",
       [](Sequence& it, Snapshot const&, Device& device) {
         auto round = it.verify(1);
         device.fail_next_launch();
         return status_of(round->accept(0));
       }},
      {"rollback",
       [](Sequence& it, Snapshot const& snapshot, Device& device) {
         device.fail_next_launch();
         return it.rollback(snapshot);
       }},
  };
}

class LaunchFailureTest : public testing::Test {
 protected:
  explicit LaunchFailureTest(Layout const& layout = hybrid_layout())
      : cache_{Cache::create(layout, device_)},
        engine_{*cache_},
        sequence_{cache_->create_sequence()} {
    engine_.append(*sequence_, history_, make_tokens(5, 1));
    auto taken = sequence_->snapshot();
    EXPECT_TRUE(IsOk(taken));
    snapshot_ = std::move(*taken);
  }

  void expect_tainted() {
    EXPECT_TRUE(HasCode(sequence_->append(1), ErrorCode::kTainted, "sequence"));
    EXPECT_TRUE(HasCode(sequence_->verify(1), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence_->snapshot(), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence_->rollback(snapshot_), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence_->truncate(0), ErrorCode::kTainted));
    EXPECT_TRUE(HasCode(sequence_->can_truncate(0), ErrorCode::kTainted));
    EXPECT_TRUE(cache_->inspect().sequence(sequence_->id().index).tainted);
  }
  /// The snapshot is good, the tainted sequence can go, and nothing is lost.
  void expect_recovery() {
    engine_.expect(snapshot_, history_);
    ASSERT_TRUE(IsOk(sequence_->release()));
    auto fork = snapshot_.fork();
    ASSERT_TRUE(IsOk(fork));
    engine_.expect(*fork, history_);
    History forked = history_;
    engine_.append(*fork, forked, make_tokens(6, 8));
    engine_.expect(*fork, forked);
    ASSERT_TRUE(IsOk(fork->release()));
    ASSERT_TRUE(IsOk(snapshot_.drop()));
    EXPECT_EQ(used_pages(*cache_), 0U);
    EXPECT_TRUE(IsOk(cache_->close()));
  }

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Result<Sequence> sequence_;
  Snapshot snapshot_;
  History history_;
};

class AttentionLaunchFailureTest : public LaunchFailureTest {
 protected:
  AttentionLaunchFailureTest() : LaunchFailureTest{attention_layout()} {}
};

class EveryLaunchingCall : public LaunchFailureTest,
                           public testing::WithParamInterface<LaunchingCall> {};

TEST_P(EveryLaunchingCall, TaintsTheSequenceAndReleaseStillWorks) {
  SCOPED_TRACE(GetParam().name);
  EXPECT_TRUE(HasCode(GetParam().run(*sequence_, snapshot_, device_), ErrorCode::kDeviceFailed));
  expect_tainted();
  expect_recovery();
}

INSTANTIATE_TEST_SUITE_P(Fails, EveryLaunchingCall, testing::ValuesIn(launching_calls()));

TEST_F(LaunchFailureTest, FailedCommitTaints) {
  auto append = sequence_->append(2);
  ASSERT_TRUE(IsOk(append));
  engine_.write(*append, 5, make_tokens(2, 3));
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kDeviceFailed));
  expect_tainted();
  expect_recovery();
}

TEST_F(LaunchFailureTest, FailedKeyBuildingOfAViewTaints) {
  auto append = sequence_->append(2);
  ASSERT_TRUE(IsOk(append));
  engine_.write_views(*append, 5, make_tokens(2, 3), false);
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kDeviceFailed));
  EXPECT_TRUE(HasCode(append->drop(), ErrorCode::kTainted)) << "the append is still open";
  expect_tainted();
  expect_recovery();
}

TEST_F(LaunchFailureTest, OpenHandleOfATaintedSequenceSaysSo) {
  auto round = sequence_->verify(1);
  ASSERT_TRUE(IsOk(round));
  std::array<float, 4> const source{};
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(round->write(PlaneKind::kAttentionKv, 0, source.data(), 0, 1),
                      ErrorCode::kDeviceFailed));
  EXPECT_TRUE(
      HasCode(round->write(PlaneKind::kAttentionKv, 0, source.data(), 0, 1), ErrorCode::kTainted));
  EXPECT_TRUE(HasCode(round->rows(PlaneKind::kAttentionKv, 0), ErrorCode::kTainted));
  EXPECT_TRUE(HasCode(round->state(1), ErrorCode::kTainted));
  EXPECT_TRUE(HasCode(round->accept(0), ErrorCode::kTainted));
  expect_recovery();
  EXPECT_TRUE(HasCode(round->accept(0), ErrorCode::kStale));
}

TEST_F(LaunchFailureTest, OtherSequencesGoOn) {
  auto other = snapshot_.fork();
  ASSERT_TRUE(IsOk(other));
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(sequence_->append(1), ErrorCode::kDeviceFailed));
  History others = history_;
  engine_.append(*other, others, make_tokens(3, 2));
  engine_.expect(*other, others);
}

TEST_F(LaunchFailureTest, FailedCreationAndForkGiveTheSequenceBack) {
  std::uint64_t const used = used_pages(*cache_);
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(cache_->create_sequence(), ErrorCode::kDeviceFailed));
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(snapshot_.fork(), ErrorCode::kDeviceFailed));
  EXPECT_EQ(used_pages(*cache_), used);
  EXPECT_TRUE(IsOk(sequence_->position()));
  auto second = cache_->create_sequence();
  auto third = snapshot_.fork();
  EXPECT_TRUE(IsOk(second));
  ASSERT_TRUE(IsOk(third));
  engine_.expect(*second, {});
  engine_.expect(*third, history_);
}

TEST_F(LaunchFailureTest, ReusedIndexOfATaintedSequenceIsNotTainted) {
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(sequence_->verify(1), ErrorCode::kDeviceFailed));
  std::uint32_t const index = sequence_->id().index;
  ASSERT_TRUE(IsOk(sequence_->release()));
  auto fresh = cache_->create_sequence();
  ASSERT_TRUE(IsOk(fresh));
  EXPECT_EQ(fresh->id().index, index);
  History history;
  engine_.append(*fresh, history, make_tokens(3, 3));
  engine_.expect(*fresh, history);
}

TEST_F(AttentionLaunchFailureTest, FailedTruncateTaints) {
  device_.fail_next_launch();
  EXPECT_TRUE(HasCode(sequence_->truncate(3), ErrorCode::kDeviceFailed));
  expect_tainted();
  expect_recovery();
}

TEST_F(LaunchFailureTest, FailedReadsAreReportedAndTaintNothing) {
  device_.failing_read = true;
  Inspection const look = cache_->inspect();
  std::array<float, 4> out{};
  std::array<std::uint32_t, 1> entries{};
  Holder const holder{HolderKind::kSequence, sequence_->id().index};
  EXPECT_TRUE(HasCode(look.read_rows(holder, 0, 0, 0, 1, out), ErrorCode::kDeviceFailed));
  EXPECT_TRUE(HasCode(look.mirror(holder.index), ErrorCode::kDeviceFailed));
  EXPECT_TRUE(HasCode(look.read_table(holder.index, 0, 0, entries), ErrorCode::kDeviceFailed));
  device_.failing_read = false;
  engine_.expect(*sequence_, history_);
}

}  // namespace
}  // namespace holdfast::test
