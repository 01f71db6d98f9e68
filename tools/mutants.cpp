// SPDX-License-Identifier: Apache-2.0
// holdfast mutants: which invariant catches which seeded bug, and how soon.
#include "fuzz/mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "fuzz/libfuzzer_search.hpp"
#include "fuzz/mutant_runner.hpp"
#include "fuzz/rapidcheck_search.hpp"
#include "fuzz/system_mutants.hpp"
#include "models/input_error.hpp"
#include "models/trace.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/targets.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

/// nullptr for the library.
model::SystemInfo const* system_of(MutantsOptions const& options) {
  return model::device_from(options.system.value_or("host")).system;
}

std::vector<fuzz::MutantInfo> chosen(MutantsOptions const& options) {
  std::vector<std::string> const& only = options.only;
  std::vector<fuzz::MutantInfo> mutants;
  for (fuzz::MutantInfo const& info : fuzz::mutants_of(system_of(options))) {
    if (only.empty() || std::find(only.begin(), only.end(), info.name) != only.end()) {
      mutants.push_back(info);
    }
  }
  return mutants;
}

std::string line_of(fuzz::MutantOutcome const& outcome) {
  if (!outcome.killed) {
    return fmt::format("{:<30} {} {}\n",
                       outcome.info.name,
                       in_colour(Colour::kBad, "SURVIVED"),
                       counted(outcome.operations, "operation"));
  }
  return fmt::format("{:<30} {} by {} after {}\n",
                     outcome.info.name,
                     in_colour(Colour::kGood, "killed"),
                     fmt::join(outcome.invariants, ", "),
                     counted(outcome.operations, "operation"));
}

/// How many searches came to an end.
std::size_t finished_of(std::vector<fuzz::MutantOutcome> const& outcomes) {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [](fuzz::MutantOutcome const& one) {
        return !one.cut_short;
      }));
}

std::vector<std::string> survivors_of(std::vector<fuzz::MutantOutcome> const& outcomes) {
  std::vector<std::string> names;
  for (fuzz::MutantOutcome const& outcome : outcomes) {
    if (!outcome.killed && !outcome.cut_short) {
      names.emplace_back(outcome.info.name);
    }
  }
  return names;
}

/// The command that searches for one mutant again, with the seed of one of the searches.
std::string reproduce_command(MutantsOptions const& options,
                              std::string const& survivor,
                              std::uint64_t seed) {
  std::vector<std::string> words = {invoked_name(), "mutants", "--only", survivor};
  if (options.system) {
    words.insert(words.end(), {"--system", *options.system});
  }
  for (std::string const& name : options.geometries) {
    words.insert(words.end(), {"--geometry", name});
  }
  words.insert(words.end(),
               {"--search",
                options.search,
                "--seed",
                std::to_string(seed),
                "--ops",
                std::to_string(options.budget)});
  if (options.device != "host") {
    words.insert(words.end(), {"--device", options.device});
  }
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
               {"killed", finished_of(outcomes) - survivors.size()},
               {"interrupted", was_interrupted()},
               {"survivors", survivors},
               {"kills", std::move(kills)},
               {"search", options.search},
               {"seed", options.seed},
               {"budget", options.budget}};
  if (!survivors.empty()) {
    json["reproduce"] = reproduce_command(options, survivors.front(), options.seed);
  }
  return json;
}

