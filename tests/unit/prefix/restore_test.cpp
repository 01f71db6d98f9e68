// SPDX-License-Identifier: Apache-2.0
// Goal: a restore takes the longest prefix at which every plane can start, from the right entry,
// with that entry's storage below it and no copy; a miss says which plane or rule refused.
// Method: every entry position and prompt length on layouts of each class, against the rules
// written down once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/entry_fixture.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kLongestRestored = 11;

/// The rule of a layout: may a sequence start at `q` of an entry of `p` rows?
using Rule = bool (*)(std::uint32_t p, std::uint32_t q);

bool always(std::uint32_t /*p*/, std::uint32_t /*q*/) {
  return true;
}
bool in_own_pool(std::uint32_t p, std::uint32_t q) {  // small_indexer() has a pool of 2
  return q % 2 == 0 || q / 2 == p / 2;
}
bool at_the_end(std::uint32_t p, std::uint32_t q) {
  return q == p;
}

struct RuleCase {
  char const* name;
  Layout layout;
  Rule rule;
};

std::vector<RuleCase> rule_cases() {
  return {{"attention", with_entries(attention_layout()), &always},
          {"latent", with_entries(latent_layout()), &in_own_pool},
          {"hybrid", with_entries(hybrid_layout()), &at_the_end},
          {"recurrent", with_entries(recurrent_layout()), &at_the_end}};
}

std::uint32_t longest(Rule rule, std::uint32_t p, std::uint32_t most) {
  std::uint32_t q = std::min(p, most);
  while (q != 0 && !rule(p, q)) {
    --q;
  }
  return q;
}

/// Pages of every table of a sequence are those of its position, and they are the entry's.
void expect_entry_pages(Cache const& cache, Sequence const& sequence, EntryId entry) {
  Inspection const look = cache.inspect();
  Holder const own{HolderKind::kSequence, sequence.id().index};
  Holder const from{HolderKind::kSnapshot, entry.index};
  for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
    PlaneInfo const plane = look.plane(index);
    PlaneState const state = look.state(own, index);
    if (plane.page_rows == 0) {
      EXPECT_EQ(state.slot, look.state(from, index).slot);
      continue;
    }
    EXPECT_EQ(state.sealed, state.length) << plane.name;
    if (plane.ring_rows != 0) {
      std::uint32_t const pool = 2;
      EXPECT_EQ(state.lo, state.length / pool * pool);
      continue;
    }
    EXPECT_EQ(state.pages, (state.length + plane.page_rows - 1) / plane.page_rows) << plane.name;
    std::uint32_t in_chunks = 0;
    for (std::uint32_t chunk = 0; chunk < state.chunks; ++chunk) {
      in_chunks +=
          static_cast<std::uint32_t>(look.chunk_pages(index, look.chunk(own, index, chunk)).size());
    }
    EXPECT_EQ(in_chunks, state.pages) << plane.name << ": every page of a chunk is in use";
    for (std::uint32_t page = 0; page < state.pages; ++page) {
      EXPECT_EQ(look.page(own, index, page), look.page(from, index, page)) << plane.name;
    }
  }
}

TEST(RestoreRule, EveryEntryAndPromptOnEveryClass) {
  for (RuleCase const& one : rule_cases()) {
    SCOPED_TRACE(one.name);
    for (std::uint32_t p = 1; p <= kLongestRestored; ++p) {
      EntryBench bench{one.layout};
      History const tokens = make_tokens(p, 1);
      EntryId const entry = bench.entry_of(tokens);
      std::uint64_t const used = used_pages(*bench.cache);
      for (std::uint32_t q = 0; q <= p + 1 && !testing::Test::HasFailure(); ++q) {
        SCOPED_TRACE(testing::Message() << "p " << p << " q " << q);
        // The prompt ends there; or it goes on with something else; or the caller limits it.
        History const other = joined(first_of(tokens, std::min(p, q)), {1000, 1001});
        std::uint32_t const wanted = longest(one.rule, p, q);
        History const exact = first_of(tokens, std::min(p, q));
        std::pair<History, std::uint32_t> const prompts[] = {
            {exact, UINT32_MAX}, {other, UINT32_MAX}, {joined(tokens, {1000}), q}};
        for (auto const& [prompt, limit] : prompts) {
          std::uint64_t const launches = bench.device.launches;
          auto const found = bench.cache->match(kScope, prompt, limit);
          ASSERT_TRUE(IsOk(found));
          EXPECT_EQ(found->length, wanted);
          EXPECT_EQ(bench.device.launches, launches);
          auto restored = bench.cache->restore(kScope, prompt, limit);
          if (wanted == 0) {
            EXPECT_TRUE(HasCode(restored, ErrorCode::kMiss));
            EXPECT_EQ(bench.device.launches, launches);
            continue;
          }
          ASSERT_TRUE(IsOk(restored));
          EXPECT_EQ(restored->length, wanted);
          EXPECT_EQ(restored->entry, entry);
          EXPECT_EQ(bench.device.launches, launches + 1);
          EXPECT_EQ(used_pages(*bench.cache), used) << "nothing was copied";
          bench.engine.expect(restored->sequence, first_of(tokens, wanted));
          expect_entry_pages(*bench.cache, restored->sequence, entry);
        }
      }
    }
  }
}

