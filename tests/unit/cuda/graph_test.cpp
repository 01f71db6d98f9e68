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
  // Three classes of rows with one layer of KV apart, rings with their keys, and the engine's own.
  EXPECT_LE(scenario.most_kernel_nodes(), 5U);
}

TEST_F(CudaGraphTest, OtherShapesAreRefused) {
  GraphScenario scenario{*device_};
  EXPECT_TRUE(scenario.other_shapes_are_refused());
}

}  // namespace
}  // namespace holdfast::test
