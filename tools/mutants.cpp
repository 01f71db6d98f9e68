// SPDX-License-Identifier: Apache-2.0
// holdfast mutants: which invariant catches which seeded bug, and how soon.
#include "fuzz/mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "fuzz/mutant_runner.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/progress.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

std::vector<fuzz::MutantInfo> chosen(std::vector<std::string> const& only) {
  std::vector<fuzz::MutantInfo> mutants;
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    if (only.empty() || std::find(only.begin(), only.end(), info.name) != only.end()) {
      mutants.push_back(info);
    }
  }
  return mutants;
}

std::string line_of(fuzz::MutantOutcome const& outcome) {
  if (!outcome.killed) {
    return fmt::format(
        "{:<30} SURVIVED {}\n", outcome.info.name, counted(outcome.operations, "operation"));
  }
  return fmt::format("{:<30} killed by {} after {}\n",
                     outcome.info.name,
                     fmt::join(outcome.invariants, ", "),
                     counted(outcome.operations, "operation"));
}

std::vector<std::string> survivors_of(std::vector<fuzz::MutantOutcome> const& outcomes) {
  std::vector<std::string> names;
  for (fuzz::MutantOutcome const& outcome : outcomes) {
    if (!outcome.killed) {
      names.emplace_back(outcome.info.name);
    }
  }
  return names;
}

std::string reproduce_command(MutantsOptions const& options, std::string const& survivor) {
  std::vector<std::string> words = {invoked_name(), "mutants", "--only", survivor};
  for (std::string const& name : options.geometries) {
    words.insert(words.end(), {"--geometry", name});
  }
  words.insert(words.end(),
               {"--search",
                options.search,
                "--seed",
                std::to_string(options.seed),
                "--ops",
                std::to_string(options.budget)});
  if (!options.compare) {
    words.emplace_back("--no-compare");
  }
  return command_of(words);
}

Json json_of_outcomes(MutantsOptions const& options,
                      std::vector<fuzz::MutantOutcome> const& outcomes) {
  std::vector<std::string> const survivors = survivors_of(outcomes);
  Json kills = Json::array();
  for (fuzz::MutantOutcome const& outcome : outcomes) {
    if (outcome.killed) {
      kills.push_back({{"mutant", outcome.info.name},
                       {"invariants", outcome.invariants},
                       {"operations", outcome.operations}});
    }
  }
  Json json = {{"total", outcomes.size()},
               {"killed", outcomes.size() - survivors.size()},
               {"survivors", survivors},
               {"kills", std::move(kills)},
               {"search", options.search},
               {"seed", options.seed},
               {"budget", options.budget}};
  if (!survivors.empty()) {
    json["reproduce"] = reproduce_command(options, survivors.front());
  }
  return json;
}

std::vector<fuzz::MutantOutcome> run_all(MutantsOptions const& options) {
  fuzz::MutantPlan plan{.mutants = chosen(options.only),
                        .geometries = load_geometries(options.geometries),
                        .seed = options.seed,
                        .flavor = fuzz::flavor_named(options.search),
                        .budget = options.budget,
                        .compare = options.compare,
                        .jobs = std::clamp(std::thread::hardware_concurrency(), 1U, 2U)};
  Progress progress;
  std::size_t done = 0;
  plan.on_outcome = [&](fuzz::MutantOutcome const& outcome) {
    ++done;
    if (!options.json) {
      progress.clear();
      print(line_of(outcome));
    }
  };
  plan.on_progress = [&](std::uint64_t operations) {
    double const seconds = progress.seconds();
    double const rate = seconds > 0 ? static_cast<double>(operations) / seconds : 0;
    progress.show(fmt::format("{:.0f} s: {} of {} mutants, {} operations ({:.0f}/s)",
                              seconds,
                              done,
                              plan.mutants.size(),
                              operations,
                              rate));
  };
  return fuzz::run_mutants(plan);
}

}  // namespace

int execute(MutantsOptions const& options) {
  std::vector<fuzz::MutantOutcome> const outcomes = run_all(options);
  std::vector<std::string> const survivors = survivors_of(outcomes);
  if (options.json) {
    print(text_of(json_of_outcomes(options, outcomes)));
  } else {
    std::string text = fmt::format("{}, {} killed, {}\n",
                                   counted(outcomes.size(), "mutant"),
                                   outcomes.size() - survivors.size(),
                                   counted(survivors.size(), "survivor"));
    if (!survivors.empty()) {
      text += reproduce_with(reproduce_command(options, survivors.front()));
    }
    print(text);
  }
  return survivors.empty() ? kExitHeld : kExitViolation;
}

}  // namespace holdfast::tools