TEST(RestoreRule, ARestoredSequenceGoesOnByItself) {
  for (RuleCase const& one : rule_cases()) {
    SCOPED_TRACE(one.name);
    for (std::uint32_t p = 1; p <= kLongestRestored && !testing::Test::HasFailure(); ++p) {
      EntryBench bench{one.layout};
      History const tokens = make_tokens(p, 1);
      EntryId const entry = bench.entry_of(tokens);
      for (std::uint32_t q = 1; q <= p; ++q) {
        if (!one.rule(p, q)) {
          continue;
        }
        auto restored = bench.restore(tokens, q);
        ASSERT_TRUE(IsOk(restored));
        History history = first_of(tokens, q);
        bench.engine.append(restored->sequence, history, make_tokens(3, 9));
        bench.engine.verify(restored->sequence, history, make_tokens(4, 8), 2);
        bench.engine.append(restored->sequence, history, make_tokens(9, 7));
        bench.engine.expect(restored->sequence, history);
        bench.engine.expect(entry, tokens);
      }
      // Without the entry the last one has everything alone.
      auto restored = bench.restore(tokens);
      ASSERT_TRUE(IsOk(restored));
      ASSERT_TRUE(IsOk(bench.cache->erase(entry)));
      History history = tokens;
      bench.engine.append(restored->sequence, history, make_tokens(9, 7));
      bench.engine.expect(restored->sequence, history);
    }
  }
}

class RestoreTest : public testing::Test {
 protected:
  EntryBench latent_{with_entries(latent_layout())};
  EntryBench hybrid_{with_entries(hybrid_layout())};
  EntryBench attention_{with_entries(attention_layout())};
};

TEST_F(RestoreTest, AMissSaysWhichPlaneOrRuleRefusedAndWhere) {
  History const tokens = make_tokens(8, 1);
  EXPECT_TRUE(HasCode(hybrid_.restore(tokens), ErrorCode::kMiss, "tokens"));
  hybrid_.entry_of(tokens);
  auto const inside = hybrid_.restore(tokens, 5);
  EXPECT_TRUE(HasCode(inside, ErrorCode::kMiss, "pool_keys"));
  EXPECT_EQ(inside.error().got, 5);
  auto const edge = hybrid_.restore(tokens, 6);
  EXPECT_TRUE(HasCode(edge, ErrorCode::kMiss, "recurrent"));
  EXPECT_EQ(edge.error().got, 6);
  EXPECT_TRUE(HasCode(hybrid_.restore(tokens, 0), ErrorCode::kMiss, "limit"));
  EXPECT_EQ(hybrid_.restore(tokens, 0).error().got, 1);
  EXPECT_TRUE(HasCode(hybrid_.restore({}), ErrorCode::kMiss, "tokens"));
  EXPECT_TRUE(HasCode(hybrid_.restore(make_tokens(8, 2)), ErrorCode::kMiss, "tokens"));
  EXPECT_TRUE(HasCode(hybrid_.cache->restore({}, tokens, UINT32_MAX), ErrorCode::kMiss, "tokens"));
}

TEST_F(RestoreTest, AHitSaysWhatKeptItFromBeingLonger) {
  History const tokens = make_tokens(8, 1);
  latent_.entry_of(tokens);
  struct Case {
    History prompt;
    std::uint32_t limit;
    std::uint32_t length;
    char const* by;
    std::uint32_t at;
  };
  Case const cases[] = {{tokens, UINT32_MAX, 8, "tokens", 9},
                        {tokens, 8, 8, "limit", 9},
                        {tokens, 6, 6, "limit", 7},
                        {tokens, 5, 4, "pool_keys", 5},
                        {first_of(tokens, 3), UINT32_MAX, 2, "pool_keys", 3},
                        {joined(first_of(tokens, 4), {1000}), UINT32_MAX, 4, "tokens", 5}};
  for (Case const& one : cases) {
    auto const found = latent_.cache->match(kScope, one.prompt, one.limit);
    ASSERT_TRUE(IsOk(found));
    EXPECT_EQ(found->length, one.length);
    EXPECT_EQ(std::string_view{found->limited_by}, one.by) << "length " << one.length;
    EXPECT_EQ(found->limited_at, one.at) << one.by;
  }
}

