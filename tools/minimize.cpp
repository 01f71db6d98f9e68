// SPDX-License-Identifier: Apache-2.0
// holdfast minimize: the smallest trace with the same violation.
#include "fuzz/minimize.hpp"

#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

/// A finished search with what its reports need.
struct Done {
  MinimizeOptions const& options;
  std::size_t before = 0;  // operations
  fuzz::Minimized result;
  double seconds = 0;
  std::string trace;  // text
};

fuzz::Minimized run_search(MinimizeOptions const& options, LoadedTrace const& loaded) {
  Progress progress;
  return fuzz::minimize({.geometry = *loaded.geometry,
                         .ops = loaded.trace.ops,
                         .device = model::device_from(loaded.trace.device),
                         .compare = options.compare,
                         .on_progress =
                             [&](std::uint64_t candidates, std::size_t operations) {
                               progress.show(fmt::format("{}: {} ({:.0f}/s), {} left",
                                                         duration_text(progress.seconds()),
                                                         counted(candidates, "candidate"),
                                                         rate_of(candidates, progress.seconds()),
                                                         counted(operations, "operation")));
                             },
                         .should_stop = was_interrupted});
}

/// "operation 4, append", "the end of the program".
std::string place_of(fuzz::Minimized const& result) {
  if (result.at_end) {
    return "the end of the program";
  }
  return fmt::format("operation {}, {}", result.ops.size() - 1, model::name_of(result.ops.back()));
}

std::string verb_of(fuzz::Minimized const& result) {
  return result.died ? "dies of" : "violates";
}

std::string trace_of(MinimizeOptions const& options,
                     std::string const& device,
                     fuzz::Minimized const& result) {
  return model::print_trace({.comments = {fmt::format(" {} {}; mutant: {}",
                                                      verb_of(result),
                                                      fmt::join(result.ids, ", "),
                                                      options.mutant.value_or("none"))},
                             .geometry = model::geometry_reference(result.geometry),
                             .device = device,
                             .ops = result.ops});
}

std::string reproduce_command(MinimizeOptions const& options) {
  std::vector<std::string> words = {invoked_name(), "replay", *options.output};
  append_judging(words, options.mutant, options.compare);
  return command_of(words);
}

Json minimized_json(Done const& done) {
  fuzz::Minimized const& result = done.result;
  return {{"file", done.options.path},
          {"operations_before", done.before},
          {"operations", result.ops.size()},
          {"violates", result.ids},
          {"died", result.died},
          {"at_end", result.at_end},
          {"operation", model::name_of(result.ops.back())},
          {"geometry", model::label(result.geometry)},
          {"candidates", result.candidates},
          {"seconds", done.seconds},
          {"interrupted", was_interrupted()},
          {"mutant", done.options.mutant ? Json(*done.options.mutant) : Json()},
          {"saved", done.options.output ? Json(*done.options.output) : Json()},
          {"reproduce", done.options.output ? Json(reproduce_command(done.options)) : Json()},
          {"trace", done.trace}};
}

std::string summary(Done const& done) {
  fuzz::Minimized const& result = done.result;
  return fmt::format("{}{} -> {}, geometry {}, in {:.2f} s ({})\n{} {} at {}\nsaved as {}\n",
                     was_interrupted() ? "interrupted: " : "",
                     counted(done.before, "operation"),
                     result.ops.size(),
                     model::label(result.geometry),
                     done.seconds,
                     counted(result.candidates, "candidate"),
                     verb_of(result),
                     fmt::join(result.ids, ", "),
                     place_of(result),
                     *done.options.output) +
         reproduce_with(reproduce_command(done.options));
}

}  // namespace

int execute(MinimizeOptions const& options) {
  catch_interrupts();
  LoadedTrace loaded = load_runnable(options.path);
  loaded.trace.device = options.device.value_or(loaded.trace.device);
  if (options.output) {
    check_writable(*options.output);
  }
  turn_on_mutant(options.mutant);
  Progress const clock;
  Done done{.options = options, .before = loaded.trace.ops.size()};
  done.result = run_search(options, loaded);
  done.seconds = clock.seconds();
  if (!done.result.failed) {
    throw model::InputError{
        options.path + ": all holds" +
        (options.mutant ? ", with the mutant " + *options.mutant + " too" : "") +
        "; there is no violation to keep"};
  }
  if (done.result.ops.empty()) {
    throw model::InputError{options.path + ": fails before its first operation: " +
                            fmt::format("{}", fmt::join(done.result.ids, ", "))};
  }
  done.trace = trace_of(options, loaded.trace.device, done.result);
  if (options.output) {
    try {
      write_file(*options.output, done.trace);
    } catch (EnvironmentError const&) {
      print(done.trace);  // what was searched for is not lost
      throw;
    }
  }
  print(options.json ? text_of(minimized_json(done)) : options.output ? summary(done) : done.trace);
  return exit_code(false);
}

}  // namespace holdfast::tools
