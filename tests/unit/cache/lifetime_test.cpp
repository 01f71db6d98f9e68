// SPDX-License-Identifier: Apache-2.0
// Goal: a used-up handle is kStale, always; a cache ends when it may and never under live handles.
// Method: ends every handle in every way, then makes every call on it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

static_assert(!std::is_copy_constructible_v<Append> && !std::is_copy_constructible_v<Round>);
static_assert(!std::is_copy_constructible_v<Snapshot> && !std::is_copy_assignable_v<Sequence>);
static_assert(std::is_nothrow_move_constructible_v<Sequence> &&
              std::is_nothrow_move_assignable_v<Sequence>);

void expect_stale(Append& append) {
  std::array<float, 8> const source{};
  EXPECT_TRUE(
      HasCode(append.write(PlaneKind::kAttentionKv, 0, source.data(), 1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(append.rows(PlaneKind::kAttentionKv, 0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(append.state(1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(append.commit(), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(append.drop(), ErrorCode::kStale));
}

void expect_stale(Round& round) {
  std::array<float, 8> const source{};
  EXPECT_TRUE(
      HasCode(round.write(PlaneKind::kAttentionKv, 0, source.data(), 0, 1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(round.rows(PlaneKind::kAttentionKv, 0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(round.state(1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(round.accept(0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(round.drop(), ErrorCode::kStale));
}

void expect_stale(Sequence& sequence) {
  EXPECT_TRUE(HasCode(sequence.append(1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.verify(1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.snapshot(), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.rollback(Snapshot{}), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.truncate(0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.can_truncate(0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.position(), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(sequence.release(), ErrorCode::kStale));
}

void expect_stale(Snapshot& snapshot) {
  EXPECT_TRUE(HasCode(snapshot.fork(), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(snapshot.position(), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(snapshot.drop(), ErrorCode::kStale));
}

class LifetimeTest : public testing::Test {
 protected:
  LifetimeTest() { cache_.emplace(*Cache::create(hybrid_layout(), device_)); }

  Sequence create() {
    auto created = cache_->create_sequence();
    EXPECT_TRUE(IsOk(created));
    return created ? std::move(*created) : Sequence{};
  }

  WrappingDevice device_;
  // An optional so that a test can end the cache before its handles.
  struct Slot {
    std::optional<Cache> held;
    void emplace(Cache& cache) { held.emplace(std::move(cache)); }
    Cache* operator->() { return &*held; }
    Cache& operator*() { return *held; }
  } cache_;
};

TEST_F(LifetimeTest, DefaultHandlesAreStale) {
  Sequence sequence;
  Snapshot snapshot;
  expect_stale(sequence);
  expect_stale(snapshot);
  EXPECT_EQ(sequence.id(), HandleId{});
}

TEST_F(LifetimeTest, AppendIsStaleAfterEveryEnd) {
  Sequence sequence = create();
  ToyEngine const engine{*cache_};
  auto committed = sequence.append(1);
  engine.write(*committed, 0, make_tokens(1, 1));
  ASSERT_TRUE(IsOk(committed->commit()));
  expect_stale(*committed);
  auto dropped = sequence.append(1);
  ASSERT_TRUE(IsOk(dropped->drop()));
  expect_stale(*dropped);
  auto cancelled = sequence.append(1);
  ASSERT_TRUE(IsOk(sequence.release()));
  expect_stale(*cancelled);
}

TEST_F(LifetimeTest, RoundIsStaleAfterEveryEnd) {
  Sequence sequence = create();
  ToyEngine const engine{*cache_};
  auto accepted = sequence.verify(2);
  engine.write(*accepted, 0, make_tokens(2, 1));
  ASSERT_TRUE(IsOk(accepted->accept(1)));
  expect_stale(*accepted);
  auto dropped = sequence.verify(2);
  ASSERT_TRUE(IsOk(dropped->drop()));
  expect_stale(*dropped);
  auto cancelled = sequence.verify(2);
  ASSERT_TRUE(IsOk(sequence.release()));
  expect_stale(*cancelled);
}

TEST_F(LifetimeTest, EndedHandleStaysStaleWhileAnotherIsOpen) {
  Sequence sequence = create();
  auto first = sequence.append(1);
  ASSERT_TRUE(IsOk(first->drop()));
  auto second = sequence.append(1);
  ASSERT_TRUE(IsOk(second));
  expect_stale(*first);
  EXPECT_TRUE(IsOk(second->rows(PlaneKind::kAttentionKv, 0))) << "the open one is untouched";
  ASSERT_TRUE(IsOk(second->drop()));
  auto round = sequence.verify(1);
  ASSERT_TRUE(IsOk(round));
  expect_stale(*second);
  EXPECT_TRUE(IsOk(round->accept(0)));
}

TEST_F(LifetimeTest, ReleasedSequenceIsStaleAndItsReusedIndexIsAnother) {
  Sequence old = create();
  HandleId const id = old.id();
  ASSERT_TRUE(IsOk(old.release()));
  expect_stale(old);
  Sequence const fresh = create();
  EXPECT_EQ(fresh.id().index, id.index) << "the index is used again";
  EXPECT_NE(fresh.id().generation, id.generation);
  expect_stale(old);
  EXPECT_TRUE(IsOk(fresh.position()));
}

TEST_F(LifetimeTest, OpenHandleOfAReleasedSequenceMissesItsReusedIndex) {
  Sequence old = create();
  auto append = old.append(1);
  ASSERT_TRUE(IsOk(append));
  ASSERT_TRUE(IsOk(old.release()));
  Sequence fresh = create();
  ASSERT_EQ(fresh.id().index, old.id().index);
  auto open = fresh.append(1);
  ASSERT_TRUE(IsOk(open));
  expect_stale(*append);
  EXPECT_TRUE(cache_->inspect().sequence(fresh.id().index).open);
}

TEST_F(LifetimeTest, DroppedSnapshotIsStaleAndItsReusedIndexIsAnother) {
  Sequence sequence = create();
  auto old = sequence.snapshot();
  ASSERT_TRUE(IsOk(old));
  HandleId const id = old->id();
  ASSERT_TRUE(IsOk(old->drop()));
  expect_stale(*old);
  EXPECT_TRUE(HasCode(sequence.rollback(*old), ErrorCode::kStale, "snapshot"));
  auto fresh = sequence.snapshot();
  ASSERT_TRUE(IsOk(fresh));
  EXPECT_EQ(fresh->id().index, id.index);
  EXPECT_NE(fresh->id().generation, id.generation);
  EXPECT_TRUE(HasCode(sequence.rollback(*old), ErrorCode::kStale, "snapshot"));
  expect_stale(*old);
  EXPECT_TRUE(IsOk(sequence.rollback(*fresh)));
}

TEST_F(LifetimeTest, MovedFromHandlesAreStale) {
  Sequence sequence = create();
  auto append = sequence.append(1);
  ASSERT_TRUE(IsOk(append));
  Append append_to{std::move(*append)};
  expect_stale(*append);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_TRUE(IsOk(append_to.drop()));
  auto round = sequence.verify(1);
  ASSERT_TRUE(IsOk(round));
  Round const round_to{std::move(*round)};
  expect_stale(*round);  // NOLINT(bugprone-use-after-move)
  Sequence sequence_to{std::move(sequence)};
  expect_stale(sequence);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(HasCode(sequence_to.snapshot(), ErrorCode::kBusy));
}

TEST_F(LifetimeTest, MovedFromSnapshotIsStale) {
  Sequence sequence = create();
  auto snapshot = sequence.snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  Snapshot const to{std::move(*snapshot)};
  expect_stale(*snapshot);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(HasCode(sequence.rollback(*snapshot), ErrorCode::kStale, "snapshot"));
  EXPECT_TRUE(IsOk(sequence.rollback(to)));
}

TEST_F(LifetimeTest, AssignmentReleasesWhatWasThere) {
  Sequence first = create();
  Sequence second = create();
  HandleId const kept = second.id();
  first = std::move(second);
  EXPECT_EQ(first.id(), kept);
  EXPECT_EQ(used_pages(*cache_), 1U);
  expect_stale(second);  // NOLINT(bugprone-use-after-move)
  auto snapshot = first.snapshot();
  auto other = first.snapshot();
  ASSERT_TRUE(IsOk(other));
  *snapshot = std::move(*other);
  EXPECT_FALSE(cache_->inspect().snapshot(2).live && cache_->inspect().snapshot(1).live);
}

TEST_F(LifetimeTest, SelfAssignmentKeepsTheHandle) {
  Sequence sequence = create();
  Sequence& same = sequence;
  sequence = std::move(same);
  EXPECT_TRUE(IsOk(sequence.position()));
  auto round = sequence.verify(1);
  ASSERT_TRUE(IsOk(round));
  Round& same_round = *round;
  *round = std::move(same_round);
  EXPECT_TRUE(IsOk(round->accept(0)));
}

TEST_F(LifetimeTest, CloseIsRefusedWhileAnythingLives) {
  Sequence sequence = create();
  auto snapshot = sequence.snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  Status const refused = cache_->close();
  ASSERT_TRUE(HasCode(refused, ErrorCode::kBusy, "cache"));
  EXPECT_EQ(refused.error().got, 2);
  ASSERT_TRUE(IsOk(sequence.release()));
  EXPECT_TRUE(HasCode(cache_->close(), ErrorCode::kBusy));
  ASSERT_TRUE(IsOk(snapshot->drop()));
  EXPECT_TRUE(IsOk(cache_->close()));
  EXPECT_EQ(device_.live(), 0U);
}

TEST_F(LifetimeTest, ClosedCacheIsStaleAndShowsNothing) {
  Sequence sequence = create();
  ASSERT_TRUE(IsOk(sequence.release()));
  ASSERT_TRUE(IsOk(cache_->close()));
  EXPECT_TRUE(HasCode(cache_->close(), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_->create_sequence(), ErrorCode::kStale, "cache"));
  expect_stale(sequence);
  Inspection const look = cache_->inspect();
  EXPECT_EQ(look.plane_count(), 0U);
  EXPECT_EQ(look.sequence_limit(), 0U);
  EXPECT_FALSE(look.sequence(1).live);
  EXPECT_TRUE(HasCode(look.mirror(1), ErrorCode::kInvalidArgument));
}

TEST_F(LifetimeTest, MovedFromAndDefaultCachesAreClosed) {
  Cache moved{std::move(*cache_)};
  EXPECT_TRUE(HasCode(cache_->create_sequence(), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_->close(), ErrorCode::kStale, "cache"));
  EXPECT_EQ(cache_->inspect().plane_count(), 0U);
  EXPECT_EQ(cache_->inspect().pages_free(0), 0U);
  EXPECT_TRUE(IsOk(moved.create_sequence()));
  Cache none;
  EXPECT_TRUE(HasCode(none.close(), ErrorCode::kStale));
}

TEST_F(LifetimeTest, AssignedCacheTakesOver) {
  auto other = Cache::create(attention_layout(), device_);
  ASSERT_TRUE(IsOk(other));
  *cache_ = std::move(*other);
  EXPECT_EQ(cache_->inspect().plane_count(), 1U);
  EXPECT_TRUE(IsOk(cache_->create_sequence()));
}

TEST_F(LifetimeTest, CacheDestroyedBeforeItsHandlesKeepsItsMemoryForThem) {
  ToyEngine const engine{*cache_};
  Sequence sequence = create();
  History history;
  engine.append(sequence, history, make_tokens(3, 1));
  auto snapshot = sequence.snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  cache_.held.reset();
  EXPECT_EQ(device_.live(), 2U);
  EXPECT_EQ(*sequence.position(), 3U);
  auto append = sequence.append(1);
  EXPECT_TRUE(IsOk(append));
  ASSERT_TRUE(IsOk(append->drop()));
  EXPECT_TRUE(IsOk(sequence.rollback(*snapshot)));
  ASSERT_TRUE(IsOk(sequence.release()));
  EXPECT_EQ(device_.live(), 2U) << "the snapshot lives";
  ASSERT_TRUE(IsOk(snapshot->drop()));
  EXPECT_EQ(device_.live(), 0U) << "given back with the last of them";
  expect_stale(sequence);
  expect_stale(*snapshot);
  expect_stale(*append);
}

TEST_F(LifetimeTest, DestroyedHandlesGiveEverythingBack) {
  {
    Sequence sequence = create();
    auto snapshot = sequence.snapshot();
    ASSERT_TRUE(IsOk(snapshot));
    auto fork = snapshot->fork();
    ASSERT_TRUE(IsOk(fork));
    auto round = fork->verify(3);
    ASSERT_TRUE(IsOk(round));
  }
  EXPECT_EQ(used_pages(*cache_), 0U);
  EXPECT_TRUE(IsOk(cache_->close()));
}

TEST_F(LifetimeTest, InspectionAnswersIndicesOutOfRangeWithNothing) {
  Sequence const sequence = create();
  Inspection const look = cache_->inspect();
  Holder const nobody{HolderKind::kSequence, 999};
  std::array<float, 4> out{};
  std::array<std::uint32_t, 1> entries{};
  EXPECT_EQ(look.plane(99).pages, 0U);
  EXPECT_FALSE(look.sequence(999).live);
  EXPECT_FALSE(look.snapshot(999).live);
  EXPECT_EQ(look.state(nobody, 0).length, 0U);
  EXPECT_EQ(look.page(nobody, 0, 0), 0U);
  EXPECT_EQ(look.chunk(nobody, 0, 0), 0U);
  EXPECT_TRUE(look.chunk_pages(0, 99999).empty());
  EXPECT_EQ(look.chunk_references(0, 99999), 0U);
  EXPECT_EQ(look.page_references(0, 99999), 0U);
  EXPECT_EQ(look.page_writer(0, 99999), 0U);
  EXPECT_TRUE(look.open_pages(999, 0).empty());
  EXPECT_EQ(look.row_address({HolderKind::kSequence, 1}, 0, 99, 0), nullptr);
  EXPECT_TRUE(HasCode(look.read_rows({HolderKind::kSequence, 1}, 0, 0, 0, 1, out),
                      ErrorCode::kInvalidArgument,
                      "row"));
  EXPECT_TRUE(HasCode(look.read_state(nobody, out), ErrorCode::kInvalidArgument, "state"));
  EXPECT_TRUE(HasCode(
      look.read_state({HolderKind::kSequence, 1}, out), ErrorCode::kInvalidArgument, "out"));
  EXPECT_TRUE(HasCode(look.read_table(1, 0, 99999, entries), ErrorCode::kInvalidArgument, "entry"));
  EXPECT_TRUE(look.free_pages(99).empty());
  EXPECT_TRUE(HasCode(look.mirror(999), ErrorCode::kInvalidArgument, "sequence"));
}

TEST(CacheLife, MayHaveFewerTokensThanAPool) {
  Layout layout = latent_layout();  // whose pool is 2
  layout.capacity.tokens = 1;
  auto const device = make_host_device();
  auto cache = Cache::create(layout, *device);
  ASSERT_TRUE(IsOk(cache));
  auto sequence = cache->create_sequence();
  ASSERT_TRUE(IsOk(sequence));
  auto append = sequence->append(1);
  ASSERT_TRUE(IsOk(append));
  EXPECT_TRUE(IsOk(append->drop()));
  auto snapshot = sequence->snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  EXPECT_TRUE(IsOk(sequence->rollback(*snapshot)));
}

}  // namespace
}  // namespace holdfast::test
