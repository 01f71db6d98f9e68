// SPDX-License-Identifier: Apache-2.0
// Goal: the lineage sees what leaks, and what is given back while it is held. Method: seeded bugs of
// the bookkeeping, each of which must make some program give back something else.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fuzz/mutants.hpp"
#include "models/geometry/geometry.hpp"
#include "tests/support/lineage_trial.hpp"

namespace holdfast::test {
namespace {

class LineageMutant : public testing::TestWithParam<char const*> {
 protected:
  void TearDown() override { fuzz::select_mutant("none"); }
};

TEST_P(LineageMutant, GivesBackSomethingElse) {
  constexpr std::uint64_t kPrograms = 2000;
  ASSERT_TRUE(fuzz::select_mutant(GetParam()));
  LineageTrial trial{model::load_geometry("tiny")};
  for (std::uint64_t seed = 0; seed < kPrograms && trial.flaw.empty(); ++seed) {
    trial.run(fuzz::program_seed(3, seed));
  }
  EXPECT_NE(trial.flaw, "") << "after " << trial.programs << " programs";
}

INSTANTIATE_TEST_SUITE_P(All,
                         LineageMutant,
                         testing::Values("snapshot_leaks_chunk",
                                         "entry_leaks_storage",
                                         "leak_on_drop"),
                         [](auto const& name) { return std::string{name.param}; });

}  // namespace
}  // namespace holdfast::test
