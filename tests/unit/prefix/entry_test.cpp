// SPDX-License-Identifier: Apache-2.0
// Goal: a capture publishes a snapshot under its key, once, and moves nothing; entries live and die
// by themselves.
// Method: small layouts; what is seen of the whole cache before and after.
#include <gtest/gtest.h>

#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/entry_fixture.hpp"

namespace holdfast::test {
namespace {

class EntryTest : public testing::Test {
 protected:
  EntryBench bench_{with_entries(hybrid_layout())};
  Cache& cache_ = *bench_.cache;
};

TEST_F(EntryTest, CaptureTakesReferencesAndMovesNothing) {
  History const tokens = make_tokens(7, 1);
  Snapshot const held = bench_.snapshot_of(tokens);
  std::uint64_t const used = used_pages(cache_);
  std::uint64_t const launches = bench_.device.launches;
  auto const bytes = picture_of(cache_).bytes;
  auto const entry = cache_.capture(kScope, held, tokens);
  ASSERT_TRUE(IsOk(entry));
  EXPECT_EQ(used_pages(cache_), used);
  EXPECT_EQ(bench_.device.launches, launches);
  EXPECT_EQ(picture_of(cache_).bytes, bytes);
  bench_.engine.expect(*entry, tokens);
  EXPECT_GE(entry->index, cache_.inspect().first_entry());
}

TEST_F(EntryTest, EveryRefusalOfCaptureChangesNothing) {
  History const tokens = make_tokens(7, 1);
  Snapshot const held = bench_.snapshot_of(tokens);
  Snapshot const empty = bench_.snapshot_of({});
  EntryBench other{with_entries(hybrid_layout())};
  Snapshot const foreign = other.snapshot_of(tokens);
  Snapshot dropped = bench_.snapshot_of(tokens);
  ASSERT_TRUE(IsOk(dropped.drop()));
  Picture const before = picture_of(cache_);
  EXPECT_TRUE(HasCode(cache_.capture(kScope, Snapshot{}, tokens), ErrorCode::kStale, "snapshot"));
  EXPECT_TRUE(
      HasCode(cache_.capture(kScope, foreign, tokens), ErrorCode::kInvalidArgument, "snapshot"));
  for (std::uint32_t const count : {0U, 6U, 8U}) {
    EXPECT_TRUE(HasCode(cache_.capture(kScope, held, make_tokens(count, 1)),
                        ErrorCode::kInvalidArgument,
                        "tokens"));
  }
  EXPECT_TRUE(HasCode(cache_.capture(kScope, empty, {}), ErrorCode::kInvalidArgument, "snapshot"));
  EXPECT_TRUE(HasCode(cache_.capture(kScope, dropped, tokens), ErrorCode::kStale, "snapshot"));
  EXPECT_EQ(picture_of(cache_), before);
  auto const found = cache_.match(kScope, tokens, UINT32_MAX);
  ASSERT_TRUE(IsOk(found));
  EXPECT_EQ(found->length, 0U);
}

TEST_F(EntryTest, EntriesRunOutByTheirNumber) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    bench_.entry_of(make_tokens(3, seed));
  }
  History const tokens = make_tokens(5, 9);
  Snapshot const held = bench_.snapshot_of(tokens);
  EXPECT_TRUE(HasCode(cache_.capture(kScope, held, tokens), ErrorCode::kExhausted, "entries"));
  // A key that is known needs no new entry.
  History const known = make_tokens(3, 2);
  Snapshot const again = bench_.snapshot_of(known);
  EXPECT_TRUE(IsOk(cache_.capture(kScope, again, known)));
}

TEST(EntryCapacity, NoneUnlessTheLayoutSaysSo) {
  EntryBench bench{with_entries(hybrid_layout(), 0)};
  History const tokens = make_tokens(3, 1);
  Snapshot const held = bench.snapshot_of(tokens);
  EXPECT_TRUE(
      HasCode(bench.cache->capture(kScope, held, tokens), ErrorCode::kExhausted, "entries"));
  EXPECT_TRUE(HasCode(bench.restore(tokens), ErrorCode::kMiss, "tokens"));
}

TEST_F(EntryTest, AKnownKeyGivesTheEntryThatHasIt) {
  History const tokens = make_tokens(7, 1);
  EntryId const first = bench_.entry_of(tokens);
  std::uint64_t const used = used_pages(cache_);
  EXPECT_EQ(bench_.entry_of(tokens), first) << "same tokens in other storage";
  EXPECT_EQ(used_pages(cache_), used) << "the second one's storage is nobody's any more";
  // Anything else in the key makes another entry.
  EXPECT_NE(bench_.entry_of(tokens, {.model = 0, .adapter = 12, .tenant = 13}), first);
  EXPECT_NE(bench_.entry_of(tokens, {.model = 11, .adapter = 0, .tenant = 13}), first);
  EXPECT_NE(bench_.entry_of(tokens, {.model = 11, .adapter = 12, .tenant = 0}), first);
}

