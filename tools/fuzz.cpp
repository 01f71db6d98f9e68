// SPDX-License-Identifier: Apache-2.0
// holdfast fuzz: a campaign over all fuzz targets, and its workers.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "fuzz/campaign/libfuzzer.hpp"
#include "fuzz/campaign/programs.hpp"
#include "fuzz/campaign/report.hpp"
#include "fuzz/campaign/supervisor.hpp"
#include "fuzz/campaign/worker.hpp"
#include "fuzz/files.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/subprocess.hpp"
#include "tools/targets.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using model::InputError;

/// Only one supervisor may have a folder.
class Lock {
 public:
  explicit Lock(fs::path const& folder) {
    fuzz::make_folder(folder);
    constexpr mode_t kMode = 0644;
    file_ = open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
    if (file_ < 0) {
      throw EnvironmentError{folder.string() +
                             ": cannot be written: " + std::generic_category().message(errno)};
    }
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      close(file_);
      throw EnvironmentError{folder.string() + ": another campaign runs there"};
    }
  }
  ~Lock() { close(file_); }
  /// Throws when a supervisor has the folder.
  static void expect_free(fs::path const& folder) {
    int const file = open((folder / "lock").c_str(), O_RDONLY | O_CLOEXEC);
    bool const is_free = file < 0 || flock(file, LOCK_SH | LOCK_NB) == 0;
    close(file);
    if (!is_free) {
      throw EnvironmentError{folder.string() + ": its campaign still runs"};
    }
  }
  Lock(Lock const&) = delete;
  Lock& operator=(Lock const&) = delete;

 private:
  int file_;
};

/// The chosen targets; without a choice, those that are there.
std::vector<fuzz::CampaignTarget> targets_of(FuzzOptions const& options) {
  std::vector<fuzz::CampaignTarget> targets;
  for (std::string const name : kFuzzTargets) {
    bool const is_chosen =
        std::find(options.targets.begin(), options.targets.end(), name) != options.targets.end();
    if (!options.targets.empty() && !is_chosen) {
      continue;
    }
    bool const is_ours = name == fuzz::kSwarmTarget;
    bool const has_mutant = options.mutant.has_value();
    std::string program = is_ours     ? ""
                          : is_chosen ? required_target(name, has_mutant)
                                      : driven_target(name, has_mutant);
    if (!is_ours && program.empty()) {
      continue;
    }
    targets.push_back({.name = name, .program = std::move(program)});
  }
  return targets;
}

/// Replays new units with sanitizers, where such a build lies beside this one.
std::string sanitized_program(FuzzOptions const& options) {
  fs::path const program =
      options.sanitized
          ? fs::path{*options.sanitized}
          : fs::path{in_preset("asan", options.mutant ? "holdfast-mutants" : "holdfast")};
  std::error_code error;
  if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) {
    return fs::absolute(program).string();
  }
  if (options.sanitized) {
    throw EnvironmentError{program.string() +
                           (fs::exists(program, error) ? ": is no program" : ": is not there")};
  }
  return "";
}

std::string seeds_folder(FuzzOptions const& options) {
  std::error_code error;
  if (options.seeds && !fs::is_directory(*options.seeds, error)) {
    throw InputError{*options.seeds + ": cannot be read: it is no folder"};
  }
  return options.seeds ? fs::absolute(*options.seeds).string() : "";
}

std::string reproduce_command(fuzz::Findings const& findings,
                              std::string const& bucket,
                              fuzz::Bucket const& known) {
  std::string const path = findings.shortest_path(bucket).string();
  std::string const& mutant = known.first.mutant;
  std::string const target =
      known.shortest.is_trace ? "" : driven_target(known.first.target, !mutant.empty());
  if (!target.empty()) {
    std::vector<std::string> words = {target, path};
    if (!mutant.empty()) {
      words.push_back("--mutant=" + mutant);
    }
    return command_of(words);
  }
  std::vector<std::string> words = {invoked_name(), "replay", path};
  if (!mutant.empty()) {
    words.insert(words.end(), {"--mutant", mutant});
  }
  return command_of(words);
}

