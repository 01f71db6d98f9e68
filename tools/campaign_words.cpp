// SPDX-License-Identifier: Apache-2.0
// The command lines of fuzz and gate, and of the jobs that fuzz starts.
#include <algorithm>
#include <thread>

#include "models/input_error.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

std::vector<std::string> split_targets(std::string const& text) {
  std::vector<std::string> const names = split_list(text);
  for (std::string const& name : names) {
    check_known("--targets", "target", name, known_values("fuzz", "--targets"));
  }
  return names;
}

constexpr char const* kCommit = "the commit that is checked out";

void define_fuzz(CLI::App& command, Words& words) {
  add_target(command, words);
  add_programs(command, words);
  command.add_option("--for", words.budget, "How long in all, as 60s, 30m or 8h. Default: 60s")
      ->type_name("TIME");
  command.add_option("--workers", words.workers, "Processes. Default: one for each core")
      ->type_name("N");
  command
      .add_option("--targets",
                  words.targets,
                  "swarm, fuzz_interleave, fuzz_async, fuzz_trace_text, fuzz_entry_bytes. Default: "
                  "those that are built")
      ->type_name("A,B");
  command.add_option("--dir", words.folder, "The campaign's folder. Default: campaign")
      ->type_name("FOLDER");
  command.add_flag("--resume", words.resume, "Go on with the campaign of the folder");
  add_seed(command, words, kCommit);
  command.add_option("--timeout", words.time_out, "Most time of one program. Default: 25s")
      ->type_name("TIME");
  command
      .add_option(
          "--sanitized",
          words.sanitized,
          "A build with sanitizers that runs new units again. Default: ../../asan/bin/holdfast "
          "beside this program, if there")
      ->type_name("PROGRAM");
  command
      .add_option(
          "--seeds", words.seeds, "A folder of inputs to begin with, in a folder for each target")
      ->type_name("FOLDER");
  command.add_option("--exchange", words.exchange, "A folder through which campaigns share units")
      ->type_name("FOLDER");
  command
      .add_option(
          "--merge-every", words.merge_every, "Time between merges of corpora. Default: 24h")
      ->type_name("TIME");
  command
      .add_option("--collect", words.collect, "Merge this finished campaign into --dir. Repeatable")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  add_mutant(command, words);
  command.add_flag("--mute-canary", words.mute_canary)->group("");  // for its own test
}

void define_gate(CLI::App& command, Words& words) {
  add_target(command, words);
  command
      .add_option("--budget",
                  words.budget,
                  "Time to fill with random programs once the other parts are through, which are "
                  "never cut short, as 90s, 5m or 1h. Default: 5m")
      ->type_name("TIME");
  add_seed(command, words, kCommit);
  command.add_option("--corpus", words.corpus, "The traces that must hold. Default: corpus")
      ->type_name("FOLDER");
  command.add_option("--only", words.only, "This part only. Repeatable")
      ->type_name("PART")
      ->allow_extra_args(false);
  command.add_option("--junit", words.junit, "Write the cases there, as JUnit XML")
      ->type_name("FILE");
  add_mutant(command, words);
  command.add_flag("--mute-canary", words.mute_canary)->group("");  // for its own test
}

Options read_fuzz(CLI::App const& command, Words const& words) {
  FuzzOptions options{.workers = std::max(1U, std::thread::hardware_concurrency()),
                      .collect = words.collect,
                      .mutant = text_if_given(command, "--mutant", words.mutant),
                      .sanitized = text_if_given(command, "--sanitized", words.sanitized),
                      .seeds = text_if_given(command, "--seeds", words.seeds),
                      .exchange = text_if_given(command, "--exchange", words.exchange),
                      .resume = words.resume,
                      .mute_canary = words.mute_canary,
                      .json = words.json};
  for (char const* const word : {"--for",
                                 "--workers",
                                 "--targets",
                                 "--resume",
                                 "--seed",
                                 "--timeout",
                                 "--sanitized",
                                 "--seeds",
                                 "--exchange",
                                 "--merge-every",
                                 "--mutant"}) {
    if (!options.collect.empty() && was_given(command, word)) {
      throw model::InputError{std::string{word} + ": --collect merges what ran, and runs nothing"};
    }
  }
  if (was_given(command, "--dir")) {
    options.folder = words.folder;
  }
  if (was_given(command, "--for")) {
    options.seconds = read_duration("--for", words.budget);
  }
  if (was_given(command, "--workers")) {
    options.workers =
        static_cast<std::uint32_t>(read_count("--workers", words.workers, kMostThreads));
  }
  if (was_given(command, "--targets")) {
    options.targets = split_targets(words.targets);
  }
  if (was_given(command, "--seed")) {
    options.seed = read_seed(words.seed);
  }
  if (was_given(command, "--timeout")) {
    options.time_out = read_duration("--timeout", words.time_out);
  }
  if (was_given(command, "--merge-every")) {
    options.merge_every = read_duration("--merge-every", words.merge_every);
  }
  check_mutant("--mutant", options.mutant);
  return options;
}

Options read_gate(CLI::App const& command, Words const& words) {
  GateOptions options{.only = words.only,
                      .junit = text_if_given(command, "--junit", words.junit),
                      .mutant = text_if_given(command, "--mutant", words.mutant),
                      .mute_canary = words.mute_canary,
                      .json = words.json};
  if (was_given(command, "--budget")) {
    options.budget = read_duration("--budget", words.budget);
  }
  if (was_given(command, "--seed")) {
    options.seed = read_seed(words.seed);
  }
  if (was_given(command, "--corpus")) {
    options.corpus = words.corpus;
  }
  for (std::string const& part : options.only) {
    check_known("--only", "part", part, known_values("gate", "--only"));
  }
  check_mutant("--mutant", options.mutant);
  return options;
}

void define_fuzz_worker(CLI::App& command, Words& words) {
  command.add_option("JOB", words.paths);
}

Options read_fuzz_worker(CLI::App const& /*command*/, Words const& words) {
  if (words.paths.size() != 1) {
    throw model::InputError{"fuzz-worker needs a job"};
  }
  return FuzzWorkerOptions{words.paths.front()};
}

}  // namespace

std::vector<Command> campaign_commands() {
  return {{"fuzz",
           "A campaign over the fuzz targets",
           {{"holdfast fuzz --for 8h --dir night", "night/report.html tells what was found"},
            {"holdfast fuzz --for 8h --dir night --resume", "goes on where it was stopped"},
            {"holdfast fuzz --collect night --dir all --json", "finished campaigns as one"}},
           define_fuzz,
           read_fuzz},
          {"gate",
           "Whether a change may be merged",
           {{"holdfast gate --budget 5m", "at the root of the repository"},
            {"holdfast gate --only corpus --junit gate.xml", "one part, for a CI that shows it"}},
           define_gate,
           read_gate},
          {"fuzz-worker", "One job of a campaign", {}, define_fuzz_worker, read_fuzz_worker}};
}

}  // namespace holdfast::tools
