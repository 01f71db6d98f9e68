// SPDX-License-Identifier: Apache-2.0
// Goal: a draft plane has the rows below its watermark, right and never changed, and nothing else;
// the watermark rises with what is written in a row and kept, and follows every movement.
// Method: rows that name their position, written as far as a test wants; pages of 2 rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kModelLayer = 0;
constexpr std::uint32_t kDraftLayer = 1;
constexpr std::uint32_t kDraftPlane = 1;  // in the inspection
constexpr std::uint32_t kLag = 4 + 2;     // largest round and page rows of small_layout()

/// One attention layer, and a draft layer of two planes.
Layout draft_layout() {
  return small_layout(
      {{{small_attention()}},
       {{DraftKvSpec{{.heads = 1, .head_dim = 1}}, DraftLatentSpec{{.width = 1}}}}});
}

class DraftTest : public testing::Test {
 protected:
  DraftTest() : cache_{Cache::create(draft_layout(), device_)}, sequence_{create()} {}

  Sequence create() {
    auto sequence = cache_->create_sequence();
    EXPECT_TRUE(IsOk(sequence));
    return std::move(*sequence);
  }

  /// Rows of both draft planes from the handle's first on, up to position `end`: position and mark.
  template <typename Open>
  void draft(Open& open, std::uint32_t end, float mark = 0) {
    for (PlaneKind const kind : {PlaneKind::kDraftKv, PlaneKind::kDraftLatent}) {
      auto const range = open.range(kind, kDraftLayer);
      ASSERT_TRUE(IsOk(range));
      std::vector<float> rows;
      for (std::uint32_t row = range->first; row < end; ++row) {
        rows.push_back(static_cast<float>(row) + mark);
        if (kind == PlaneKind::kDraftKv) {
          rows.push_back(-static_cast<float>(row) - mark);
        }
      }
      write(open, kind, kDraftLayer, rows.data(), end - range->first);
    }
  }
  template <typename Open>
  void attend(Open& open, std::uint32_t rows) {
    std::vector<float> const source(std::size_t{rows} * 4);
    write(open, PlaneKind::kAttentionKv, kModelLayer, source.data(), rows);
  }
  static void write(
      Append& open, PlaneKind kind, std::uint32_t layer, float const* from, std::uint32_t rows) {
    EXPECT_TRUE(IsOk(open.write(kind, layer, from, rows)));
  }
  static void write(
      Round& open, PlaneKind kind, std::uint32_t layer, float const* from, std::uint32_t rows) {
    EXPECT_TRUE(IsOk(open.write(kind, layer, from, 0, rows)));
  }

  /// Appends `rows` rows and runs the draft up to position `drafted`, when that is not 0.
  void append(Sequence& sequence, std::uint32_t rows, std::uint32_t drafted, float mark = 0) {
    auto append = sequence.append(rows);
    ASSERT_TRUE(IsOk(append));
    attend(*append, rows);
    if (drafted != 0) {
      draft(*append, drafted, mark);
    }
    ASSERT_TRUE(IsOk(append->commit()));
  }

  /// The holder has draft rows [0, watermark), each of them right, and pages for no more.
  void expect_drafted(Holder holder, std::uint32_t watermark, float mark = 0) const {
    Inspection const look = cache_->inspect();
    for (std::uint32_t plane = kDraftPlane; plane <= kDraftPlane + 1; ++plane) {
      PlaneState const state = look.state(holder, plane);
      EXPECT_EQ(state.length, watermark);
      EXPECT_EQ(state.pages, (watermark + 1) / 2);
      std::vector<float> row(look.plane(plane).row_elements);
      for (std::uint32_t i = 0; i < state.length; ++i) {
        ASSERT_TRUE(IsOk(look.read_rows(holder, plane, 0, i, 1, row)));
        EXPECT_EQ(row[0], static_cast<float>(i) + mark) << "row " << i;
      }
    }
  }
  static Holder of(Sequence const& sequence) {
    return {HolderKind::kSequence, sequence.id().index};
  }
  static Holder of(Snapshot const& snapshot) {
    return {HolderKind::kSnapshot, snapshot.id().index};
  }

  WrappingDevice device_;
  Result<Cache> cache_;
  Sequence sequence_;
};

TEST_F(DraftTest, ACommitNeedsNoDraftRowAndTrustsNone) {
  append(sequence_, 3, 0);
  expect_drafted(of(sequence_), 0);
  append(sequence_, 2, 4);
  expect_drafted(of(sequence_), 4);
}

