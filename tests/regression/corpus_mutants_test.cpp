// SPDX-License-Identifier: Apache-2.0
// Goal: a regression trace that names a seeded bug of the library shows it. Method: run the trace
// with that bug, without comparing answers, so that only invariants can report it; then without.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "fuzz/mutants.hpp"
#include "tests/regression/corpus.hpp"

namespace holdfast::test {
namespace {

/// Paths of the traces that name a mutant.
std::vector<std::string> traces_with_mutant() {
  std::vector<std::string> paths = traces_below(corpus_folder() + "/regression");
  std::erase_if(paths, [](std::string const& path) {
    return text_of_file(path).find("\n# mutant: ") == std::string::npos;
  });
  return paths;
}

/// Ids of the invariants that the table expects to report the mutant; empty when only differing
/// answers can.
std::vector<std::string> killers_of(std::string const& mutant) {
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    if (mutant == info.name) {
      return words_of(info.killers);
    }
  }
  return {};
}

/// A failure of order names both accesses, with their lines, and the edge that is missing; they are
/// those of the violation, in the graph as for the clocks.
void expect_explained(fuzz::Failure const& failure) {
  for (invariant::Violation const& violation : failure.violations) {
    if (std::string{violation.id} != "ORDER") {
      continue;
    }
    std::smatch found;
    ASSERT_TRUE(
        std::regex_search(failure.why,
                          found,
                          std::regex{"^  first    (.*) on (.*) (?:reads|writes)\n"
                                     "  second   (.*) on (.*) (?:reads|writes) the same bytes\n"
                                     "  out      .*\n  in       .*\n  known    .*\n"
                                     "  missing  (.*), after (.*) -> (.*), before (.*)\n$"}))
        << failure.why;
    EXPECT_EQ(found[5], found[2]);
    EXPECT_EQ(found[6], found[1]);
    EXPECT_EQ(found[7], found[4]);
    EXPECT_EQ(found[8], found[3]);
    EXPECT_NE(found[2], found[4]);
    EXPECT_NE(violation.text.find(found[1].str() + " on " + found[2].str()), std::string::npos);
    EXPECT_NE(violation.text.find(found[3].str() + " on " + found[4].str()), std::string::npos);
  }
}

class MutantTrace : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { fuzz::select_mutant("none"); }
};

TEST_P(MutantTrace, FailsWithItsMutantAlone) {
  model::Trace const trace = model::load_trace(GetParam());
  std::string const mutant = row_comment(trace).mutant;
  std::vector<std::string> const killers = killers_of(mutant);
  ASSERT_TRUE(fuzz::select_mutant(mutant)) << mutant;
  fuzz::Runner runner{model::geometry_from_reference(trace.geometry),
                      {.compare = killers.empty(),
                       .watch_one_in = 1,
                       .device = model::device_from(trace.device),
                       .explain_order = true}};
  fuzz::ProgramResult const broken = runner.run_ops(trace.ops);
  ASSERT_TRUE(broken.failure) << mutant << " does not show";
  bool const expected =
      killers.empty() ||
      std::any_of(broken.failure->violations.begin(),
                  broken.failure->violations.end(),
                  [&](invariant::Violation const& violation) {
                    return std::find(killers.begin(), killers.end(), violation.id) != killers.end();
                  });
  EXPECT_TRUE(expected) << mutant << " is reported by others than the table expects\n"
                        << describe_failure(*broken.failure);
  expect_explained(*broken.failure);

  ASSERT_TRUE(fuzz::select_mutant("none"));
  fuzz::ProgramResult const whole = runner.run_ops(trace.ops);
  EXPECT_FALSE(whole.failure) << describe_failure(*whole.failure);
  EXPECT_EQ(whole.counts.operations, trace.ops.size());
}

INSTANTIATE_TEST_SUITE_P(Corpus, MutantTrace, testing::ValuesIn(traces_with_mutant()), test_name);

}  // namespace
}  // namespace holdfast::test
