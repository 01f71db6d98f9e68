// SPDX-License-Identifier: Apache-2.0
// Goal: what a handle dominates is what its end gives back, and what nobody reaches is free. Method:
// 10,000 (a tenth with sanitizers) random programs over all small geometries that end handle after handle.
#include "models/lineage/lineage.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "models/geometry/geometry.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/lineage_trial.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kPrograms = effort(10000);

TEST(Lineage, DominatorsSayWhatTheEndOfAHandleGivesBack) {
  auto const names = model::default_geometry_names();
  std::uint64_t programs = 0;
  std::uint64_t drops = 0;
  std::uint64_t given_back = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    LineageTrial trial{model::load_geometry(names[i])};
    for (std::uint64_t seed = i; seed < kPrograms; seed += names.size()) {
      trial.run(fuzz::program_seed(3, seed));
      ASSERT_EQ(trial.flaw, "") << names[i] << " seed " << seed;
    }
    programs += trial.programs;
    drops += trial.drops;
    given_back += trial.given_back;
  }
  EXPECT_EQ(programs, kPrograms);
  EXPECT_GE(drops, 3 * kPrograms);
  EXPECT_GE(given_back, 10 * kPrograms);
}

TEST(Lineage, AnEmptyCacheHoldsNothing) {
  model::Geometry const geometry = model::load_geometry("tiny");
  auto const device = make_host_device();
  auto cache = Cache::create(geometry.layout, *device);
  ASSERT_TRUE(cache);
  model::Lineage const lineage{cache->inspect()};
  EXPECT_EQ(lineage.flaw(), "");
  for (model::FreeCounts const& counts : lineage.given_back_by({HolderKind::kSequence, 1})) {
    EXPECT_EQ(counts, model::FreeCounts{});
  }
}

}  // namespace
}  // namespace holdfast::test
