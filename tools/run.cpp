// SPDX-License-Identifier: Apache-2.0
// holdfast run: random programs, with every invariant checked.
#include "fuzz/run.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "fuzz/generator.hpp"
#include "fuzz/points.hpp"
#include "tools/commands.hpp"
#include "tools/coverage_file.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

/// A run with what its reports need.
struct Ran {
  RunOptions const& options;
  std::vector<std::string> names;  // of geometries
  fuzz::RunResult result;
  std::string reproduce;             // empty when clean
  std::optional<std::string> saved;  // where the trace was written
  [[nodiscard]] std::uint64_t violations() const {
    return result.failed ? result.failed->failure.violations.size() : 0;
  }
};

model::SystemInfo const& system_of(RunOptions const& options) {
  return options.system ? model::system_named(*options.system) : model::library_system();
}

double percent_succeeded(fuzz::Counts const& counts) {
  constexpr double kPercent = 100;
  return counts.operations == 0 ? 0
                                : kPercent * static_cast<double>(counts.succeeded) /
                                      static_cast<double>(counts.operations);
}

char const* name_of(fuzz::Flavor flavor) {
  return fuzz::all_flavors()[static_cast<std::size_t>(flavor)].name;
}

/// The run again; `limit` are the words that end it.
std::string run_command(RunOptions const& options, std::vector<std::string> const& limit) {
  std::vector<std::string> words = {invoked_name(), "run"};
  for (std::string const& name : options.geometries) {
    words.insert(words.end(), {"--geometry", name});
  }
  words.insert(words.end(), {"--seed", std::to_string(options.seed)});
  if (options.flavor) {
    words.insert(words.end(), {"--flavor", *options.flavor});
  }
  words.insert(words.end(), limit.begin(), limit.end());
  if (options.system) {
    words.insert(words.end(), {"--system", *options.system});
  }
  if (options.device != "host") {
    words.insert(words.end(), {"--device", options.device});
  }
  if (options.device == "cuda") {
    words.insert(words.end(), {"--threads", "1"});
  }
  if (options.faults) {
    words.emplace_back("--faults");
  }
  append_judging(words, options.mutant, options.compare);
  return command_of(words);
}

std::string reproduce_command(Ran const& done) {
  if (done.saved) {
    std::vector<std::string> words = {invoked_name(), "replay", *done.saved};
    append_judging(words, done.options.mutant, done.options.compare);
    return command_of(words);
  }
  std::uint64_t const operations =
      fuzz::operations_through(done.options.seed, done.result.failed->index);
  return run_command(done.options, {"--ops", std::to_string(operations)});
}

std::string minimize_command(RunOptions const& options) {
  std::vector<std::string> words = {invoked_name(), "minimize", *options.save};
  append_judging(words, options.mutant, options.compare);
  return command_of(words);
}

void save(Ran& done) {
  model::Trace trace = done.result.failed->trace;
  trace.comments.push_back(fmt::format(" violates {}; mutant: {}",
                                       ids_of(done.result.failed->failure.violations),
                                       done.options.mutant.value_or("none")));
  write_file(*done.options.save, model::print_trace(trace));
  done.saved = *done.options.save;
}

std::string progress_line(RunOptions const& options, fuzz::Counts const& counts, double seconds) {
  double const rate = rate_of(counts.operations, seconds);
  double left = options.seconds - seconds;
  if (options.operations != 0) {
    std::uint64_t const to_do =
        options.operations > counts.operations ? options.operations - counts.operations : 0;
    left = rate > 0 ? static_cast<double>(to_do) / rate : 0;
  }
  return fmt::format("{}: {} operations ({:.0f}/s), {} rows, 0 violations; {} left",
                     duration_text(seconds),
                     counts.operations,
                     rate,
                     counts.rows,
                     duration_text(left));
}

std::vector<std::string> never_met() {
  std::vector<std::string> names;
  for (fuzz::PointInfo const* point : fuzz::points_never_met()) {
    names.emplace_back(point->name);
  }
  return names;
}