TEST_F(DraftTest, AHandleOpensTheRowsFromTheWatermarkOn) {
  append(sequence_, 3, 2);
  auto append = sequence_.append(2);
  ASSERT_TRUE(IsOk(append));
  auto const range = append->range(PlaneKind::kDraftKv, kDraftLayer);
  ASSERT_TRUE(IsOk(range));
  EXPECT_EQ(range->first, 2U);
  EXPECT_EQ(range->count, 3U);
  auto const own = append->range(PlaneKind::kAttentionKv, kModelLayer);
  ASSERT_TRUE(IsOk(own));
  EXPECT_EQ(own->first, 3U);
  EXPECT_EQ(own->count, 2U);
  auto const view = append->rows(PlaneKind::kDraftLatent, kDraftLayer, 0);
  ASSERT_TRUE(IsOk(view));
  EXPECT_EQ(view->behind, 1U);
  EXPECT_TRUE(HasCode(
      append->range(PlaneKind::kDraftKv, kModelLayer), ErrorCode::kInvalidArgument, "plane"));
  float const rows[4] = {};
  EXPECT_TRUE(HasCode(append->write(PlaneKind::kDraftLatent, kDraftLayer, rows, 4),
                      ErrorCode::kInvalidArgument,
                      "count"));
}

TEST_F(DraftTest, TheWatermarkIsTheLeastOfItsLayers) {
  Layout layout = draft_layout();
  layout.layers.push_back({{DraftKvSpec{{.heads = 1, .head_dim = 1}}}});
  auto cache = Cache::create(layout, device_);
  ASSERT_TRUE(IsOk(cache));
  auto sequence = cache->create_sequence();
  ASSERT_TRUE(IsOk(sequence));
  auto append = sequence->append(3);
  ASSERT_TRUE(IsOk(append));
  attend(*append, 3);
  float const rows[6] = {};
  ASSERT_TRUE(IsOk(append->write(PlaneKind::kDraftKv, kDraftLayer, rows, 3)));
  ASSERT_TRUE(IsOk(append->write(PlaneKind::kDraftKv, kDraftLayer + 1, rows, 1)));
  ASSERT_TRUE(IsOk(append->commit()));
  EXPECT_EQ(cache->inspect().state(of(*sequence), kDraftPlane).length, 1U);
}

TEST_F(DraftTest, ARoundKeepsDraftRowsOfTheKeptTokensOnly) {
  for (std::uint32_t keep = 0; keep <= 4; ++keep) {
    Sequence sequence = create();
    append(sequence, 3, 2);
    auto round = sequence.verify(4);
    ASSERT_TRUE(IsOk(round));
    attend(*round, 4);
    draft(*round, 6);
    draft(*round, 5);  // again, and fewer
    ASSERT_TRUE(IsOk(round->accept(keep)));
    expect_drafted(of(sequence), keep == 0 ? 2 : std::min(3 + keep, 6U));
  }
}

TEST_F(DraftTest, WhatKeepsNothingRaisesNothing) {
  append(sequence_, 3, 1);
  auto open = sequence_.append(2);
  ASSERT_TRUE(IsOk(open));
  draft(*open, 5);
  ASSERT_TRUE(IsOk(open->drop()));
  expect_drafted(of(sequence_), 1);
  auto round = sequence_.verify(0);
  ASSERT_TRUE(IsOk(round));
  auto const range = round->range(PlaneKind::kDraftKv, kDraftLayer);
  ASSERT_TRUE(IsOk(range));
  EXPECT_EQ(range->count, 0U);
  ASSERT_TRUE(IsOk(round->accept(0)));
  expect_drafted(of(sequence_), 1);
}

TEST_F(DraftTest, ALongLagIsCaughtUpOverSeveralHandles) {
  append(sequence_, 20, 0);
  std::uint32_t watermark = 0;
  std::uint32_t handles = 0;
  for (std::uint32_t position = 20; watermark < position; ++position, ++handles) {
    auto open = sequence_.append(1);
    ASSERT_TRUE(IsOk(open));
    auto const range = open->range(PlaneKind::kDraftLatent, kDraftLayer);
    ASSERT_TRUE(IsOk(range));
    EXPECT_EQ(range->first, watermark);
    EXPECT_EQ(range->count, std::min(1 + kLag, position + 1 - watermark));
    watermark += range->count;
    attend(*open, 1);
    draft(*open, watermark);
    ASSERT_TRUE(IsOk(open->commit()));
    expect_drafted(of(sequence_), watermark);
  }
  EXPECT_EQ(handles, 4U) << "each gains at most the lag";  // 20 rows behind, 6 a handle
}

