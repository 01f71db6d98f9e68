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
  std::uint64_t reached =
      0;                   ///< operations through the first program that came to its site; 0: none
  double seconds = 0;      ///< of processor time
  bool cut_short = false;  ///< the search was stopped, or never begun: nothing is known
};

/// How one mutant fared in several searches.
struct MutantFigures {
  MutantInfo info;
  std::uint32_t repeats = 0;
  std::uint32_t killed = 0;
  std::uint32_t reached = 0;
  std::vector<std::string> invariants;  ///< that reported it, each once
  double operations = 0;  ///< median until the kill; a censored run counts as the longest
  double low = 0;         ///< interval of the median, by order statistics, 95 % or what
  double high = 0;        ///< few repeats give
  std::uint64_t longest = 0;
  double seconds = 0;  ///< median of processor time
};

/// Sums up the outcomes of one mutant. There must be one.
[[nodiscard]] MutantFigures figures_of(std::vector<MutantOutcome> const& outcomes);

/// How sure the interval of a median over so many repeats is, in percent.
[[nodiscard]] double median_confidence(std::uint32_t repeats) noexcept;

/// A regression trace, as its comments say.
struct TraceOfRow {
  std::string row;   ///< "A5", "seed 3"
  std::string name;  ///< of the file, without folder and end
  std::string mutant;
};

/// docs/MUTANTS.md: a table of the mutants, and one of the reports.
[[nodiscard]] std::string mutants_page(std::vector<MutantFigures> const& figures,
                                       std::vector<TraceOfRow> const& traces,
                                       std::string const& search,
                                       std::uint64_t seed);

/// What to run. The outcomes of a search in this process depend on geometries, seed, budget and
/// compare only.
struct MutantPlan {
  std::vector<MutantInfo> mutants;
  std::vector<model::Geometry> geometries;
  std::uint64_t seed = 0;
  std::uint64_t budget = 0;  ///< most operations of each mutant
  bool compare = true;
  model::SystemInfo const* system = nullptr;  ///< another than the library, whose mutants these are
  bool simulated = false;  ///< all on simulated devices; else only those that show nowhere else
  std::uint32_t jobs = 1;  ///< processes at a time
  /// Called for each, as it is done.
  std::function<void(MutantOutcome const&)> on_outcome;
  /// Called about every half second, with the operations of all mutants so far.
  std::function<void(std::uint64_t operations)> on_progress;
  /// When it says so, the searches that run are ended, and no other begins.
  std::function<bool()> should_stop;
};

/// Operations that one mutant cost so far, for whoever waits.
using OperationCount = std::atomic<std::uint64_t>;

/// Searches for one mutant until it is killed or the budget is used up. Called in a process of its
/// own; what it throws ends the whole run. Mutants of one run need not be searched for in order.
using MutantSearch = std::function<MutantOutcome(MutantInfo const& info, OperationCount& counted)>;

/// Runs the program with this number.
using ProgramSource = std::function<ProgramResult(std::uint64_t index)>;

/// Turns the mutant on and runs program after program in this process.
[[nodiscard]] MutantOutcome try_programs(
    MutantInfo const& info,
    MutantPlan const& plan,
    OperationCount& counted,
    std::function<ProgramSource(RunnerOptions const& options)> const& make);

/// Programs of a swarm; without a flavor all take turns. The plan must outlive it.
[[nodiscard]] MutantSearch swarm_search(MutantPlan const& plan, std::optional<Flavor> flavor);

/// Searches for all mutants of the plan; outcomes are in its order. The calling process must have one
/// thread. Throws std::system_error when there is no process, pipe or memory to be had, and
/// std::runtime_error for what a search threw.
[[nodiscard]] std::vector<MutantOutcome> run_mutants(MutantPlan const& plan,
                                                     MutantSearch const& search);

}  // namespace holdfast::fuzz
