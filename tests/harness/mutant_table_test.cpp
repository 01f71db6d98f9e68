// SPDX-License-Identifier: Apache-2.0
// Goal: the harness's table of mutants and the library's list are one. Method: join them by name;
// look every expected killer up in the registry.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"
#include "invariants/registry.hpp"

namespace holdfast::fuzz {
namespace {

TEST(MutantTable, NamesAreTheLibrarysInItsOrder) {
  ASSERT_TRUE(has_mutants());
  std::vector<std::string> names;
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

}  // namespace
}  // namespace holdfast::fuzz
