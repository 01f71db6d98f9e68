// SPDX-License-Identifier: Apache-2.0
// holdfast replay: traces and fuzzer inputs again, and the story of the first violation.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "fuzz/codec.hpp"
#include "fuzz/run.hpp"
#include "models/trace.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/promote.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using model::InputError;
using model::Observation;

/// What became of one line of a trace.
struct Step {
  std::string text;
  std::string answer;
  bool skipped = false;
};

/// What became of one trace.
struct Replayed {
  LoadedTrace const* loaded = nullptr;
  std::vector<Step> steps;  // up to a failing one
  std::uint64_t skipped = 0;
  fuzz::ProgramResult result;
  std::vector<model::AnyOp> ops;  // that ran
};

/// Follows a runner through the lines of a trace: it skips those that cannot run.
class Follower {
 public:
  Follower(std::vector<model::AnyOp> const& ops, model::Model const& model)
      : ops_{ops}, model_{model} {}

  /// Before the first operation, when the model is that of this program.
  void begin() {
    if (!has_begun_) {
      has_begun_ = true;
      skip();
    }
  }
  void step(Observation const& want, Observation const& got) {
    std::string answer = fuzz::text_of(got);
    if (!(want == got)) {
      answer += ", the model says " + fuzz::text_of(want);
    }
    add(std::move(answer), false);
    ran_ = steps_.size();
    skip();
  }
  /// The steps up to the last that ran; a failing one may have given no answer.
  [[nodiscard]] std::vector<Step> until_failure(std::uint32_t op_index) {
    auto const ran =
        std::count_if(steps_.begin(), steps_.end(), [](Step const& step) { return !step.skipped; });
    if (ran == op_index && at_ < ops_.size()) {
      add("no answer", false);
    } else {
      steps_.resize(ran_);
    }
    return steps_;
  }
  [[nodiscard]] std::vector<Step> const& steps() {
    begin();  // no operation may have run
    return steps_;
  }

 private:
  void skip() {
    while (at_ < ops_.size() &&
           !std::visit([&](auto const& op) { return op.precondition(model_); }, ops_[at_])) {
      add("skipped, its precondition does not hold", true);
    }
  }
  void add(std::string answer, bool skipped) {
    steps_.push_back({model::text_of(ops_[at_++]), std::move(answer), skipped});
  }

  std::vector<model::AnyOp> const& ops_;
  model::Model const& model_;
  std::vector<Step> steps_;
  bool has_begun_ = false;
  std::size_t at_ = 0;   // next line
  std::size_t ran_ = 0;  // steps up to the last that ran
};

/// Runs traces one after the other; those of one geometry and one kind of device share a runner.
class Replayer {
 public:
  explicit Replayer(ReplayOptions const& options) : options_{options} {}

  Replayed replay(LoadedTrace const& loaded);

 private:
  static constexpr std::size_t kMostRunners = 32;
  using Runners = std::map<std::string, fuzz::Runner>;  // by geometry and device

  Runners::iterator runner_for(LoadedTrace const& loaded, model::DeviceChoice device);

  ReplayOptions const& options_;
  Runners runners_;
  std::optional<Follower> follower_;  // of the trace that runs
};

Replayer::Runners::iterator Replayer::runner_for(LoadedTrace const& loaded,
                                                 model::DeviceChoice device) {
  device.seed = 0;  // every program has its own
  std::string const key = loaded.trace.geometry + "\n" + model::text_of(device);
  if (runners_.size() == kMostRunners && !runners_.contains(key)) {
    runners_.clear();
  }
  fuzz::RunnerOptions options{.compare = options_.compare,
                              .keep_log = true,
                              .watch_one_in = 1,
                              .device = device,
                              .explain_order = options_.why,
                              .on_begin = [this](model::AnyOp const&) { follower_->begin(); },
                              .on_step = [this](std::uint32_t,
                                                model::AnyOp const&,
                                                auto const& want,
                                                auto const& got) { follower_->step(want, got); }};
  return runners_.try_emplace(key, *loaded.geometry, std::move(options)).first;
}

