// SPDX-License-Identifier: Apache-2.0
// Goal: several devices act as one. Method: two ranks and two stages on four devices that count,
// and that fail on demand; every refusal, the routing of each write, and a failure on one device.
#include <gtest/gtest.h>

#include <array>
#include <holdfast/cache.hpp>

#include "tests/support/status.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

Layout split_layout() {
  Layout layout;
  layout.layers = {{{AttentionKvSpec{.heads = 2, .head_dim = 1}}, 0},
                   {{LatentSpec{.width = 3}}, 1}};
  layout.capacity = {.sequences = 2, .tokens = 16, .largest_round = 2, .snapshots = 2};
  layout.page_rows = 2;
  layout.chunk_pages = 2;
  layout.ranks = 2;
  layout.stages = 2;
  return layout;
}

class Ranks : public testing::Test {
 protected:
  Ranks() {
    auto created = Cache::create(split_layout(), devices_);
    EXPECT_TRUE(IsOk(created));
    cache_ = std::move(*created);
    auto sequence = cache_.create_sequence();
    EXPECT_TRUE(IsOk(sequence));
    sequence_ = std::move(*sequence);
  }

  /// Writes two rows of both planes on both ranks; values say rank and row.
  template <typename Handle>
  void write_all(Handle& handle) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto const base = static_cast<float>(rank);
      float const kv[] = {base + 0.25F, base + 0.5F, base + 1.25F, base + 1.5F};
      float const latent[] = {1, 2, 3, 4, 5, 6};
      EXPECT_TRUE(IsOk(handle.write(PlaneKind::kAttentionKv, 0, kv, 2, {}, rank)));
      EXPECT_TRUE(IsOk(handle.write(PlaneKind::kLatent, 1, latent, 2, {}, rank)));
    }
  }
  std::array<std::uint64_t, 4> launches() const {
    return {owned_[0].launches, owned_[1].launches, owned_[2].launches, owned_[3].launches};
  }

  std::array<WrappingDevice, 4> owned_;
  std::array<Device*, 4> devices_ = {&owned_[0], &owned_[1], &owned_[2], &owned_[3]};
  Cache cache_;
  Sequence sequence_;
};

TEST_F(Ranks, NeedOneDeviceEach) {
  Layout const layout = split_layout();
  EXPECT_TRUE(HasCode(Cache::create(layout, *devices_[0]), ErrorCode::kInvalidArgument, "devices"));
  EXPECT_TRUE(HasCode(
      Cache::create(layout, std::span<Device* const>{}), ErrorCode::kInvalidArgument, "devices"));
  std::array<Device*, 4> const holes = {devices_[0], nullptr, devices_[2], devices_[3]};
  EXPECT_TRUE(HasCode(Cache::create(layout, holes), ErrorCode::kInvalidArgument, "devices"));
  std::array<Device*, 4> const same = {devices_[0], devices_[0], devices_[0], devices_[0]};
  EXPECT_TRUE(IsOk(Cache::create(layout, same)));
}

TEST_F(Ranks, HoldTheirSharesOnTheirDevices) {
  auto append = sequence_.append(2);
  ASSERT_TRUE(IsOk(append));
  auto const before = launches();
  write_all(*append);
  EXPECT_EQ(
      launches(),
      (std::array<std::uint64_t, 4>{before[0] + 1, before[1] + 1, before[2] + 1, before[3] + 1}));
  ASSERT_TRUE(IsOk(append->commit()));
  Holder const holder{HolderKind::kSequence, sequence_.id().index};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    float kv[4];
    float latent[6];
    ASSERT_TRUE(IsOk(cache_.inspect().read_rows(holder, 0, 0, 0, 2, kv, rank)));
    ASSERT_TRUE(IsOk(cache_.inspect().read_rows(holder, 1, 0, 0, 2, latent, rank)));
    EXPECT_EQ(kv[0], static_cast<float>(rank) + 0.25F);
    EXPECT_EQ(kv[3], static_cast<float>(rank) + 1.5F);
    EXPECT_EQ(latent[5], 6.0F);
  }
  EXPECT_EQ(cache_.inspect().plane(0).row_elements, 2U) << "half of [2, 2, 1]";
  EXPECT_EQ(cache_.inspect().plane(1).row_elements, 3U) << "latent rows are replicated";
}