std::string summary(Ran const& done) {
  fuzz::Counts const& counts = done.result.counts;
  double const seconds = done.result.seconds;
  std::string text;
  if (was_interrupted()) {
    text += in_colour(Colour::kNotice, fmt::format("interrupted after {:.1f} s", seconds)) + "\n";
  }
  text += fmt::format("programs    {}\n", counts.programs);
  text += fmt::format("operations  {} ({:.0f} operations/s)\n",
                      counts.operations,
                      rate_of(counts.operations, seconds));
  text += fmt::format("succeeded   {:.2f} % of the operations\n", percent_succeeded(counts));
  text +=
      fmt::format("rows        {} ({:.0f} rows/s)\n", counts.rows, rate_of(counts.rows, seconds));
  text += fmt::format("checks      {}\n", counts.checks());
  std::size_t index = 0;
  for (invariant::Invariant const* const known : invariant::all_invariants()) {
    std::uint64_t const evaluations = counts.by_invariant[index++];
    text += system_of(done.options).offers.has_all_of(known->needs)
                ? fmt::format("  {:<9} {}\n", known->id, evaluations)
                : fmt::format("  {:<9} not judged: needs {}\n", known->id, text_of(known->needs));
  }
  text += in_colour(done.result.failed ? Colour::kBad : Colour::kGood,
                    counted(done.violations(), "violation")) +
          "\n";
  if (done.options.sometimes) {
    std::vector<std::string> const never = never_met();
    text += fmt::format("sometimes   {} of {} points met{}{}\n",
                        fuzz::all_points().size() - never.size(),
                        fuzz::all_points().size(),
                        never.empty() ? "" : "; never: ",
                        fmt::join(never, ", "));
  }
  text += fmt::format("seed        {}\n", done.options.seed);
  text += fmt::format("flavor      {}\n", done.options.flavor.value_or("all, in turns"));
  text += fmt::format("system      {}\n", system_of(done.options).name);
  text += fmt::format("digest      {}\n", digest_text(done.result.digest));
  text += fmt::format("geometries  {}\n", fmt::join(done.names, ", "));
  text +=
      fmt::format("time        {:.2f} s, {}\n", seconds, counted(done.options.threads, "thread"));
  return text;
}

std::string failure_text(Ran const& done) {
  fuzz::FailedProgram const& failed = *done.result.failed;
  std::string text = fmt::format("\nprogram {} (seed {}, {}) of geometry {}\n",
                                 failed.index,
                                 failed.seed,
                                 name_of(failed.flavor),
                                 failed.geometry);
  if (failed.failure.violations.empty()) {
    text += "the program failed once, and held when it was run again\n";
  } else {
    text += fuzz::describe_failure(failed.failure, failed.trace.ops);
  }
  if (done.options.device == "cuda" && done.options.threads > 1) {
    text +=
        "threads share the context of a CUDA device: when it was lost, another program may have "
        "done "
        "it, and --threads 1 says which\n";
  }
  if (done.saved) {
    text += "saved as " + *done.saved + "\n" + minimize_with(minimize_command(done.options));
  } else {
    text += "to make it small, add --save FILE, then: " + invoked_name() + " minimize FILE\n";
  }
  return text + reproduce_with(done.reproduce);
}

Json failure_json(Ran const& done) {
  fuzz::FailedProgram const& failed = *done.result.failed;
  return {{"program", failed.index},
          {"program_seed", failed.seed},
          {"flavor", name_of(failed.flavor)},
          {"geometry", failed.geometry},
          {"operation", failed.failure.op_index},
          {"violations", json_of(failed.failure.violations)},
          {"reproduce", done.reproduce},
          {"saved", done.saved ? Json(*done.saved) : Json()}};
}

Json summary_json(Ran const& done) {
  fuzz::Counts const& counts = done.result.counts;
  double const seconds = done.result.seconds;
  Json invariants = Json::object();
  Json not_judged = Json::object();
  std::size_t index = 0;
  for (invariant::Invariant const* const known : invariant::all_invariants()) {
    invariants[known->id] = counts.by_invariant[index++];
    if (!system_of(done.options).offers.has_all_of(known->needs)) {
      not_judged[known->id] = text_of(known->needs);
    }
  }
  Json json = {{"programs", counts.programs},
               {"operations", counts.operations},
               {"succeeded", counts.succeeded},
               {"rows", counts.rows},
               {"operations_per_second", rate_of(counts.operations, seconds)},
               {"rows_per_second", rate_of(counts.rows, seconds)},
               {"checks", counts.checks()},
               {"violations", done.violations()},
               {"seed", done.options.seed},
               {"flavor", done.options.flavor ? Json(*done.options.flavor) : Json()},
               {"digest", digest_text(done.result.digest)},
               {"system", system_of(done.options).name},
               {"invariants", invariants},
               {"not_judged", not_judged},
               {"seconds", seconds},
               {"threads", done.options.threads},
               {"geometries", done.names},
               {"mutant", done.options.mutant ? Json(*done.options.mutant) : Json()},
               {"interrupted", was_interrupted()}};
  if (done.options.sometimes) {
    json["sometimes"] = {{"points", fuzz::all_points().size()}, {"never", never_met()}};
  }
  if (done.result.failed) {
    json["failure"] = failure_json(done);
  }
  return json;
}

