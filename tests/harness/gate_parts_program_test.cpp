// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast gate` runs the seeded bugs, and asks that every point is met. Method: the program
// that was built.
#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

std::string const kSlowGate =
    "holdfast gate --seed 7 --budget 1s --corpus " HOLDFAST_SOURCE_DIR "/corpus";

TEST_F(Program, GateRunsTheSeededBugs) {
  Outcome const outcome = shell(kSlowGate + " --only mutants --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_GT(Json::parse(outcome.out).at("cases").get<int>(), 80);
}

TEST_F(Program, GateAsksForEveryPoint) {
  Outcome const outcome = shell(kSlowGate + " --only sometimes --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::size_t const points =
      Json::parse(shell("holdfast list sometimes --json").out).at("sometimes").size();
  EXPECT_GT(points, 40U);
  EXPECT_EQ(Json::parse(outcome.out).at("cases"), points + 1);
}

}  // namespace
}  // namespace holdfast::test
