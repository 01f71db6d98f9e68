// SPDX-License-Identifier: Apache-2.0
// The command lines of what tells and judges nothing: coverage, list, doctor and manual.
#include "models/input_error.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

constexpr std::uint64_t kMostExhaustive = 6;

void define_coverage(CLI::App& command, Words& words) {
  command.add_option("FILE", words.paths, "What run --coverage wrote; they are added up")
      ->type_name("");
  command
      .add_option("--replay", words.replay, "Run traces and fuzzer inputs too, or folders of them")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command
      .add_option("--exhaustive",
                  words.exhaustive,
                  "Run every program of at most so many operations from each start state too")
      ->type_name("N");
  command.add_option("--against", words.against, "Say what of this coverage is missing")
      ->type_name("FILE");
  command.add_option("-o,--output", words.output, "Write what is known in the end")
      ->type_name("FILE");
  command
      .add_option("--seeds",
                  words.seeds,
                  "Write programs there that take an operation where it was never taken")
      ->type_name("FOLDER");
  add_seed(command, words, std::to_string(kDefaultSeed));
}

Options read_coverage(CLI::App const& command, Words const& words) {
  CoverageOptions options{.files = words.paths,
                          .replay = words.replay,
                          .against = text_if_given(command, "--against", words.against),
                          .output = text_if_given(command, "--output", words.output),
                          .seeds = text_if_given(command, "--seeds", words.seeds),
                          .seed = seed_of(command, words),
                          .json = words.json};
  if (was_given(command, "--exhaustive")) {
    options.exhaustive =
        static_cast<std::uint32_t>(read_count("--exhaustive", words.exhaustive, kMostExhaustive));
  }
  if (options.files.empty() && options.replay.empty() && options.exhaustive == 0) {
    throw InputError{"coverage needs a file that run --coverage wrote, --replay or --exhaustive"};
  }
  return options;
}

void define_list(CLI::App& command, Words& words) {
  add_target(command, words);
  command
      .add_option(
          "TOPIC",
          words.topic,
          "geometries, operations, flavors, invariants, mutants, order or sometimes. Default: all")
      ->type_name("");
  command.add_flag(
      "--markdown", words.markdown, "Of invariants: docs/INVARIANTS.md; of order: docs/ORDER.md");
}

Options read_list(CLI::App const& /*command*/, Words const& words) {
  if (!words.topic.empty()) {
    check_known("list", "topic", words.topic, known_values("list", "TOPIC"));
  }
  if (words.markdown && ((words.topic != "invariants" && words.topic != "order") || words.json)) {
    throw InputError{
        "list: --markdown is for the topics invariants and order alone, and is no JSON"};
  }
  return ListOptions{.topic = words.topic, .json = words.json, .markdown = words.markdown};
}

void define_nothing(CLI::App& /*command*/, Words& /*words*/) {}

Options read_doctor(CLI::App const& /*command*/, Words const& words) {
  return DoctorOptions{words.json};
}

void define_manual(CLI::App& command, Words& words) {
  command
      .add_option("TOPIC", words.topic, "page, for man(1), or completion, for bash. Default: page")
      ->type_name("");
}

Options read_manual(CLI::App const& /*command*/, Words const& words) {
  if (!words.topic.empty()) {
    check_known("manual", "topic", words.topic, known_values("manual", "TOPIC"));
  }
  if (words.json && !words.topic.empty()) {
    throw InputError{"manual: --json has every command and option; it goes without '" +
                     words.topic + "'"};
  }
  return ManualOptions{.topic = words.topic, .json = words.json};
}

}  // namespace

std::vector<Command> study_commands() {
  return {
      {"coverage",
       "Which operations were taken in which states, and what is next",
       {{"holdfast run --ops 20000 --coverage seen.json", "what is added up"},
        {"holdfast coverage seen.json", "and what was never taken"},
        {"holdfast coverage --exhaustive 2 --against seen.json", "what short programs miss"}},
       define_coverage,
       read_coverage},
      {"list",
       "Geometries, operations, flavors, invariants, mutants and points",
       {{"holdfast list", "all of them"},
        {"holdfast list mutants --json", "one topic, for a script"}},
       define_list,
       read_list},
      {"doctor",
       "What is here, and what is left out without it",
       {{"holdfast doctor", "what this machine lacks"}, {"holdfast doctor --json", "for a script"}},
       define_nothing,
       read_doctor},
      {"manual",
       "The page of man(1), the completion of bash, and both as data",
       {{"holdfast manual > holdfast.1", "then: man ./holdfast.1"},
        {"holdfast manual completion > holdfast.bash", "then: . ./holdfast.bash"},
        {"holdfast manual --json", "every command and option"}},
       define_manual,
       read_manual}};
}

}  // namespace holdfast::tools