TEST_F(RestoreTest, TheLongestUsableWinsNotTheLongestCommon) {
  History const trunk = make_tokens(6, 1);
  EntryId const exact = hybrid_.entry_of(trunk);
  hybrid_.entry_of(joined(trunk, make_tokens(4, 2)));  // shares more, and is usable only at its end
  History const prompt = joined(trunk, first_of(make_tokens(4, 2), 3));
  auto const found = hybrid_.cache->match(kScope, prompt, UINT32_MAX);
  ASSERT_TRUE(IsOk(found));
  EXPECT_STREQ(found->limited_by, "pool_keys") << "the longer entry has all of the tokens";
  EXPECT_EQ(found->limited_at, 9U);
  auto const restored = hybrid_.restore(prompt);
  ASSERT_TRUE(IsOk(restored));
  EXPECT_EQ(restored->length, 6U);
  EXPECT_EQ(restored->entry, exact);

  // In pools: 7 rows of one entry reach into another pool, 7 of the other are its own.
  History const tokens = make_tokens(10, 1);
  latent_.entry_of(tokens);
  EntryId const own = latent_.entry_of(first_of(tokens, 7));
  auto const inside = latent_.restore(first_of(tokens, 7));
  ASSERT_TRUE(IsOk(inside));
  EXPECT_EQ(inside->length, 7U);
  EXPECT_EQ(inside->entry, own);
}

TEST_F(RestoreTest, TiesGoToTheEntryThatWasCapturedFirst) {
  History const trunk = make_tokens(4, 1);
  // Sorted, the first captured stands between the others.
  EntryId const first = attention_.entry_of(joined(trunk, {50}));
  attention_.entry_of(joined(trunk, {40}));
  attention_.entry_of(joined(trunk, {60}));
  for (std::uint32_t const next : {30U, 45U, 55U, 70U}) {
    auto const restored = attention_.restore(joined(trunk, {next}));
    ASSERT_TRUE(IsOk(restored));
    EXPECT_EQ(restored->length, 4U);
    EXPECT_EQ(restored->entry, first);
  }
  // An entry that was loaded again is the youngest.
  auto const bytes = attention_.bytes_of(first);
  ASSERT_TRUE(IsOk(attention_.cache->erase(first)));
  auto const loaded = attention_.cache->deserialize(kScope, bytes);
  ASSERT_TRUE(IsOk(loaded));
  auto const restored = attention_.restore(joined(trunk, {70}));
  ASSERT_TRUE(IsOk(restored));
  EXPECT_NE(restored->entry, *loaded);
}

TEST_F(RestoreTest, NoSequenceIsLeftIsSaidAfterTheHit) {
  History const tokens = make_tokens(5, 1);
  EntryId const entry = hybrid_.entry_of(tokens);
  std::vector<Sequence> all;
  for (std::uint32_t i = 0; i < 4; ++i) {
    all.push_back(hybrid_.sequence());
  }
  Picture const before = picture_of(*hybrid_.cache);
  EXPECT_TRUE(HasCode(hybrid_.restore(tokens), ErrorCode::kExhausted, "sequences"));
  EXPECT_TRUE(HasCode(hybrid_.restore(make_tokens(5, 2)), ErrorCode::kMiss, "tokens"));
  EXPECT_EQ(picture_of(*hybrid_.cache), before);
  hybrid_.engine.expect(entry, tokens);
}

TEST_F(RestoreTest, AFailedLaunchLeavesNoSequence) {
  History const tokens = make_tokens(9, 1);
  EntryId const entry = hybrid_.entry_of(tokens);
  std::uint64_t const used = used_pages(*hybrid_.cache);
  for (std::uint32_t i = 0; i < 6; ++i) {  // more than there are sequences
    hybrid_.device.fail_next_launch();
    EXPECT_TRUE(HasCode(hybrid_.restore(tokens), ErrorCode::kDeviceFailed));
    EXPECT_EQ(used_pages(*hybrid_.cache), used);
  }
  auto const restored = hybrid_.restore(tokens);
  ASSERT_TRUE(IsOk(restored));
  hybrid_.engine.expect(restored->sequence, tokens);
  ASSERT_TRUE(IsOk(hybrid_.cache->erase(entry)));
}

TEST_F(RestoreTest, WritersOfThePrefixAndOfItsRestoresKeepApart) {
  Sequence origin = latent_.sequence();
  History history;
  latent_.engine.append(origin, history, make_tokens(7, 1));
  History const tokens = history;
  EntryId entry;
  {
    auto held = origin.snapshot();
    ASSERT_TRUE(IsOk(held));
    auto const captured = latent_.cache->capture(kScope, *held, tokens);
    ASSERT_TRUE(IsOk(captured));
    entry = *captured;
  }
  auto one = latent_.restore(tokens, 6);
  auto two = latent_.restore(tokens, 7);
  ASSERT_TRUE(IsOk(one));
  ASSERT_TRUE(IsOk(two));
  History first = first_of(tokens, 6);
  History second = tokens;
  for (std::uint32_t round = 0; round < 3; ++round) {
    latent_.engine.append(origin, history, make_tokens(3, 20 + round));
    latent_.engine.append(one->sequence, first, make_tokens(2, 30 + round));
    latent_.engine.append(two->sequence, second, make_tokens(4, 40 + round));
    latent_.engine.expect(origin, history);
    latent_.engine.expect(one->sequence, first);
    latent_.engine.expect(two->sequence, second);
    latent_.engine.expect(entry, tokens);
  }
}

}  // namespace
}  // namespace holdfast::test
