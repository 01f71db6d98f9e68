// SPDX-License-Identifier: Apache-2.0
// Goal: the device half of a step that was captured once does the right thing in every later step of its
// shape, whatever was rolled back, forked and restored between; a graph of another shape is refused.
// Method: random steps on the host and, replayed, on a device; all device memory is compared.
#include "tests/unit/cuda/graph_scenario.hpp"

namespace holdfast::test {
namespace {

TEST_F(CudaGraphTest, ReplaysFollowTheSequences) {
  GraphScenario scenario{*device_};
  EXPECT_TRUE(scenario.replays_follow_the_sequences(400));
  EXPECT_EQ(scenario.graphs(), 4U);
  EXPECT_EQ(scenario.replays(), 396U);
  // All classes of rows and keys, and the engine's own.
  EXPECT_EQ(scenario.most_kernel_nodes(), 2U);
}

TEST_F(CudaGraphTest, ReplaysFollowWhatSeedsDraw) {
  // Others each time: --gtest_repeat draws more.
  static std::uint32_t seed = 0;
  constexpr std::uint32_t kSeeds = 6;
  std::uint32_t replays = 0;
  for (std::uint32_t i = 0; i < kSeeds; ++i) {
    GraphScenario scenario{*device_};
    ++seed;
    ASSERT_TRUE(scenario.replays_follow_what_a_seed_draws(seed, 60)) << "seed " << seed;
    replays += scenario.replays();
  }
  EXPECT_GE(replays, kSeeds * 50);
}

TEST_F(CudaGraphTest, OtherShapesAreRefused) {
  GraphScenario scenario{*device_};
  EXPECT_TRUE(scenario.other_shapes_are_refused());
}

}  // namespace
}  // namespace holdfast::test