fuzz::RunResult run_programs(RunOptions const& options,
                             std::vector<model::Geometry> geometries,
                             model::Coverage& coverage) {
  Progress progress;
  fuzz::RunResult result =
      fuzz::run_many({.geometries = std::move(geometries),
                      .seed = options.seed,
                      .flavor = options.flavor ? fuzz::flavor_named(*options.flavor) : std::nullopt,
                      .operations = options.operations,
                      .seconds = options.seconds,
                      .threads = options.threads,
                      .system = model::device_from(options.system.value_or("host")).system,
                      .simulated = options.device == "sim",
                      .cuda = options.device == "cuda",
                      .check_order = options.check_order,
                      .faults = options.faults,
                      .compare = options.compare,
                      .on_progress =
                          [&](fuzz::Counts const& counts, double seconds) {
                            progress.show(progress_line(options, counts, seconds));
                          },
                      .flights = options.device == "cuda" && options.save ? *options.save : "",
                      .coverage = options.coverage ? &coverage : nullptr,
                      .should_stop = was_interrupted});
  return result;
}

void report(Ran const& done) {
  if (done.options.json) {
    print(text_of(summary_json(done)));
  } else {
    print(summary(done) + (done.result.failed ? failure_text(done) : ""));
  }
}

/// A run that did nothing has not held.
void check_did_something(Ran const& done) {
  if (done.result.counts.operations == 0 && !was_interrupted()) {
    throw model::InputError(fmt::format(
        "run: no operation was done in {:.1f} s, so that nothing was checked; give more "
        "--seconds, or a smaller geometry",
        done.result.seconds));
  }
}

}  // namespace

int execute(RunOptions const& options) {
  std::vector<model::Geometry> geometries = load_geometries(options.geometries);
  if (options.save) {
    check_writable(*options.save);
    check_spares(*options.save, options.geometries);
    if (options.coverage) {
      check_spares(*options.save, {*options.coverage});
    }
  }
  if (options.coverage) {
    check_writable(*options.coverage);
    check_spares(*options.coverage, options.geometries);
    if (std::filesystem::is_regular_file(*options.coverage)) {
      static_cast<void>(load_coverage(*options.coverage));
    }
  }
  turn_on_mutant(options.mutant);
  catch_interrupts();
  explain_crashes(
      run_command(options,
                  options.operations == 0
                      ? std::vector{std::string{"--seconds"}, fmt::format("{}", options.seconds)}
                      : std::vector{std::string{"--ops"}, std::to_string(options.operations)}));
  Ran done{.options = options};
  for (model::Geometry const& geometry : geometries) {
    done.names.push_back(geometry.name);
  }
  model::Coverage coverage;
  done.result = run_programs(options, std::move(geometries), coverage);
  // After the report: nothing of it is lost when the file cannot be written.
  auto const keep_coverage = [&] {
    if (options.coverage) {
      add_to_coverage_file(*options.coverage, std::move(coverage));
    }
  };
  if (!done.result.failed) {
    check_did_something(done);
    report(done);
    keep_coverage();
    return exit_code(false);
  }
  std::optional<EnvironmentError> not_saved;
  if (options.save) {
    try {
      save(done);
    } catch (EnvironmentError const& error) {
      not_saved = error;
    }
  }
  done.reproduce = reproduce_command(done);
  report(done);
  keep_coverage();
  if (not_saved) {
    throw EnvironmentError{*not_saved};
  }
  return kExitViolation;
}

}  // namespace holdfast::tools