TEST_F(EntryTest, EraseFreesExactlyWhatOnlyItHeld) {
  std::uint64_t const none = used_pages(cache_);
  History const tokens = make_tokens(9, 1);
  Sequence sequence = bench_.sequence();
  History history;
  bench_.engine.append(sequence, history, tokens);
  std::uint64_t const own = used_pages(cache_);
  EntryId entry;
  {
    auto held = sequence.snapshot();
    ASSERT_TRUE(IsOk(held));
    auto const captured = cache_.capture(kScope, *held, tokens);
    ASSERT_TRUE(IsOk(captured));
    entry = *captured;
  }
  EXPECT_EQ(used_pages(cache_), own);
  ASSERT_TRUE(IsOk(cache_.erase(entry)));
  EXPECT_EQ(used_pages(cache_), own) << "the sequence holds all of it";
  bench_.engine.expect(sequence, history);
  ASSERT_TRUE(IsOk(sequence.release()));
  EXPECT_EQ(used_pages(cache_), none);

  EntryId const alone = bench_.entry_of(tokens);
  EXPECT_EQ(used_pages(cache_), own - 2) << "all but ring pages without a row of the open pool";
  ASSERT_TRUE(IsOk(cache_.erase(alone)));
  EXPECT_EQ(used_pages(cache_), none);
}

TEST_F(EntryTest, AnErasedEntryIsStaleForEver) {
  History const tokens = make_tokens(5, 1);
  EntryId const entry = bench_.entry_of(tokens);
  ASSERT_TRUE(IsOk(cache_.erase(entry)));
  EntryId const next = bench_.entry_of(tokens);
  EXPECT_EQ(next.index, entry.index);
  std::vector<std::byte> out(4096);
  for (EntryId const stale :
       {entry, EntryId{}, EntryId{1, 1}, EntryId{UINT32_MAX, 1}, EntryId{next.index, 0}}) {
    EXPECT_TRUE(HasCode(cache_.erase(stale), ErrorCode::kStale, "entry"));
    EXPECT_TRUE(HasCode(cache_.entry_bytes(stale), ErrorCode::kStale, "entry"));
    EXPECT_TRUE(HasCode(cache_.serialize(stale, out), ErrorCode::kStale, "entry"));
  }
  bench_.engine.expect(next, tokens);
}

TEST_F(EntryTest, ASnapshotsIdIsNoEntrysAndTheOtherWayRound) {
  Snapshot const held = bench_.snapshot_of(make_tokens(5, 1));
  EXPECT_TRUE(HasCode(cache_.erase({held.id().index, held.id().generation}), ErrorCode::kStale));
  EXPECT_TRUE(IsOk(held.position()));
}

TEST_F(EntryTest, CloseFreesEntriesButNotUnderLiveSequences) {
  History const tokens = make_tokens(5, 1);
  EntryId const entry = bench_.entry_of(tokens);
  {
    auto const restored = bench_.restore(tokens);
    ASSERT_TRUE(IsOk(restored));
    EXPECT_TRUE(HasCode(cache_.close(), ErrorCode::kBusy));
  }
  EXPECT_TRUE(IsOk(cache_.close()));
  EXPECT_EQ(bench_.device.live(), 0U);
  std::vector<std::byte> bytes(100);
  Snapshot const none;
  EXPECT_TRUE(HasCode(cache_.erase(entry), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(cache_.entry_bytes(entry), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(cache_.capture(kScope, none, tokens), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_.match(kScope, tokens, 1), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_.restore(kScope, tokens, 1), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_.serialize(entry, bytes), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(cache_.deserialize(kScope, bytes), ErrorCode::kStale, "cache"));
  Cache moved = std::move(cache_);
  EXPECT_TRUE(HasCode(cache_.restore(kScope, tokens, 1), ErrorCode::kStale, "cache"));
  EXPECT_TRUE(HasCode(cache_.erase(entry), ErrorCode::kStale, "cache"));
}

TEST_F(EntryTest, BytesOfAnEntryNeverChange) {
  Sequence sequence = bench_.sequence();
  History history;
  bench_.engine.append(sequence, history, make_tokens(7, 1));
  History const tokens = history;
  EntryId entry;
  {
    auto held = sequence.snapshot();
    ASSERT_TRUE(IsOk(held));
    auto const captured = cache_.capture(kScope, *held, tokens);
    ASSERT_TRUE(IsOk(captured));
    entry = *captured;
  }
  auto const before = bench_.bytes_of(entry);
  bench_.engine.append(sequence, history, make_tokens(11, 2));
  bench_.engine.verify(sequence, history, make_tokens(4, 3), 1);
  EXPECT_EQ(bench_.bytes_of(entry), before);
  auto restored = bench_.restore(tokens);
  ASSERT_TRUE(IsOk(restored));
  History other = tokens;
  bench_.engine.append(restored->sequence, other, make_tokens(13, 4));
  bench_.engine.expect(restored->sequence, other);
  bench_.engine.expect(sequence, history);
  EXPECT_EQ(bench_.bytes_of(entry), before);
}

}  // namespace
}  // namespace holdfast::test
