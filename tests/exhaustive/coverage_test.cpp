// SPDX-License-Identifier: Apache-2.0
// Goal: random programs go where every short program goes. Method: all programs of three operations
// from every start state; a run of the generator, pushed on at its frontier; what is missing.
#include "models/lineage/coverage.hpp"

#include <gtest/gtest.h>

#include "fuzz/exhaustive.hpp"
#include "fuzz/frontier.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {
namespace {

TEST(ExhaustiveCoverage, RandomProgramsReachTheTransitions) {
  model::Coverage all;
  for (char const* name : {"tiny-rows", "tiny", "glm5-next-mini"}) {
    for (StartState const& start : start_states()) {
      EXPECT_FALSE(search_exhaustively(model::load_geometry(name), start, 3, &all).failed);
    }
  }
  ASSERT_GT(all.edge_count(), 400U);
  model::Coverage reached;
  std::vector<model::Geometry> geometries;
  for (std::string const& name : model::default_geometry_names()) {
    geometries.push_back(model::load_geometry(name));
  }
  EXPECT_FALSE(
      run_many({.geometries = geometries, .seed = 1, .operations = 400'000, .coverage = &reached})
          .failed);
  EXPECT_TRUE(push_frontier(reached, 1, 24).failed.empty());
  auto const missing = reached.missing(all);
  for (model::CoverageEdge const& edge : missing) {
    std::printf("not reached: %s\n", text_of(edge).c_str());
  }
  std::printf("%zu of %zu edges of short programs not reached\n", missing.size(), all.edge_count());
  EXPECT_LE(missing.size() * 20, all.edge_count()) << "less than 95 %";
}

}  // namespace
}  // namespace holdfast::fuzz
