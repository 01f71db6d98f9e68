// SPDX-License-Identifier: Apache-2.0
// Programs that take an operation for the first time in a state that was reached: the shortest known
// way there, and the operation.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "fuzz/geometry_shelf.hpp"
#include "fuzz/go_on.hpp"
#include "models/lineage/coverage.hpp"

namespace holdfast::fuzz {

/// How a frontier was pushed on.
struct FrontierResult {
  std::uint64_t aimed_at = 0;        ///< unseen edges, each once a round
  std::uint64_t reached = 0;         ///< of them, when aimed at
  std::vector<model::Trace> seeds;   ///< programs that saw something for the first time
  std::vector<model::Trace> failed;  ///< programs that violated an invariant
  std::set<std::string> unusable;    ///< geometries of witnesses, that cannot be run here
};

/// Tries to take each unseen edge, in at most `tries` ways each, and adds what all programs saw to
/// `coverage`; goes on from there until a round reaches nothing new, or `go_on` says no. The outcome
/// depends on the arguments only.
[[nodiscard]] FrontierResult push_frontier(model::Coverage& coverage,
                                           std::uint64_t seed,
                                           std::uint32_t tries,
                                           GoOn const& go_on = {});

/// Runs programs and adds what they saw, until `go_on` says no. Returns how many could be run; a
/// program that violates an invariant ends there.
std::uint64_t replay_for_coverage(std::vector<model::Trace> const& programs,
                                  model::Coverage& coverage,
                                  GoOn const& go_on = {});

}  // namespace holdfast::fuzz
