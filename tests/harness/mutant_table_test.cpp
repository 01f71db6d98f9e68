// SPDX-License-Identifier: Apache-2.0
// Goal: the harness's table of mutants and the library's list are one. Method: join them by name;
// look every expected killer up in the registry.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/case_rows.hpp"
#include "fuzz/cuda_mutants.hpp"
#include "fuzz/mutant_runner.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"
#include "invariants/registry.hpp"

namespace holdfast::fuzz {
namespace {

TEST(MutantTable, NamesAreTheLibrarysInItsOrder) {
  ASSERT_TRUE(has_mutants());
  std::vector<std::string> names;
  for (CudaMutantInfo const& info : cuda_mutants()) {
    names.emplace_back(info.name);
    EXPECT_STRNE(info.text, "") << info.name;
  }
  for (MutantInfo const& info : all_mutants()) {
    names.emplace_back(info.name);
    EXPECT_STRNE(info.text, "") << info.name;
  }
  EXPECT_EQ(names, library_mutants());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_GE(names.size(), 30U);
}

TEST(MutantTable, KillersAreInvariants) {
  std::set<std::string> known;
  for (invariant::Invariant const* const item : invariant::all_invariants()) {
    known.insert(item->id);
  }
  ASSERT_GE(known.size(), 11U);
  for (MutantInfo const& info : all_mutants()) {
    std::istringstream killers{info.killers};
    std::uint32_t invariants = 0;
    bool names_contract = false;
    for (std::string id; killers >> id;) {
      if (id == "CONTRACT") {  // the driver's own word for an assertion of the library that broke
        names_contract = true;
        continue;
      }
      EXPECT_TRUE(known.contains(id)) << info.name << " names " << id;
      ++invariants;
    }
    EXPECT_TRUE(!names_contract || invariants != 0)
        << info.name << ": an assertion may help an invariant, not stand for one";
  }
}

TEST(MutantTable, EveryInvariantIsExpectedToKill) {
  std::set<std::string> used;
  for (MutantInfo const& info : all_mutants()) {
    std::istringstream killers{info.killers};
    for (std::string id; killers >> id;) {
      used.insert(id);
    }
  }
  for (invariant::Invariant const* const item : invariant::all_invariants()) {
    EXPECT_TRUE(used.contains(item->id)) << item->id << " proves nothing";
  }
}

TEST(MutantSwitch, KnowsItsNames) {
  EXPECT_FALSE(select_mutant("no_such_mutant"));
  for (std::string const& name : library_mutants()) {
    EXPECT_TRUE(select_mutant(name)) << name;
  }
  EXPECT_TRUE(select_mutant("none"));
  RunPlan const plan{.geometries = {model::load_geometry("tiny")}, .seed = 1, .operations = 2000};
  EXPECT_FALSE(run_many(plan).failed) << "with every mutant off the library holds";
}

/// An outcome after so many operations.
MutantOutcome outcome_of(std::uint64_t operations, bool killed) {
  return {.info = all_mutants().front(),
          .killed = killed,
          .invariants = {killed ? "LEN" : "PROV"},
          .operations = operations,
          .reached = killed ? 1U : 0U};
}

TEST(MutantFigures, MedianAndItsIntervalAreOrderStatistics) {
  std::vector<MutantOutcome> outcomes;
  for (std::uint64_t operations = 1; operations <= 20; ++operations) {
    outcomes.push_back(outcome_of(operations, operations < 20));
  }
  MutantFigures const figures = figures_of(outcomes);
  EXPECT_EQ(figures.killed, 19U);
  EXPECT_EQ(figures.reached, 19U);
  EXPECT_EQ(figures.operations, 10.5);
  // Of 20, the 6th and the 15th: 95.86 %.
  EXPECT_EQ(figures.low, 6);
  EXPECT_EQ(figures.high, 15);
  EXPECT_NEAR(median_confidence(20), 95.86, 0.01);
  EXPECT_EQ(figures.longest, 20U);
  EXPECT_EQ(figures.invariants, (std::vector<std::string>{"LEN", "PROV"}));
  // Of five, the least and the most.
  outcomes.resize(5);
  EXPECT_EQ(figures_of(outcomes).low, 1);
  EXPECT_EQ(figures_of(outcomes).high, 5);
  EXPECT_NEAR(median_confidence(5), 93.75, 0.01);
}

TEST(CaseRows, EachHasAMutantOrATraceOrAReason) {
  std::string mutants;
  for (MutantInfo const& info : all_mutants()) {
    mutants += std::string{" "} + info.case_row + ",";
  }
  std::set<std::string> ids;
  for (CaseRow const& row : all_case_rows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_STRNE(row.text, "") << row.id;
    bool const has_mutant = mutants.find(std::string{" "} + row.id + ",") != std::string::npos;
    EXPECT_FALSE(has_mutant && row.why_not[0] != '\0') << row.id << " exists here";
  }
  EXPECT_GE(ids.size(), 100U);
  // A mutant stands for a row that is known.
  std::istringstream words{mutants};
  for (std::string word; words >> word;) {
    word.erase(std::remove(word.begin(), word.end(), ','), word.end());
    if (word.size() >= 2 && word[0] >= 'A' && word[0] <= 'M' && word[1] >= '0' && word[1] <= '9') {
      EXPECT_TRUE(ids.contains(word)) << word;
    }
  }
}

TEST(MutantSwitch, CountsHowOftenASiteIsReached) {
  ASSERT_TRUE(select_mutant("leak_on_drop"));
  EXPECT_EQ(mutant_reached(), 0U);
  Runner runner{model::load_geometry("tiny"), {}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    static_cast<void>(runner.run_seed(seed));
  }
  EXPECT_GT(mutant_reached(), 0U);
  ASSERT_TRUE(select_mutant("none"));
  EXPECT_EQ(mutant_reached(), 0U);
}

}  // namespace
}  // namespace holdfast::fuzz
