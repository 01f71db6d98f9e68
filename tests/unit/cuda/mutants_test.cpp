// SPDX-License-Identifier: Apache-2.0
// Goal: the tests of order and of graphs can fail. Method: the seeded bugs that break them, each with its
// scenario.
#include "tests/unit/cuda/graph_scenario.hpp"
#include "tests/unit/cuda/order_scenarios.hpp"

extern "C" bool holdfast_select_mutant(char const* name);

namespace holdfast::test {
namespace {

class CudaOrderMutants : public CudaTest {
 protected:
  void TearDown() override { holdfast_select_mutant("none"); }
};

TEST_F(CudaOrderMutants, AreKilled) {
  struct Case {
    char const* mutant;
    bool (OrderScenario::*holds)();
  };
  for (Case const& known :
       {Case{"cuda_wrong_stream", &OrderScenario::kernels_follow_their_stream},
        Case{"cuda_wait_lost", &OrderScenario::streams_wait_for_events},
        Case{"cuda_bounce_reused", &OrderScenario::bounce_buffers_are_waited_for}}) {
    OrderScenario scenario{*device_};
    ASSERT_TRUE(holdfast_select_mutant("none"));
    EXPECT_TRUE((scenario.*known.holds)()) << known.mutant;
    ASSERT_TRUE(holdfast_select_mutant(known.mutant));
    EXPECT_FALSE((scenario.*known.holds)()) << known.mutant << " survives";
    ASSERT_TRUE(holdfast_select_mutant("none"));
  }
}

class CudaGraphMutants : public CudaGraphTest {
 protected:
  void TearDown() override { holdfast_select_mutant("none"); }
};

TEST_F(CudaGraphMutants, AreKilled) {
  ASSERT_TRUE(holdfast_select_mutant("cuda_slot_stale"));
  EXPECT_FALSE(GraphScenario{*device_}.replays_follow_the_sequences(50)) << "survives";
  ASSERT_TRUE(holdfast_select_mutant("cuda_foreign_graph"));
  EXPECT_FALSE(GraphScenario{*device_}.other_shapes_are_refused()) << "survives";
}

}  // namespace
}  // namespace holdfast::test