TEST_F(Ranks, CommitOnlyWhatEveryRankHasWritten) {
  auto append = sequence_.append(1);
  ASSERT_TRUE(IsOk(append));
  float const row[] = {1, 2, 3};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(IsOk(append->write(PlaneKind::kAttentionKv, 0, row, 1, {}, rank)));
  }
  ASSERT_TRUE(IsOk(append->write(PlaneKind::kLatent, 1, row, 1, {}, 0)));
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kIncomplete, "latent"));
  ASSERT_TRUE(IsOk(append->write(PlaneKind::kLatent, 1, row, 1, {}, 1)));
  EXPECT_TRUE(IsOk(append->commit()));
}

TEST_F(Ranks, AreRefusedWhenThereIsNoSuchRank) {
  auto append = sequence_.append(1);
  ASSERT_TRUE(IsOk(append));
  float const row[] = {1, 2, 3};
  EXPECT_TRUE(HasCode(
      append->write(PlaneKind::kLatent, 1, row, 1, {}, 2), ErrorCode::kInvalidArgument, "rank"));
  EXPECT_TRUE(HasCode(
      append->rows(PlaneKind::kLatent, 1, 0, UINT32_MAX), ErrorCode::kInvalidArgument, "rank"));
}

TEST_F(Ranks, AreAllToldOnceByEachCall) {
  auto const before = launches();
  auto round = sequence_.verify(2);
  ASSERT_TRUE(IsOk(round));
  ASSERT_TRUE(IsOk(round->drop()));
  for (std::uint32_t device = 0; device < 4; ++device) {
    EXPECT_EQ(launches()[device], before[device] + 2) << device;
  }
}

TEST_F(Ranks, TaintTheSequenceOnAllWhenOneFails) {
  auto append = sequence_.append(2);
  ASSERT_TRUE(IsOk(append));
  write_all(*append);
  owned_[3].fail_next_launch();
  auto const before = launches();
  EXPECT_TRUE(HasCode(append->commit(), ErrorCode::kDeviceFailed));
  for (std::uint32_t device = 0; device < 4; ++device) {
    EXPECT_EQ(launches()[device], before[device] + 1) << device;
  }
  EXPECT_TRUE(HasCode(sequence_.append(1), ErrorCode::kTainted, "sequence"));
  EXPECT_TRUE(IsOk(sequence_.release()));
  auto other = cache_.create_sequence();
  EXPECT_TRUE(IsOk(other));
}

TEST_F(Ranks, StaleIdsAreStaleOnEveryDevice) {
  std::uint32_t const index = sequence_.id().index;
  std::uint32_t const generation = sequence_.id().generation;
  ASSERT_TRUE(IsOk(sequence_.release()));
  EXPECT_TRUE(HasCode(sequence_.append(1), ErrorCode::kStale, "sequence"));
  auto other = cache_.create_sequence();
  ASSERT_TRUE(IsOk(other));
  ASSERT_EQ(other->id().index, index);
  for (std::uint32_t device = 0; device < 4; ++device) {
    auto const record = cache_.inspect().mirror(index, device);
    ASSERT_TRUE(IsOk(record));
    EXPECT_NE(record->generation, generation) << device;
  }
}

TEST(RanksLayout, CountsEveryDevice) {
  auto const bytes = bytes_needed(split_layout());
  ASSERT_TRUE(IsOk(bytes));
  Layout one = split_layout();
  one.ranks = 1;
  one.stages = 1;
  one.layers[1].stage = 0;
  auto const whole = bytes_needed(one);
  ASSERT_TRUE(IsOk(whole));
  EXPECT_LT(bytes->device, whole->device);
  EXPECT_GT(bytes->devices, whole->devices) << "latent rows are held twice";
  // KV pages of both ranks together are those of one; latent pages are there twice.
  EXPECT_EQ(bytes->per_page, whole->per_page + 2 * 3 * sizeof(float));
}

}  // namespace
}  // namespace holdfast::test