Replayed Replayer::replay(LoadedTrace const& loaded) {
  model::DeviceChoice const device =
      model::device_from(options_.device.value_or(loaded.trace.device));
  auto const place = runner_for(loaded, device);
  fuzz::Runner& runner = place->second;
  follower_.emplace(loaded.trace.ops, runner.model());
  Replayed replayed{.loaded = &loaded};
  replayed.result = runner.run_ops(loaded.trace.ops, device.seed);
  replayed.ops = runner.ops();
  if (replayed.ops.empty() && !loaded.encoded) {  // a fuzzer may well make such
    throw InputError{loaded.path +
                     ": no operation of the trace can run; the precondition of each is false"};
  }
  auto const& failure = replayed.result.failure;
  replayed.steps = failure ? follower_->until_failure(failure->op_index) : follower_->steps();
  replayed.skipped = static_cast<std::uint64_t>(std::count_if(
      replayed.steps.begin(), replayed.steps.end(), [](Step const& step) { return step.skipped; }));
  if (failure) {
    runners_.erase(place);  // nothing of what went wrong is left for the next trace
  }
  return replayed;
}

/// This command line for one file, or that of another command.
std::string command_for(char const* command,
                        ReplayOptions const& options,
                        std::string const& path) {
  std::vector<std::string> words = {invoked_name(), command, path};
  if (options.device) {
    bool const is_system = model::find_system(*options.device) != nullptr;
    words.insert(words.end(), {is_system ? "--system" : "--device", *options.device});
  }
  if (options.why && std::string_view{command} == "replay") {
    words.emplace_back("--why");
  }
  append_judging(words, options.mutant, options.compare);
  return command_of(words);
}

std::string line_of(Replayed const& replayed) {
  std::string text = replayed.loaded->path + ": ";
  text +=
      replayed.result.failure
          ? in_colour(Colour::kBad, "violation of " + ids_of(replayed.result.failure->violations)) +
                ","
          : in_colour(Colour::kGood, "ok") + ",";
  text += " " + counted(replayed.ops.size(), "operation");
  if (replayed.skipped != 0) {
    text += fmt::format(", {} skipped", replayed.skipped);
  }
  return text + "\n";
}

std::string story_of(Replayed const& replayed) {
  std::string text = fmt::format(
      "\n{}, geometry {}:\n", replayed.loaded->path, model::label(*replayed.loaded->geometry));
  std::uint64_t number = 0;
  for (Step const& step : replayed.steps) {
    std::string const label = step.skipped ? "-" : std::to_string(number++);
    text += fmt::format("{:>5}  {}: {}\n", label, step.text, step.answer);
  }
  return text + fuzz::describe_failure(*replayed.result.failure, replayed.ops);
}

Json file_json(Replayed const& replayed) {
  bool const failed = replayed.result.failure.has_value();
  return {{"file", replayed.loaded->path},
          {"encoded", replayed.loaded->encoded},
          {"geometry", model::label(*replayed.loaded->geometry)},
          {"outcome", failed ? "violation" : "ok"},
          {"operations", replayed.ops.size()},
          {"skipped", replayed.skipped},
          {"digest", digest_text(replayed.result.digest)}};
}

Json failure_json(Replayed const& replayed, std::string const& command) {
  Json steps = Json::array();
  for (Step const& step : replayed.steps) {
    steps.push_back({{"text", step.text}, {"answer", step.answer}, {"skipped", step.skipped}});
  }
  return {{"file", replayed.loaded->path},
          {"geometry", model::label(*replayed.loaded->geometry)},
          {"operation", replayed.result.failure->op_index},
          {"steps", std::move(steps)},
          {"violations", json_of(replayed.result.failure->violations)},
          {"why", replayed.result.failure->why},
          {"reproduce", command}};
}

