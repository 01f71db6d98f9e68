// SPDX-License-Identifier: Apache-2.0
// Goal: the laws of the operations hold for every built-in geometry that runs by default and for every
// round kind. Method: random cases (RapidCheck), as many as the table of laws says.
#include "tests/property/laws.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <iostream>
#include <iterator>

namespace holdfast::test {
namespace {

class LawTest : public testing::TestWithParam<Law> {};

TEST_P(LawTest, Holds) {
  Law const& law = GetParam();
  std::vector<model::Geometry> const geometries = geometries_of(law);
  ASSERT_FALSE(geometries.empty());
  int cases = 0;
  std::uint32_t settings = 0;
  for (model::Geometry const& geometry : geometries) {
    for (RoundKindName const& kind : kRoundKinds) {
      if (!has_kind(geometry, kind.mode)) {
        continue;
      }
      ++settings;
      rc::detail::TestResult const result = examine(law, {geometry, kind.mode}, true);
      rc::detail::SuccessResult success;
      if (!result.match(success)) {
        rc::detail::printResultMessage(result, std::cerr);
        ADD_FAILURE() << law.name << ", geometry " << geometry.name << ", rounds " << kind.name;
        continue;
      }
      cases = success.numSuccess;
    }
  }
  std::printf(
      "law %s: %u pairs of geometry and round kind x %d cases\n", law.name, settings, cases);
}

INSTANTIATE_TEST_SUITE_P(Laws, LawTest, testing::ValuesIn(all_laws()), [](auto const& law) {
  return std::string{law.param.name};
});

}  // namespace
}  // namespace holdfast::test
