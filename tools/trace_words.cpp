// SPDX-License-Identifier: Apache-2.0
// The command lines of replay, minimize and explain.
#include "models/input_error.hpp"
#include "tools/command.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

void add_device(CLI::App& command, Words& words) {
  command
      .add_option("--device",
                  words.device,
                  "The device to run on: host, or cuda. Default: the one that each trace names")
      ->type_name("NAME");
}

/// A device, or a system, which has none.
std::optional<std::string> device_of(CLI::App const& command, Words const& words) {
  if (std::optional<std::string> const system = system_of(command, words); system) {
    if (was_given(command, "--device")) {
      throw InputError{"--system and --device exclude each other"};
    }
    return system;
  }
  if (was_given(command, "--device")) {
    check_device(words.device, command.get_name());
  }
  return text_if_given(command, "--device", words.device);
}

void define_replay(CLI::App& command, Words& words) {
  add_target(command, words);
  command
      .add_option("FILE",
                  words.paths,
                  "Traces, inputs of fuzz_interleave and fuzz_async, and folders of them")
      ->type_name("");
  add_device(command, words);
  add_system(command, words);
  command.add_flag("--why", words.why, "Of accesses that nothing orders: which order is missing");
  add_mutant(command, words);
  add_no_compare(command, words);
  command
      .add_option(
          "--promote", words.promote, "Make a failing trace a regression trace of the corpus")
      ->type_name("NAME");
  command
      .add_option("--row",
                  words.row,
                  "With --promote: the public report that it shows, as 'A10 (project #1): what "
                  "broke there'. Default: it is our own")
      ->type_name("TEXT");
  command.add_option("--corpus", words.corpus, "With --promote: the corpus. Default: corpus")
      ->type_name("FOLDER");
}

Options read_replay(CLI::App const& command, Words const& words) {
  ReplayOptions options{.paths = words.paths,
                        .mutant = text_if_given(command, "--mutant", words.mutant),
                        .promote = text_if_given(command, "--promote", words.promote),
                        .row = text_if_given(command, "--row", words.row),
                        .corpus = text_if_given(command, "--corpus", words.corpus),
                        .why = words.why,
                        .compare = !words.no_compare,
                        .json = words.json};
  if (options.paths.empty()) {
    throw InputError{"replay needs a trace file or a folder of them"};
  }
  options.device = device_of(command, words);
  if (options.promote && options.paths.size() != 1) {
    throw InputError{"--promote is for one trace"};
  }
  if (!options.promote && (options.row || options.corpus)) {
    throw InputError{"--row and --corpus go with --promote"};
  }
  check_mutant("--mutant", options.mutant);
  return options;
}

void define_minimize(CLI::App& command, Words& words) {
  add_target(command, words);
  command.add_option("FILE", words.paths, "A trace or fuzzer input that fails")->type_name("");
  command.add_option("-o,--output", words.output, "Write it there. Default: standard output")
      ->type_name("FILE");
  add_device(command, words);
  add_system(command, words);
  add_mutant(command, words);
  add_no_compare(command, words);
}

Options read_minimize(CLI::App const& command, Words const& words) {
  if (words.paths.size() != 1) {
    throw InputError{"minimize needs one trace file"};
  }
  MinimizeOptions options{.path = words.paths.front(),
                          .device = device_of(command, words),
                          .output = text_if_given(command, "--output", words.output),
                          .mutant = text_if_given(command, "--mutant", words.mutant),
                          .compare = !words.no_compare,
                          .json = words.json};
  check_mutant("--mutant", options.mutant);
  return options;
}

void define_explain(CLI::App& command, Words& words) {
  add_target(command, words);
  command.add_option("FILE", words.paths, "A trace or fuzzer input")->type_name("");
  command
      .add_option("-o,--output",
                  words.output,
                  "Write the page there. Default: the name of FILE with .html, in this folder")
      ->type_name("FILE.html");
  command.add_flag("--text", words.text, "Columns for a terminal instead of a page");
  add_system(command, words);
  add_mutant(command, words);
  add_no_compare(command, words);
}

Options read_explain(CLI::App const& command, Words const& words) {
  if (words.paths.size() != 1) {
    throw InputError{"explain needs one trace file"};
  }
  ExplainOptions options{.path = words.paths.front(),
                         .system = system_of(command, words),
                         .output = text_if_given(command, "--output", words.output),
                         .mutant = text_if_given(command, "--mutant", words.mutant),
                         .text = words.text,
                         .compare = !words.no_compare,
                         .json = words.json};
  check_mutant("--mutant", options.mutant);
  if (options.text && (options.json || options.output)) {
    throw InputError{"explain: --text writes no page; it goes without --json and --output"};
  }
  return options;
}

}  // namespace

std::vector<Command> trace_commands() {
  return {{"replay",
           "Run traces and fuzzer inputs again, and say what happened at a violation",
           {{"holdfast replay found.trace --mutant rollback_leaves_latent_length",
             "fails, and says whose row"},
            {"holdfast replay found.trace", "the library as it is: holds"},
            {"holdfast replay corpus/ --json", "every trace below a folder"}},
           define_replay,
           read_replay},
          {"minimize",
           "The smallest trace with the same violation as a failing one",
           {{"holdfast minimize found.trace --mutant rollback_leaves_latent_length -o small.trace",
             "the few operations"},
            {"holdfast minimize small.trace --mutant rollback_leaves_latent_length",
             "on standard output"}},
           define_minimize,
           read_minimize},
          {"explain",
           "A page that shows what every plane held, and where it went wrong",
           {{"holdfast explain small.trace --mutant rollback_leaves_latent_length",
             "writes small.html"},
            {"holdfast explain small.trace --mutant rollback_leaves_latent_length --text",
             "for a terminal"}},
           define_explain,
           read_explain}};
}

}  // namespace holdfast::tools
