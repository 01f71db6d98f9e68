// SPDX-License-Identifier: Apache-2.0
// Goal: `holdfast replay --promote` makes exactly what the rules of the corpus ask for, and refuses
// the rest in one line. Method: the program that was built; the rules' own reader of first lines.
#include <string>

#include "models/trace.hpp"
#include "tests/regression/corpus.hpp"
#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kMutant = " --mutant two_plane_snapshot";

class Promote : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    fs::create_directories(path("corpus/regression"));
    ASSERT_EQ(
        shell("holdfast run --geometry tiny --ops 3000 --save big.trace" + std::string{kMutant})
            .code,
        1);
    ASSERT_EQ(shell("holdfast minimize big.trace -o small.trace" + std::string{kMutant}).code, 0);
  }
};

TEST_F(Promote, MakesARegressionTraceOfASeededBug) {
  std::string const command =
      "holdfast replay small.trace --promote one_row --row 'seed 1 (memra): planes were left "
      "out.'" +
      std::string{kMutant};
  Outcome const outcome = shell(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  fs::path const file = path("corpus/regression/seed/seed1_one_row.trace");
  model::Trace const trace = model::load_trace(file.string());
  RowComment const comment = row_comment(trace);
  EXPECT_TRUE(comment.valid) << content_of(file);
  EXPECT_EQ(comment.row, "seed 1");
  EXPECT_EQ(comment.mutant, "two_plane_snapshot");
  EXPECT_FALSE(comment.holds.empty());
  EXPECT_NE(trace.geometry.front(), '{');
  EXPECT_EQ(model::print_trace(trace), content_of(file));
  EXPECT_EQ(shell(last_line(outcome.out)).code, 1) << outcome.out;
  EXPECT_EQ(shell("holdfast replay corpus").code, 0);
  expect_refusal(2, command, "seed1_one_row.trace: is there already, and is not overwritten");
}

TEST_F(Promote, WithoutARowItIsOurOwn) {
  Outcome const outcome =
      shell("holdfast replay small.trace --promote lost_rows --json" + std::string{kMutant});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string const made = Json::parse(outcome.out).at("promoted").get<std::string>();
  EXPECT_EQ(made, "corpus/regression/own/own_lost_rows.trace");
  EXPECT_EQ(row_comment(model::load_trace(path(made).string())).row, "own");
}

TEST_F(Promote, RefusesInOneLine) {
  std::string const promote = "holdfast replay small.trace --promote x";
  expect_refusal(2, promote, "small.trace: all holds");
  expect_refusal(2, promote + " --mutant leak_on_drop", "all holds with leak_on_drop too");
  expect_refusal(2, promote + " --row 'A10: broke'" + kMutant, "--row: 'A10: broke'");
  expect_refusal(2,
                 promote + " --row 'A10 (a #1): " + std::string(90, 'x') + "'" + kMutant,
                 "is longer than 100 characters");
  expect_refusal(2, promote + "/y" + kMutant, "--promote: 'x/y'");
  expect_refusal(2, promote + kMutant + " --corpus nowhere", "nowhere: has no folder regression");
  expect_refusal(2, "holdfast replay small.trace big.trace --promote x", "is for one trace");
  expect_refusal(2, "holdfast replay . --promote x", "is for one trace");
  expect_refusal(2, "holdfast replay small.trace --row x", "go with --promote");
  EXPECT_TRUE(fs::is_empty(path("corpus/regression")));
}

}  // namespace
}  // namespace holdfast::test
