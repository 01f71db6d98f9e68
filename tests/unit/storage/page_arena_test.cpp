// SPDX-License-Identifier: Apache-2.0
// Goal: pages and chunks are handed out, shared and given back exactly.
// Method: small arenas, every counter compared.
#include "storage/page_arena.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "storage/chunk_arena.hpp"

namespace holdfast::test {
namespace {

using internal::storage::ChunkArena;
using internal::storage::PageArena;
using internal::storage::WriterMark;

constexpr std::uint64_t kPageBytes = 16;
constexpr std::uint32_t kPages = 4;  // the reserved one counted
constexpr WriterMark kAnna = (WriterMark{1} << 32U) | 1U;
constexpr WriterMark kAnnaReused = (WriterMark{2} << 32U) | 1U;

class PageArenaTest : public testing::Test {
 protected:
  PageArenaTest() { EXPECT_TRUE(arena_.create(memory_.data(), kPageBytes, kPages)); }

  std::array<std::byte, kPageBytes * kPages> memory_{};
  PageArena arena_;
};

TEST_F(PageArenaTest, NeverHandsOutPageZero) {
  std::set<std::uint32_t> taken;
  while (arena_.free_count() > 0) {
    taken.insert(arena_.take(kAnna));
  }
  EXPECT_EQ(taken, (std::set<std::uint32_t>{1, 2, 3}));
}

TEST_F(PageArenaTest, FreshPageHasOneReferenceAndItsWriter) {
  std::uint32_t const page = arena_.take(kAnna);
  EXPECT_EQ(page, 1U) << "page 1 is handed out first";
  EXPECT_EQ(arena_.references(page), 1U);
  EXPECT_EQ(arena_.writer(page), kAnna);
  EXPECT_EQ(arena_.shared_lap(page), 0U);
  EXPECT_EQ(arena_.address(page), memory_.data() + kPageBytes);
}

TEST_F(PageArenaTest, PageIsFreeOnlyAfterItsLastReference) {
  std::uint32_t const page = arena_.take(kAnna);
  arena_.retain(page);
  arena_.release(page);
  EXPECT_EQ(arena_.free_count(), kPages - 2);
  arena_.release(page);
  EXPECT_EQ(arena_.free_count(), kPages - 1);
  EXPECT_EQ(arena_.references(page), 0U);
}

TEST_F(PageArenaTest, ReusedPageForgetsWriterAndLap) {
  std::uint32_t const page = arena_.take(kAnna);
  arena_.retain(page);
  arena_.set_shared_lap(page, 9);
  arena_.release(page);
  arena_.release(page);
  ASSERT_EQ(arena_.take(0), page);
  EXPECT_EQ(arena_.writer(page), 0U);
  EXPECT_EQ(arena_.shared_lap(page), 0U);
}

TEST_F(PageArenaTest, OnlyTheWriterClearsItsMark) {
  std::uint32_t const page = arena_.take(kAnna);
  arena_.clear_writer(page, kAnnaReused);
  EXPECT_EQ(arena_.writer(page), kAnna) << "a reused index is another writer";
  arena_.clear_writer(page, kAnna);
  EXPECT_EQ(arena_.writer(page), 0U);
}

TEST_F(PageArenaTest, ReleaseOfAFreePageIsAContractFailure) {
  std::uint32_t const page = arena_.take(kAnna);
  arena_.release(page);
  EXPECT_DEATH(arena_.release(page), "");
  EXPECT_DEATH(arena_.release(0), "");
}

class ChunkArenaTest : public testing::Test {
 protected:
  ChunkArenaTest() { EXPECT_TRUE(arena_.create(3, 2)); }

  std::vector<std::uint32_t> pages(std::uint32_t chunk) const {
    auto const span = arena_.pages(chunk);
    return {span.begin(), span.end()};
  }

  ChunkArena arena_;
};

TEST_F(ChunkArenaTest, FreshChunkIsEmptyWithOneReference) {
  std::uint32_t const chunk = arena_.take();
  EXPECT_EQ(arena_.references(chunk), 1U);
  EXPECT_EQ(arena_.used(chunk), 0U);
  EXPECT_EQ(arena_.free_count(), arena_.count() - 1);
}

TEST_F(ChunkArenaTest, PushPopAndReplaceKeepTheOrder) {
  std::uint32_t const chunk = arena_.take();
  arena_.push(chunk, 7);
  arena_.push(chunk, 8);
  EXPECT_EQ(pages(chunk), (std::vector<std::uint32_t>{7, 8}));
  arena_.replace(chunk, 0, 9);
  EXPECT_EQ(arena_.pop(chunk), 8U);
  EXPECT_EQ(pages(chunk), (std::vector<std::uint32_t>{9}));
}

TEST_F(ChunkArenaTest, ChunksDoNotOverlap) {
  std::uint32_t const first = arena_.take();
  std::uint32_t const second = arena_.take();
  arena_.push(first, 1);
  arena_.push(second, 2);
  arena_.push(first, 3);
  EXPECT_EQ(pages(first), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(pages(second), (std::vector<std::uint32_t>{2}));
}

TEST_F(ChunkArenaTest, ReleaseTellsTheLastReference) {
  std::uint32_t const chunk = arena_.take();
  arena_.retain(chunk);
  EXPECT_FALSE(arena_.release(chunk));
  EXPECT_TRUE(arena_.release(chunk));
  EXPECT_EQ(arena_.free_count(), arena_.count());
}

TEST_F(ChunkArenaTest, ReusedChunkIsEmpty) {
  std::uint32_t const chunk = arena_.take();
  arena_.push(chunk, 5);
  EXPECT_TRUE(arena_.release(chunk));
  ASSERT_EQ(arena_.take(), chunk);
  EXPECT_TRUE(pages(chunk).empty());
}

TEST_F(ChunkArenaTest, FullChunkTakesNoMore) {
  std::uint32_t const chunk = arena_.take();
  arena_.push(chunk, 1);
  arena_.push(chunk, 2);
  EXPECT_DEATH(arena_.push(chunk, 3), "");
}

}  // namespace
}  // namespace holdfast::test
