// SPDX-License-Identifier: Apache-2.0
// Goal: every law can fail. Method: turn on a seeded bug that the table of laws names, and try the law
// as its test does, geometry by geometry, until a case fails.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/mutants.hpp"
#include "tests/property/laws.hpp"

namespace holdfast::test {
namespace {

struct Breach {
  Law law;
  std::string mutant;
};

std::vector<Breach> all_breaches() {
  std::vector<Breach> breaches;
  for (Law const& law : all_laws()) {
    std::istringstream mutants{law.mutants};
    for (std::string mutant; mutants >> mutant;) {
      breaches.push_back({law, mutant});
    }
  }
  return breaches;
}

class BrokenLaw : public testing::TestWithParam<Breach> {
 protected:
  void TearDown() override { fuzz::select_mutant("none"); }
};

/// Whether a case fails on any geometry; says which.
bool fails_somewhere(Law const& law, std::string const& mutant) {
  for (model::Geometry const& geometry : geometries_of(law)) {
    for (RoundKindName const& kind : kRoundKinds) {
      if (!has_kind(geometry, kind.mode)) {
        continue;
      }
      rc::detail::TestResult const result = examine(law, {geometry, kind.mode}, false);
      rc::detail::FailureResult failure;
      if (result.match(failure)) {
        std::size_t const last_line = failure.description.rfind('\n') + 1;  // after the place
        std::printf("law %s: %s fails it on %s, %s, after %d cases: %s\n",
                    law.name,
                    mutant.c_str(),
                    geometry.name.c_str(),
                    kind.name,
                    failure.numSuccess,
                    failure.description.c_str() + last_line);
        return true;
      }
    }
  }
  return false;
}

TEST_P(BrokenLaw, IsSeen) {
  auto const& [law, mutant] = GetParam();
  ASSERT_TRUE(fuzz::select_mutant(mutant)) << mutant;
  EXPECT_TRUE(fails_somewhere(law, mutant));
}

TEST(LawTable, EveryLawHasAMutant) {
  for (Law const& law : all_laws()) {
    EXPECT_STRNE(law.mutants, "") << law.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Laws,
                         BrokenLaw,
                         testing::ValuesIn(all_breaches()),
                         [](auto const& breach) {
                           return std::string{breach.param.law.name} + "_by_" + breach.param.mutant;
                         });

}  // namespace
}  // namespace holdfast::test