/// A folder for as long as this object lives.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      throw EnvironmentError{path_ + ": cannot be made: " + std::generic_category().message(errno)};
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(ScratchFolder const&) = delete;
  ScratchFolder& operator=(ScratchFolder const&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

/// Runs the search that was asked for.
std::vector<fuzz::MutantOutcome> run_search(MutantsOptions const& options,
                                            fuzz::MutantPlan const& plan) {
  if (options.search == kSearchLibfuzzer) {
    ScratchFolder const scratch;
    return fuzz::run_mutants(
        plan,
        fuzz::libfuzzer_search(plan, required_target("fuzz_interleave", true), scratch.path()));
  }
  if (options.search != kSearchRapidcheck) {
    return fuzz::run_mutants(plan, fuzz::swarm_search(plan, fuzz::flavor_named(options.search)));
  }
  if (!fuzz::has_rapidcheck()) {
    throw EnvironmentError{"--search rapidcheck: this program was built without RapidCheck"};
  }
  return fuzz::run_mutants(plan, fuzz::rapidcheck_search(plan));
}

/// One search for each mutant, with the seed of search `repeat`.
std::vector<fuzz::MutantOutcome> run_all(MutantsOptions const& options,
                                         Progress& progress,
                                         std::uint32_t repeat) {
  fuzz::MutantPlan plan{.mutants = chosen(options),
                        .geometries = load_geometries(options.geometries),
                        .seed = options.seed + repeat,
                        .budget = options.budget,
                        .compare = options.compare,
                        .system = system_of(options),
                        .simulated = options.device == "sim",
                        .jobs = std::clamp(std::thread::hardware_concurrency(), 1U, 2U),
                        .should_stop = was_interrupted};
  std::size_t done = 0;
  double const before = progress.seconds();
  plan.on_outcome = [&](fuzz::MutantOutcome const& outcome) {
    ++done;
    if (!options.json && !options.markdown && options.repeat == 1) {
      progress.clear();
      print(line_of(outcome));
    }
  };
  plan.on_progress = [&](std::uint64_t operations) {
    std::size_t const all = plan.mutants.size();
    progress.show(
        fmt::format("{}: search {} of {}, {} of {} mutants, {} operations ({:.0f}/s){}",
                    duration_text(progress.seconds()),
                    repeat + 1,
                    options.repeat,
                    done,
                    all,
                    operations,
                    rate_of(operations, progress.seconds() - before),
                    time_left(progress.seconds(), repeat * all + done, options.repeat * all)));
  };
  return run_search(options, plan);
}

std::string line_of(fuzz::MutantFigures const& one) {
  std::string const outcome =
      one.killed == one.repeats
          ? "killed"
          : fmt::format("killed {} of {}, reached {}", one.killed, one.repeats, one.reached);
  return fmt::format("{:<30} {}: {:.0f} operations [{:.0f}, {:.0f}], longest {}, {:.3f} s, by {}\n",
                     one.info.name,
                     outcome,
                     one.operations,
                     one.low,
                     one.high,
                     one.longest,
                     one.seconds,
                     fmt::join(one.invariants, ", "));
}

Json figures_json(fuzz::MutantFigures const& one) {
  return {{"mutant", one.info.name},
          {"repeats", one.repeats},
          {"killed", one.killed},
          {"reached", one.reached},
          {"invariants", one.invariants},
          {"operations", one.operations},
          {"low", one.low},
          {"high", one.high},
          {"longest", one.longest},
          {"seconds", one.seconds}};
}

std::string text_of_figures(MutantsOptions const& options,
                            std::vector<fuzz::MutantFigures> const& figures,
                            std::string const& reproduce) {
  std::size_t killed = 0;
  std::string text = was_interrupted() ? "interrupted: figures of the searches until then\n" : "";
  for (fuzz::MutantFigures const& one : figures) {
    killed += one.killed == one.repeats ? 1 : 0;
    text += line_of(one);
  }
  text += fmt::format(
      "{}, {} killed in each of {} searches ({}); intervals of medians are {:.0f} % sure\n",
      counted(figures.size(), "mutant"),
      killed,
      options.repeat,
      options.search,
      fuzz::median_confidence(options.repeat));
  return reproduce.empty() ? text : text + reproduce_with(reproduce);
}

/// The regression traces of the repository that this is called in.
std::vector<fuzz::TraceOfRow> regression_traces() {
  std::filesystem::path const folder = "corpus/regression";
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::recursive_directory_iterator entry{folder, error}, end;
       !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".trace" && !entry->is_other(ignored)) {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    throw model::InputError{
        folder.string() + ": cannot be read, and --markdown names its traces: " + error.message()};
  }
  std::sort(paths.begin(), paths.end());
  constexpr std::string_view kMutant = " mutant: ";
  std::vector<fuzz::TraceOfRow> traces;
  for (std::string const& path : paths) {
    model::Trace const trace = model::load_trace(path);
    fuzz::TraceOfRow row{.name = std::filesystem::path{path}.stem().string()};
    if (!trace.comments.empty()) {
      std::string const& line = trace.comments[0];
      std::size_t const end = std::min(line.find(" ("), line.size());
      row.row = line.substr(std::min<std::size_t>(1, end), end - std::min<std::size_t>(1, end));
    }
    if (trace.comments.size() > 1 && trace.comments[1].rfind(kMutant, 0) == 0) {
      row.mutant = trace.comments[1].substr(kMutant.size());
    }
    traces.push_back(std::move(row));
  }
  return traces;
}