/// What is written and printed at the end, and from time to time.
struct Reports {
  std::string json;
  std::string html;
};

Reports reports_of(fs::path const& folder,
                   fuzz::CampaignState const& state,
                   fuzz::Findings const& findings,
                   bool canary_reported) {
  std::vector<std::uint64_t> const transitions =
      fuzz::read_transitions(fuzz::CampaignFolder{folder}.coverage());
  model::Coverage const coverage =
      fuzz::coverage_of_units(fuzz::CampaignFolder{folder}.corpus(fuzz::kSwarmTarget));
  fuzz::ReportPlan const plan{.state = state,
                              .findings = findings,
                              .transitions = transitions,
                              .coverage = coverage,
                              .canary_reported = canary_reported,
                              .units = fuzz::count_units({folder}),
                              .reproduce = [&](std::string const& name, fuzz::Bucket const& known) {
                                return reproduce_command(findings, name, known);
                              }};
  Reports reports{.json = fuzz::report_json(plan), .html = fuzz::report_html(plan)};
  fuzz::write_whole(folder / "report.json", reports.json);
  fuzz::write_whole(folder / "report.html", reports.html);
  return reports;
}

/// A table that is drawn over itself on a terminal; elsewhere a line a minute.
class View {
 public:
  explicit View(double seconds) : seconds_{seconds} {}

  void show(fuzz::CampaignState const& state, fuzz::Findings const& findings) {
    std::uint64_t programs = 0;
    for (auto const& [name, target] : state.targets) {
      programs += target.programs;
    }
    std::string text =
        fmt::format("{}: {} programs ({:.0f}/s), {} transitions, {} units, {}; {} left\n",
                    duration_text(state.elapsed),
                    programs,
                    rate_of(programs, state.elapsed),
                    state.history.empty() ? 0 : state.history.back().transitions,
                    state.history.empty() ? 0 : state.history.back().units,
                    counted(findings.buckets().size(), "finding"),
                    duration_text(seconds_ - state.elapsed));
    if (is_terminal_) {
      for (auto const& [name, target] : state.targets) {
        text += fmt::format(
            "  {:<18} {:>10} programs  {:>7.0f} s  {} crashes, {} time-outs, {} "
            "memory kills\n",
            name,
            target.programs,
            target.seconds,
            target.crashes,
            target.time_outs,
            target.memory_kills);
      }
      for (auto const& [name, bucket] : findings.buckets()) {
        text += fmt::format("  {:<10} {} ({} times)\n",
                            fuzz::name_of(bucket.state),
                            fuzz::describe(bucket.first.signature),
                            bucket.count);
      }
      draw(text);
    } else if (state.elapsed >= next_) {
      constexpr double kEvery = 60;
      next_ = state.elapsed + kEvery;
      complain(text.substr(0, text.size() - 1));
    }
  }

 private:
  void draw(std::string const& text) {
    // Up over the last table, each line new, the rest of the screen cleared.
    std::string out = lines_ == 0 ? "" : fmt::format("\x1b[{}A", lines_);
    for (char const letter : text) {
      out += letter == '\n' ? "\x1b[K\n" : std::string(1, letter);
    }
    out += "\x1b[J";
    lines_ = std::count(text.begin(), text.end(), '\n');
    if (write(STDERR_FILENO, out.data(), out.size()) < 0) {
      is_terminal_ = false;
    }
  }

  double seconds_;
  bool is_terminal_ = is_terminal(STDERR_FILENO);
  double next_ = 60;
  std::ptrdiff_t lines_ = 0;
};

