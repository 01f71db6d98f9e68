// SPDX-License-Identifier: Apache-2.0
// Goal: in a small scope nothing is left to chance. Method: from each start state and on each
// geometry run every program of at most 4 operations (5 in the slow build of this file, 3 with
// sanitizers) with boundary parameters; every invariant and the model look on after every operation.
#include "fuzz/exhaustive.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "models/geometry/geometry.hpp"

#ifndef HOLDFAST_EXHAUSTIVE_DEPTH
#define HOLDFAST_EXHAUSTIVE_DEPTH 4
#endif

namespace holdfast::test {
namespace {

constexpr std::uint32_t kDepth = HOLDFAST_EXHAUSTIVE_DEPTH;
std::string const kGeometries[] = {"tiny-rows", "tiny", "glm5-next-mini"};

std::vector<std::uint32_t> start_indices() {
  std::vector<std::uint32_t> indices(fuzz::start_states().size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

class Exhaustive : public testing::TestWithParam<std::tuple<std::string, std::uint32_t>> {};

TEST_P(Exhaustive, EveryShortProgramHolds) {
  auto const& [name, index] = GetParam();
  model::Geometry const geometry = model::load_geometry(name);
  fuzz::StartState const& start = fuzz::start_states()[index];
  fuzz::SearchResult const result = fuzz::search_exhaustively(geometry, start, kDepth);
  std::printf("%s from %s (%s): %llu programs",
              name.c_str(),
              start.name,
              start.text,
              1ULL * result.programs);
  for (std::uint32_t length = 1; length <= result.by_length.size(); ++length) {
    std::printf(
        "%s%llu of %u", length == 1 ? ": " : ", ", 1ULL * result.by_length[length - 1], length);
  }
  std::printf(" operations; %llu operations checked\n", 1ULL * result.operations);
  EXPECT_FALSE(result.failed) << fuzz::describe_failed(*result.failed);
  EXPECT_EQ(result.by_length.size(), kDepth);
  EXPECT_GT(result.programs,
            kDepth < 3   ? 100U
            : kDepth < 4 ? 1000U
                         : 5000U)
      << "the boundary set has lost most of its operations";
}

INSTANTIATE_TEST_SUITE_P(SmallScope,
                         Exhaustive,
                         testing::Combine(testing::ValuesIn(kGeometries),
                                          testing::ValuesIn(start_indices())),
                         [](auto const& param) {
                           std::string text = std::get<0>(param.param);
                           for (char& letter : text) {
                             letter = letter == '-' ? '_' : letter;
                           }
                           return text + "_" + fuzz::start_states()[std::get<1>(param.param)].name;
                         });

}  // namespace
}  // namespace holdfast::test
