// SPDX-License-Identifier: Apache-2.0
// Runs the seeded bugs, each in a process of its own: one that crashes or hangs takes only itself
// along.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"

namespace holdfast::fuzz {

/// Killer of a mutant whose process died.
inline constexpr char const* kCrash = "CRASH";
/// Killer of a mutant that did not finish one program within kHangSeconds.
inline constexpr char const* kHang = "HANG";
inline constexpr unsigned kHangSeconds = 60;

/// How one mutant fared.
struct MutantOutcome {
  MutantInfo info;
  bool killed = false;
  std::vector<std::string> invariants;  ///< that reported it, or kCrash, or kHang
  std::uint64_t operations = 0;         ///< until then, or in all
};

/// What to run. The outcomes depend on geometries, seed, budget and compare only.
struct MutantPlan {
  std::vector<MutantInfo> mutants;
  std::vector<model::Geometry> geometries;
  std::uint64_t seed = 0;
  std::optional<Flavor> flavor;  ///< none: all take turns
  std::uint64_t budget = 0;      ///< most operations of each mutant
  bool compare = true;
  std::uint32_t jobs = 1;  ///< processes at a time
  /// Called for each, as it is done.
  std::function<void(MutantOutcome const&)> on_outcome;
  /// Called about every half second, with the operations of all mutants so far.
  std::function<void(std::uint64_t operations)> on_progress;
};

/// Runs one mutant on programs of a swarm in this process until it is killed or the budget is used up; counts operations
/// in `counted` as they are done.
[[nodiscard]] MutantOutcome run_mutant(MutantInfo const& info,
                                       MutantPlan const& plan,
                                       Swarm const& swarm,
                                       std::atomic<std::uint64_t>& counted);

/// Runs all mutants of the plan; outcomes are in its order. The calling process must have one
/// thread. Throws std::system_error when there is no process, pipe or memory to be had.
[[nodiscard]] std::vector<MutantOutcome> run_mutants(MutantPlan const& plan);

}  // namespace holdfast::fuzz