std::string summary(fs::path const& folder,
                    fuzz::Findings const& findings,
                    fuzz::CampaignResult const& result) {
  fuzz::CampaignState const& state = result.state;
  std::string text;
  if (was_interrupted()) {
    text += in_colour(Colour::kNotice, "interrupted; --resume goes on") + "\n";
  }
  for (auto const& [name, target] : state.targets) {
    text +=
        fmt::format("{:<18} {} programs in {:.0f} s, {} crashes, {} time-outs, {} memory kills\n",
                    name,
                    target.programs,
                    target.seconds,
                    target.crashes,
                    target.time_outs,
                    target.memory_kills);
  }
  text += fmt::format("{}, {} transitions, {}, canary {}\nreport {}\n",
                      counted(fuzz::count_units({folder}), "unit"),
                      state.history.empty() ? 0 : state.history.back().transitions,
                      counted(findings.buckets().size(), "finding"),
                      result.canary_reported    ? in_colour(Colour::kGood, "reported")
                      : result.canary_is_silent ? in_colour(Colour::kBad, "NOT REPORTED")
                                                : in_colour(Colour::kNotice, "had no time"),
                      (folder / "report.html").string());
  for (auto const& [name, bucket] : findings.buckets()) {
    text += fmt::format("\n{} ({}, {} times): {}\n",
                        fuzz::describe(bucket.first.signature),
                        fuzz::name_of(bucket.state),
                        bucket.count,
                        model::escaped(bucket.first.text)) +
            reproduce_with(reproduce_command(findings, name, bucket));
  }
  return text;
}

int finish(FuzzOptions const& options, fuzz::CampaignResult const& result) {
  fs::path const folder = options.folder;
  fuzz::Findings const findings{fuzz::CampaignFolder{folder}.findings()};
  Reports const reports = reports_of(folder, result.state, findings, result.canary_reported);
  print(options.json ? reports.json : summary(folder, findings, result));
  bool const has_open =
      std::any_of(findings.buckets().begin(), findings.buckets().end(), [](auto const& named) {
        return named.second.state != fuzz::Lifecycle::kFixed;
      });
  return exit_code(has_open || result.canary_is_silent);
}

}  // namespace

int execute(FuzzOptions const& options) {
  if (!options.collect.empty()) {
    Lock const lock{options.folder};
    for (std::string const& folder : options.collect) {
      Lock::expect_free(folder);
    }
    return finish(
        options,
        fuzz::collect_campaigns({options.collect.begin(), options.collect.end()}, options.folder));
  }
  std::optional<std::string> const commit = commit_here();
  Lock const lock{options.folder};
  catch_interrupts();
  View view{options.seconds};
  constexpr double kReportEvery = 60;
  double next_report = kReportEvery;
  fuzz::CampaignPlan const plan{
      .folder = fs::absolute(options.folder),
      .seconds = options.seconds,
      .workers = options.workers,
      .targets = targets_of(options),
      .seed = options.seed ? *options.seed
              : commit     ? read_seed(*commit)
                           : kDefaultSeed,
      .is_seed_given = options.seed.has_value(),
      .commit = commit.value_or(""),
      .mutant = options.mutant.value_or(""),
      .resume = options.resume,
      .time_out = options.time_out,
      .worker = beside(options.mutant ? "holdfast-mutants" : "holdfast"),
      .sanitized = sanitized_program(options),
      .seeds = seeds_folder(options),
      .exchange = options.exchange ? fs::absolute(*options.exchange).string() : "",
      .merge_every = options.merge_every,
      .mute_canary = options.mute_canary,
      .should_stop = was_interrupted,
      .on_word = [](std::string const& line) { complain(line); },
      .on_view =
          [&](fuzz::CampaignState const& state, fuzz::Findings const& findings) {
            view.show(state, findings);
            if (state.elapsed >= next_report) {
              next_report = state.elapsed + kReportEvery;
              reports_of(options.folder, state, findings, state.canaries != 0);
            }
          }};
  turn_on_mutant(options.mutant);
  return finish(options, fuzz::run_campaign(plan));
}

int execute(FuzzWorkerOptions const& options) {
  fuzz::Job const job = fuzz::parse_job(model::read_file(options.path), options.path);
  if (!job.mutant.empty()) {
    turn_on_mutant(job.mutant);
  }
  catch_interrupts();
  fuzz::run_job(job, was_interrupted);
  return kExitHeld;
}

}  // namespace holdfast::tools