/// Several searches for each mutant, and their medians.
int execute_repeated(MutantsOptions const& options) {
  catch_interrupts();
  Progress progress;
  std::vector<std::vector<fuzz::MutantOutcome>> by_mutant(chosen(options).size());
  std::string reproduce;
  for (std::uint32_t repeat = 0; repeat < options.repeat && !was_interrupted(); ++repeat) {
    std::vector<fuzz::MutantOutcome> const outcomes = run_all(options, progress, repeat);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].cut_short) {
        by_mutant[i].push_back(outcomes[i]);
      }
    }
    if (std::vector<std::string> const names = survivors_of(outcomes);
        !names.empty() && reproduce.empty()) {
      reproduce = reproduce_command(options, names.front(), options.seed + repeat);
    }
  }
  progress.clear();
  std::vector<fuzz::MutantFigures> figures;
  Json array = Json::array();
  for (auto const& outcomes : by_mutant) {
    if (outcomes.empty()) {
      continue;  // cut short
    }
    figures.push_back(fuzz::figures_of(outcomes));
    array.push_back(figures_json(figures.back()));
  }
  if (options.markdown) {
    print(fuzz::mutants_page(figures, regression_traces(), options.search, options.seed));
  } else if (options.json) {
    Json json = {{"search", options.search},
                 {"repeat", options.repeat},
                 {"seed", options.seed},
                 {"budget", options.budget},
                 {"confidence_percent", fuzz::median_confidence(options.repeat)},
                 {"interrupted", was_interrupted()},
                 {"mutants", std::move(array)}};
    if (!reproduce.empty()) {
      json["reproduce"] = reproduce;
    }
    print(text_of(json));
  } else {
    print(text_of_figures(options, figures, reproduce));
  }
  return exit_code(!reproduce.empty());
}

}  // namespace

int execute(MutantsOptions const& options) {
  if (options.markdown) {
    static_cast<void>(regression_traces());  // what is missing is known before a long run
  }
  if (options.repeat > 1 || options.markdown) {
    return execute_repeated(options);
  }
  catch_interrupts();
  Progress progress;
  std::vector<fuzz::MutantOutcome> const outcomes = run_all(options, progress, 0);
  progress.clear();
  std::vector<std::string> const survivors = survivors_of(outcomes);
  if (options.json) {
    print(text_of(json_of_outcomes(options, outcomes)));
  } else {
    std::size_t const finished = finished_of(outcomes);
    std::string text;
    if (was_interrupted()) {
      text += in_colour(Colour::kNotice,
                        fmt::format("interrupted: {} of {} mutants", finished, outcomes.size())) +
              "\n";
    }
    text += fmt::format("{}, {} killed, {}\n",
                        counted(finished, "mutant"),
                        finished - survivors.size(),
                        in_colour(survivors.empty() ? Colour::kGood : Colour::kBad,
                                  counted(survivors.size(), "survivor")));
    if (!survivors.empty()) {
      text += reproduce_with(reproduce_command(options, survivors.front(), options.seed));
    }
    print(text);
  }
  return exit_code(!survivors.empty());
}

}  // namespace holdfast::tools