TEST_F(DraftTest, CatchingUpNeverTouchesWhatASnapshotHolds) {
  append(sequence_, 5, 3);
  auto held = sequence_.snapshot();
  ASSERT_TRUE(IsOk(held));
  append(sequence_, 1, 6);
  expect_drafted(of(*held), 3);
  expect_drafted(of(sequence_), 6);
  auto other = held->fork();
  ASSERT_TRUE(IsOk(other));
  expect_drafted(of(*other), 3);
  // Each has its own row 3, in a page that began as one.
  Sequence& fork = *other;
  auto open = fork.append(1);
  ASSERT_TRUE(IsOk(open));
  attend(*open, 1);
  draft(*open, 5);
  ASSERT_TRUE(IsOk(open->commit()));
  expect_drafted(of(fork), 5);
  expect_drafted(of(sequence_), 6);
  expect_drafted(of(*held), 3);
  ASSERT_TRUE(IsOk(sequence_.rollback(*held)));
  expect_drafted(of(sequence_), 3);
}

TEST_F(DraftTest, ATruncationClampsTheWatermark) {
  append(sequence_, 7, 5);
  ASSERT_TRUE(IsOk(sequence_.truncate(6)));
  expect_drafted(of(sequence_), 5);
  ASSERT_TRUE(IsOk(sequence_.truncate(3)));
  expect_drafted(of(sequence_), 3);
  append(sequence_, 2, 5);
  expect_drafted(of(sequence_), 5);
}

TEST_F(DraftTest, EntriesCarryTheWatermarkAndClampItToTheHit) {
  Layout layout = draft_layout();
  layout.capacity.entries = 2;
  cache_ = Cache::create(layout, device_);
  sequence_ = create();
  append(sequence_, 6, 4);
  auto held = sequence_.snapshot();
  ASSERT_TRUE(IsOk(held));
  TokenKey const tokens[] = {1, 2, 3, 4, 5, 6};
  auto const entry = cache_->capture({}, *held, tokens);
  ASSERT_TRUE(IsOk(entry));
  for (std::uint32_t const limit : {6U, 5U, 4U, 2U}) {
    auto restored = cache_->restore({}, tokens, limit);
    ASSERT_TRUE(IsOk(restored));
    EXPECT_EQ(restored->length, limit);
    expect_drafted(of(restored->sequence), std::min(limit, 4U));
  }
  // And as bytes.
  auto const size = cache_->entry_bytes(*entry);
  ASSERT_TRUE(IsOk(size));
  std::vector<std::byte> bytes(size->total);
  ASSERT_TRUE(IsOk(cache_->serialize(*entry, bytes)));
  ASSERT_TRUE(IsOk(cache_->erase(*entry)));
  ASSERT_TRUE(IsOk(cache_->deserialize({}, bytes)));
  auto restored = cache_->restore({}, tokens, 6);
  ASSERT_TRUE(IsOk(restored));
  expect_drafted(of(restored->sequence), 4);
}

TEST_F(DraftTest, ItemsOfAStepHaveRangesOfTheirOwn) {
  append(sequence_, 3, 1);
  StepItem const items[] = {{.sequence = &sequence_, .kind = StepKind::kAppend, .rows = 1}};
  auto step = cache_->begin(items);
  ASSERT_TRUE(IsOk(step));
  auto const range = step->range(0, PlaneKind::kDraftKv, kDraftLayer);
  ASSERT_TRUE(IsOk(range));
  EXPECT_EQ(range->first, 1U);
  EXPECT_EQ(range->count, 3U);
  EXPECT_TRUE(HasCode(
      step->range(1, PlaneKind::kDraftKv, kDraftLayer), ErrorCode::kInvalidArgument, "item"));
  ASSERT_TRUE(IsOk(step->drop()));
  EXPECT_TRUE(HasCode(step->range(0, PlaneKind::kDraftKv, kDraftLayer), ErrorCode::kStale, "step"));
}

}  // namespace
}  // namespace holdfast::test
