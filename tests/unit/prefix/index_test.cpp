// SPDX-License-Identifier: Apache-2.0
// Goal: the index finds a key only by all of its tokens and its scope, and names every entry that
// shares tokens with a prompt, longest first, whatever the order of inserts and erases.
// Method: random keys over few tokens, against a list that is searched from end to end.
#include "prefix/index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "models/source.hpp"

namespace holdfast::test {
namespace {

using internal::prefix::Index;

constexpr std::uint32_t kFirst = 5;
constexpr std::uint32_t kCount = 60;
constexpr std::uint32_t kTokens = 12;

using Tokens = std::vector<TokenKey>;

// Alike in the low half, or all but the sign.
constexpr TokenKey kKeys[] = {0, TokenKey{1} << 32U, UINT64_MAX, UINT64_MAX >> 1U};

struct Key {
  std::uint32_t entry;
  PrefixScope scope;
  Tokens tokens;
};

/// Tokens that the two begin with alike.
std::uint32_t common_of(Tokens const& a, Tokens const& b) {
  std::uint32_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common]) {
    ++common;
  }
  return common;
}

class IndexTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(index_.create(kFirst, kCount, kTokens)); }

  std::uint32_t number(std::uint32_t below) { return source_.below(below); }
  /// Few scopes and few tokens, so that keys often share a beginning or are the same.
  Key random_key() {
    Key key{
        .entry = 0, .scope = {.model = number(2), .adapter = 0, .tenant = number(2)}, .tokens = {}};
    key.tokens.resize(1 + number(kTokens));
    for (TokenKey& token : key.tokens) {
      token = kKeys[number(std::size(kKeys))];
    }
    return key;
  }
  /// What the list says.
  std::uint32_t find_in_list(Key const& wanted) const {
    for (Key const& key : keys_) {
      if (key.scope == wanted.scope && key.tokens == wanted.tokens) {
        return key.entry;
      }
    }
    return 0;
  }
  void expect_common(Key const& prompt) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    std::uint32_t last = kTokens;
    index_.for_each_common(
        prompt.scope, prompt.tokens, [&](std::uint32_t entry, std::uint32_t common) {
          EXPECT_LE(common, last) << "longest first";
          last = common;
          found.emplace_back(entry, common);
          return true;
        });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (Key const& key : keys_) {
      std::uint32_t const common = common_of(key.tokens, prompt.tokens);
      if (key.scope == prompt.scope && common != 0) {
        wanted.emplace_back(key.entry, common);
      }
    }
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(found, wanted);
  }

  Index index_;
  std::vector<Key> keys_;
  model::Source source_{std::uint64_t{7}};
};

TEST_F(IndexTest, AgreesWithAListThroughInsertsAndErases) {
  std::uint32_t hits = 0;
  for (std::uint32_t round = 0; round < 6000 && !HasFailure(); ++round) {
    Key key = random_key();
    std::uint32_t const known = index_.find(key.scope, key.tokens);
    EXPECT_EQ(known, find_in_list(key));
    hits += known != 0 ? 1 : 0;
    expect_common(key);
    if (known == 0 && index_.free_count() != 0 && number(3) != 0) {
      key.entry = index_.take();
      index_.insert(key.entry, key.scope, key.tokens);
      keys_.push_back(key);
    } else if (!keys_.empty() && number(2) == 0) {
      std::uint32_t const gone = number(static_cast<std::uint32_t>(keys_.size()));
      index_.erase(keys_[gone].entry);
      keys_.erase(keys_.begin() + gone);
    }
    EXPECT_EQ(index_.free_count() + keys_.size(), kCount);
    for (std::size_t i = 0; i + 1 < keys_.size(); ++i) {
      EXPECT_TRUE(index_.is_older(keys_[i].entry, keys_[i + 1].entry));
      EXPECT_FALSE(index_.is_older(keys_[i + 1].entry, keys_[i].entry));
    }
  }
  EXPECT_GT(hits, 100U) << "keys that are known must have been asked for";
}

TEST_F(IndexTest, KeepsTokensAndScopeOfEachEntry) {
  Tokens const tokens = {4, 5, 6};
  PrefixScope const scope{.model = 1, .adapter = 2, .tenant = 3};
  std::uint32_t const entry = index_.take();
  EXPECT_EQ(entry, kFirst);
  index_.insert(entry, scope, tokens);
  auto const kept = index_.tokens(entry);
  EXPECT_EQ(Tokens(kept.begin(), kept.end()), tokens);
  EXPECT_EQ(index_.scope(entry), scope);
  EXPECT_EQ(index_.find(scope, tokens), entry);
  EXPECT_EQ(index_.find(scope, std::span{tokens}.first(2)), 0U);
  for (PrefixScope const& other :
       {PrefixScope{0, 2, 3}, PrefixScope{1, 0, 3}, PrefixScope{1, 2, 0}}) {
    EXPECT_EQ(index_.find(other, tokens), 0U);
  }
}

TEST_F(IndexTest, StopsWhenItIsTold) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    index_.insert(index_.take(), {}, Tokens{1, i});
  }
  std::uint32_t visited = 0;
  index_.for_each_common({}, Tokens{1, 1}, [&](std::uint32_t, std::uint32_t) {
    ++visited;
    return false;
  });
  EXPECT_EQ(visited, 1U);
}

TEST_F(IndexTest, ScratchIsNobodysKey) {
  while (index_.free_count() != 0) {
    std::uint32_t const entry = index_.take();
    index_.insert(entry, {}, Tokens(kTokens, entry));
  }
  auto const scratch = index_.scratch();
  ASSERT_EQ(scratch.size(), kTokens);
  std::fill(scratch.begin(), scratch.end(), 0);
  for (std::uint32_t entry = kFirst; entry < kFirst + kCount; ++entry) {
    EXPECT_EQ(index_.find({}, Tokens(kTokens, entry)), entry);
  }
}

}  // namespace
}  // namespace holdfast::test