/// All that is known after the last file.
struct Totals {
  Json results = Json::array();
  std::uint64_t failed = 0;
  std::uint64_t violations = 0;
  std::uint64_t operations = 0;
  std::uint64_t skipped = 0;
  std::size_t asked = 0;          // files, those that an interrupt left out counted
  std::optional<Replayed> first;  // that failed

  void add(Replayed replayed) {
    results.push_back(file_json(replayed));
    operations += replayed.ops.size();
    skipped += replayed.skipped;
    if (replayed.result.failure) {
      ++failed;
      violations += replayed.result.failure->violations.size();
      if (!first) {
        first = std::move(replayed);
      }
    }
  }
};

void report(ReplayOptions const& options, Totals const& totals) {
  std::string const command =
      totals.first ? command_for("replay", options, totals.first->loaded->path) : "";
  if (options.json) {
    Json json = {{"files", totals.results.size()},
                 {"operations", totals.operations},
                 {"skipped", totals.skipped},
                 {"failed", totals.failed},
                 {"violations", totals.violations},
                 {"interrupted", was_interrupted()},
                 {"results", totals.results}};
    if (totals.first) {
      json["failure"] = failure_json(*totals.first, command);
    }
    print(text_of(json));
    return;
  }
  std::string text;
  if (was_interrupted()) {
    text += in_colour(
                Colour::kNotice,
                fmt::format("interrupted: {} of {} traces", totals.results.size(), totals.asked)) +
            "\n";
  }
  text += fmt::format("{}, {}, {}\n",
                      counted(totals.results.size(), "trace"),
                      counted(totals.operations, "operation"),
                      in_colour(totals.first ? Colour::kBad : Colour::kGood,
                                counted(totals.violations, "violation")));
  if (totals.first) {
    text += story_of(*totals.first) +
            minimize_with(command_for("minimize", options, totals.first->loaded->path)) +
            reproduce_with(command);
  }
  print(text);
}

int promote_one(ReplayOptions const& options, std::vector<LoadedTrace> const& all) {
  if (all.size() != 1) {
    throw InputError{options.paths.front() + ": --promote is for one trace"};
  }
  std::string const path = promote(options, all.front());
  std::vector<std::string> words = {invoked_name(), "replay", path};
  append_judging(words, options.mutant, true);
  if (options.json) {
    print(text_of(Json{{"promoted", path}, {"reproduce", command_of(words)}}));
  } else {
    print("promoted to " + path + "\n" + reproduce_with(command_of(words)));
  }
  return kExitHeld;
}

}  // namespace

int execute(ReplayOptions const& options) {
  catch_interrupts();
  std::vector<std::string> const paths = traces_of(options.paths);
  std::vector<LoadedTrace> all;
  TraceLoader loader;
  for (std::string const& path : paths) {
    if (was_interrupted()) {
      break;
    }
    all.push_back(loader.load(path));
  }
  turn_on_mutant(options.mutant);
  if (options.promote && !was_interrupted()) {
    return promote_one(options, all);
  }
  Totals totals{.asked = paths.size()};
  Replayer replayer{options};
  Progress progress;
  for (LoadedTrace const& loaded : all) {
    if (was_interrupted()) {
      break;
    }
    explain_crashes(command_for("replay", options, loaded.path));
    bool const is_named =
        std::find(options.paths.begin(), options.paths.end(), loaded.path) != options.paths.end();
    if (loaded.encoded && is_named && !options.json) {
      print(model::print_trace(loaded.trace) + "\n");  // nobody can read it otherwise
    }
    Replayed replayed = replayer.replay(loaded);
    progress.clear();
    if (!options.json) {
      print(line_of(replayed));
    }
    totals.add(std::move(replayed));
    std::size_t const done = totals.results.size();
    progress.show(fmt::format("{}: {} of {} traces ({:.0f}/s){}",
                              duration_text(progress.seconds()),
                              done,
                              all.size(),
                              rate_of(done, progress.seconds()),
                              time_left(progress.seconds(), done, all.size())));
  }
  progress.clear();
  report(options, totals);
  return exit_code(totals.failed != 0);
}

}  // namespace holdfast::tools
