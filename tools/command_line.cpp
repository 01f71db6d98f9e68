// SPDX-License-Identifier: Apache-2.0
// CLI11 splits the words; their meaning is checked here, so that every complaint is one line in the
// same voice.
#include "tools/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/swarm.hpp"
#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"
#include "tools/campaign_words.hpp"
#include "tools/process.hpp"
#include "tools/values.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

constexpr std::uint64_t kMostOperations = 1'000'000'000'000;
constexpr std::uint64_t kMostRepeats = 1000;
constexpr std::uint64_t kMostExhaustive = 6;

/// The words of all commands as they stand on the command line.
struct Words {
  std::vector<std::string> geometries;
  std::vector<std::string> only;
  std::vector<std::string> paths;
  std::string topic;
  std::string seed;
  std::string seconds;
  std::string operations;
  std::string threads;
  std::string device;
  bool no_order_check = false;
  std::string mutant;
  std::string save;
  std::string promote;
  std::string row;
  std::string corpus;
  std::string output;
  std::string coverage;
  bool sometimes = false;
  std::vector<std::string> replay;
  std::string against;
  std::string exhaustive;
  std::string seeds;
  std::string flavor;
  std::string search;
  std::string repeat;
  bool no_compare = false;
  bool faults = false;
  bool why = false;
  bool json = false;
  bool markdown = false;
  bool text = false;
  CampaignWords campaign;
};

struct Commands {
  CLI::App* run = nullptr;
  CLI::App* replay = nullptr;
  CLI::App* minimize = nullptr;
  CLI::App* explain = nullptr;
  CLI::App* fuzz = nullptr;
  CLI::App* fuzz_worker = nullptr;
  CLI::App* gate = nullptr;
  CLI::App* coverage = nullptr;
  CLI::App* doctor = nullptr;
  CLI::App* list = nullptr;
  CLI::App* mutants = nullptr;
};

CLI::App* add_command(CLI::App& app, char const* name, char const* text, Words& words) {
  CLI::App* const command = app.add_subcommand(name, text);
  command->allow_extras();
  command->add_flag("--json", words.json, "One JSON object on standard output");
  return command;
}

void add_geometry(CLI::App& command, Words& words) {
  command
      .add_option(
          "--geometry",
          words.geometries,
          "A built-in geometry (see: holdfast list geometries), or a file: a path that ends "
          "in .json or has a '/'. Repeatable; default: the small ones")
      ->type_name("NAME|FILE.json")
      ->allow_extra_args(false);
}

void add_seed(CLI::App& command, Words& words) {
  command
      .add_option("--seed",
                  words.seed,
                  "Up to 20 decimal digits, a number; or else a git hash of 7 to 40 hexadecimal "
                  "digits, whose first 16 are the seed. Default: " +
                      std::to_string(kDefaultSeed))
      ->type_name("N|HASH");
}

void add_checking(CLI::App& command, Words& words) {
  command.add_flag("--no-compare",
                   words.no_compare,
                   "Do not compare the answers of library and model; the invariants alone judge");
}

void add_mutant(CLI::App& command, Words& words) {
  command
      .add_option(
          "--mutant", words.mutant, "Turn on a seeded bug of the library (see: list mutants)")
      ->type_name("NAME");
}

void define_run(CLI::App& command, Words& words) {
  add_geometry(command, words);
  add_seed(command, words);
  command.add_option("--seconds", words.seconds, "Run for so long. Default: 10")->type_name("S");
  command
      .add_option("--ops", words.operations, "Run the fewest programs that have so many operations")
      ->type_name("N");
  command
      .add_option("--threads",
                  words.threads,
                  "Worker threads; the outcome of --ops does not depend on them. Default: all of "
                  "the machine")
      ->type_name("T");
  command
      .add_option("--flavor",
                  words.flavor,
                  "Programs of one kind (see: list flavors). Default: all take turns")
      ->type_name("NAME");
  command
      .add_option("--device",
                  words.device,
                  "host; sim, which runs work later; or cuda, which must have the host's bytes at "
                  "all times")
      ->type_name("NAME");
  command.add_flag(
      "--no-order-check", words.no_order_check, "With sim: look for no unordered accesses");
  command.add_flag(
      "--faults", words.faults, "Device calls fail now and then, and are healed again");
  add_mutant(command, words);
  command.add_option("--save", words.save, "Write a failing program there, as a trace")
      ->type_name("FILE");
  command
      .add_option("--coverage",
                  words.coverage,
                  "Add what operations were taken in which states to a file (see: coverage)")
      ->type_name("FILE.json");
  command.add_flag("--sometimes",
                   words.sometimes,
                   "Say which points were never met (see: list sometimes); runs the build that has "
                   "them");
  add_checking(command, words);
}

void define_replay(CLI::App& command, Words& words) {
  command
      .add_option("--device",
                  words.device,
                  "The device to run on: host, or cuda. Default: the one that each trace names")
      ->type_name("NAME");
  command.add_flag("--why", words.why, "Of accesses that nothing orders: which order is missing");
  add_mutant(command, words);
  add_checking(command, words);
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
  add_seed(command, words);
}

Commands define(CLI::App& app, Words& words) {
  app.name("holdfast");
  app.allow_extras();
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 all held; 1 a violation, divergence or crash was found; 2 the input or the "
      "command line was wrong; 3 the environment failed.");
  Commands commands;
  commands.run =
      add_command(app, "run", "Random programs of operations, with every invariant checked", words);
  define_run(*commands.run, words);
  commands.replay =
      add_command(app,
                  "replay",
                  "Run traces and fuzzer inputs again, and say what happened at a violation",
                  words);
  commands.replay
      ->add_option("FILE",
                   words.paths,
                   "Traces, inputs of fuzz_interleave, and folders that are searched for both")
      ->type_name("");
  define_replay(*commands.replay, words);
  commands.minimize = add_command(
      app, "minimize", "The smallest trace with the same violation as a failing one", words);
  commands.minimize->add_option("FILE", words.paths, "A trace or fuzzer input that fails")
      ->type_name("");
  commands.minimize
      ->add_option("-o,--output", words.output, "Write it there. Default: standard output")
      ->type_name("FILE");
  add_mutant(*commands.minimize, words);
  add_checking(*commands.minimize, words);
  commands.explain = add_command(
      app, "explain", "A page that shows what every plane held, and where it went wrong", words);
  commands.explain->add_option("FILE", words.paths, "A trace or fuzzer input")->type_name("");
  commands.explain
      ->add_option("-o,--output",
                   words.output,
                   "Write the page there. Default: the name of FILE with .html, in this folder")
      ->type_name("FILE.html");
  commands.explain->add_flag("--text", words.text, "Columns for a terminal instead of a page");
  add_mutant(*commands.explain, words);
  add_checking(*commands.explain, words);
  commands.fuzz = add_command(app, "fuzz", "A campaign over the fuzz targets", words);
  define_fuzz(*commands.fuzz, words.campaign);
  commands.fuzz_worker = add_command(app, "fuzz-worker", "One job of a campaign", words);
  commands.fuzz_worker->group("");  // campaigns start it
  commands.fuzz_worker->add_option("JOB", words.paths);
  commands.gate = add_command(app, "gate", "Whether a change may be merged", words);
  define_gate(*commands.gate, words.campaign);
  commands.coverage = add_command(
      app, "coverage", "Which operations were taken in which states, and what is next", words);
  define_coverage(*commands.coverage, words);
  commands.doctor =
      add_command(app, "doctor", "What is here, and what is left out without it", words);
  commands.list = add_command(
      app, "list", "Geometries, operations, flavors, invariants, mutants and points", words);
  commands.list
      ->add_option(
          "TOPIC",
          words.topic,
          "geometries, operations, flavors, invariants, mutants or sometimes. Default: all")
      ->type_name("");
  commands.list->add_flag("--markdown", words.markdown, "Of invariants: docs/INVARIANTS.md");
  commands.mutants =
      add_command(app, "mutants", "Run every seeded bug until an invariant reports it", words);
  add_geometry(*commands.mutants, words);
  add_seed(*commands.mutants, words);
  commands.mutants
      ->add_option("--ops",
                   words.operations,
                   "Most operations of each mutant. Default: 2000000; for libfuzzer and "
                   "rapidcheck 500000")
      ->type_name("N");
  commands.mutants
      ->add_option("--search",
                   words.search,
                   "swarm, a flavor of programs, libfuzzer or rapidcheck. Default: swarm")
      ->type_name("NAME");
  commands.mutants
      ->add_option("--repeat", words.repeat, "Search for each so often, from this seed on")
      ->type_name("N");
  commands.mutants->add_flag(
      "--markdown", words.markdown, "docs/MUTANTS.md, with the figures of these searches");
  commands.mutants->add_option("--only", words.only, "This mutant only. Repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  commands.mutants
      ->add_option("--device",
                   words.device,
                   "sim: all mutants on simulated devices. Default: those that show nowhere else")
      ->type_name("NAME");
  add_checking(*commands.mutants, words);
  return commands;
}

std::vector<std::string> options_of(CLI::App const& app) {
  std::vector<std::string> names;
  for (CLI::Option const* option : app.get_options()) {
    for (std::string const& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

[[noreturn]] void refuse_extra(CLI::App const& app, std::string word, std::string const& where) {
  if (word.size() < 2 || word.front() != '-') {
    throw InputError{"unexpected '" + word + "'" + where};
  }
  word = word.substr(0, word.find('='));
  throw InputError{"unknown option '" + word + "'" + where +
                   model::did_you_mean(word, options_of(app))};
}

/// The command that was chosen; complains about words that nobody understood.
CLI::App const& chosen_command(CLI::App const& app) {
  std::vector<std::string> names;
  std::string known;
  for (CLI::App const* command : app.get_subcommands({})) {
    if (command->get_group().empty()) {
      continue;  // not for people
    }
    names.push_back(command->get_name());
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  if (auto const extras = app.remaining(); !extras.empty()) {
    std::string const& word = extras.front();
    if (word.empty() || word.front() != '-') {
      throw InputError{"unknown command '" + word + "'" + model::did_you_mean(word, names) +
                       "; known: " + known};
    }
    refuse_extra(app, word, " before the command");
  }
  if (app.get_subcommands().empty()) {
    throw InputError{"no command; known: " + known + " (see holdfast --help)"};
  }
  CLI::App const& command = *app.get_subcommands().front();
  if (auto const extras = command.remaining(); !extras.empty()) {
    refuse_extra(command, extras.front(), " after " + command.get_name());
  }
  return command;
}

std::vector<std::string> flavor_names() {
  std::vector<std::string> names;
  for (fuzz::FlavorInfo const& info : fuzz::all_flavors()) {
    names.emplace_back(info.name);
  }
  return names;
}

void check_flavor(std::string const& option,
                  std::string const& name,
                  std::vector<std::string> const& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return;
  }
  std::string all;
  for (std::string const& one : known) {
    all += (all.empty() ? "" : ", ") + one;
  }
  throw InputError{option + ": unknown flavor '" + name + "'" + model::did_you_mean(name, known) +
                   "; known: " + all};
}

std::uint64_t seed_of(CLI::App const& command, Words const& words) {
  return was_given(command, "--seed") ? read_seed(words.seed) : kDefaultSeed;
}

RunOptions read_run(CLI::App const& command, Words const& words) {
  RunOptions options{.geometries = words.geometries,
                     .seed = seed_of(command, words),
                     .threads = std::max(1U, std::thread::hardware_concurrency()),
                     .mutant = text_if_given(command, "--mutant", words.mutant),
                     .save = text_if_given(command, "--save", words.save),
                     .coverage = text_if_given(command, "--coverage", words.coverage),
                     .flavor = text_if_given(command, "--flavor", words.flavor),
                     .sometimes = words.sometimes,
                     .compare = !words.no_compare,
                     .json = words.json};
  if (was_given(command, "--seconds") && was_given(command, "--ops")) {
    throw InputError{"--seconds and --ops exclude each other"};
  }
  if (was_given(command, "--seconds")) {
    options.seconds = read_seconds("--seconds", words.seconds);
  }
  if (was_given(command, "--ops")) {
    options.operations = read_count("--ops", words.operations, kMostOperations);
  }
  if (was_given(command, "--threads")) {
    options.threads =
        static_cast<std::uint32_t>(read_count("--threads", words.threads, kMostThreads));
  }
  if (was_given(command, "--device")) {
    check_device(words.device, "run");
    options.device = words.device;
  }
  if (options.flavor) {
    check_flavor("--flavor", *options.flavor, flavor_names());
  }
  options.check_order = !words.no_order_check;
  options.faults = words.faults;
  check_mutant("--mutant", options.mutant);
  return options;
}

ReplayOptions read_replay(CLI::App const& command, Words const& words) {
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
  if (was_given(command, "--device")) {
    check_device(words.device, "replay");
    options.device = words.device;
  }
  if (options.promote && options.paths.size() != 1) {
    throw InputError{"--promote is for one trace"};
  }
  if (!options.promote && (options.row || options.corpus)) {
    throw InputError{"--row and --corpus go with --promote"};
  }
  check_mutant("--mutant", options.mutant);
  return options;
}

MinimizeOptions read_minimize(CLI::App const& command, Words const& words) {
  if (words.paths.size() != 1) {
    throw InputError{"minimize needs one trace file"};
  }
  MinimizeOptions options{.path = words.paths.front(),
                          .output = text_if_given(command, "--output", words.output),
                          .mutant = text_if_given(command, "--mutant", words.mutant),
                          .compare = !words.no_compare,
                          .json = words.json};
  check_mutant("--mutant", options.mutant);
  return options;
}

ExplainOptions read_explain(CLI::App const& command, Words const& words) {
  if (words.paths.size() != 1) {
    throw InputError{"explain needs one trace file"};
  }
  ExplainOptions options{.path = words.paths.front(),
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

CoverageOptions read_coverage(CLI::App const& command, Words const& words) {
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

ListOptions read_list(Words const& words) {
  std::vector<std::string> const known = {
      "geometries", "operations", "flavors", "invariants", "mutants", "sometimes"};
  if (!words.topic.empty() && std::find(known.begin(), known.end(), words.topic) == known.end()) {
    throw InputError{"list: unknown topic '" + words.topic + "'" +
                     model::did_you_mean(words.topic, known) +
                     "; known: geometries, operations, flavors, invariants, mutants, sometimes"};
  }
  if (words.markdown && (words.topic != "invariants" || words.json)) {
    throw InputError{"list: --markdown is for the topic invariants alone"};
  }
  return {.topic = words.topic, .json = words.json, .markdown = words.markdown};
}

MutantsOptions read_mutants(CLI::App const& command, Words const& words) {
  MutantsOptions options{.geometries = words.geometries,
                         .only = words.only,
                         .seed = seed_of(command, words),
                         .compare = !words.no_compare,
                         .json = words.json};
  if (was_given(command, "--search")) {
    std::vector<std::string> known = flavor_names();
    known.insert(known.begin(), "swarm");
    known.insert(known.end(), {kSearchLibfuzzer, kSearchRapidcheck});
    check_flavor("--search", words.search, known);
    options.search = words.search;
  }
  bool const is_libfuzzer = options.search == kSearchLibfuzzer;
  if (is_libfuzzer && (!options.geometries.empty() || words.no_compare)) {
    throw InputError{"--search libfuzzer has geometries of its own, and compares"};
  }
  if (is_libfuzzer || options.search == kSearchRapidcheck) {
    options.budget = kDefaultOtherBudget;
  }
  if (was_given(command, "--ops")) {
    options.budget = read_count("--ops", words.operations, kMostOperations);
  }
  if (was_given(command, "--repeat")) {
    options.repeat = static_cast<std::uint32_t>(read_count("--repeat", words.repeat, kMostRepeats));
  }
  options.markdown = words.markdown;
  if (options.markdown && options.json) {
    throw InputError{"--markdown and --json exclude each other"};
  }
  for (std::string const& name : options.only) {
    check_mutant("--only", name);
  }
  if (was_given(command, "--device")) {
    check_device(words.device, "mutants");
    options.device = words.device;
  }
  return options;
}

}  // namespace

Options parse_command_line(int argc, char const* const* argv) {
  CLI::App app{
      "Simulates and fuzzes the cache library: random programs of its operations, checked against "
      "a model and by invariants."};
  Words words;
  Commands const commands = define(app, words);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return HelpOptions{app.help()};
  } catch (CLI::Error const& error) {
    throw InputError{error.what()};
  }
  CLI::App const& command = chosen_command(app);
  if (&command == commands.run) {
    return read_run(command, words);
  }
  if (&command == commands.replay) {
    return read_replay(command, words);
  }
  if (&command == commands.minimize) {
    return read_minimize(command, words);
  }
  if (&command == commands.explain) {
    return read_explain(command, words);
  }
  if (&command == commands.fuzz) {
    return read_fuzz(command, words.campaign, words.json);
  }
  if (&command == commands.fuzz_worker) {
    if (words.paths.size() != 1) {
      throw InputError{"fuzz-worker needs a job"};
    }
    return FuzzWorkerOptions{words.paths.front()};
  }
  if (&command == commands.gate) {
    return read_gate(command, words.campaign, words.json);
  }
  if (&command == commands.coverage) {
    return read_coverage(command, words);
  }
  if (&command == commands.doctor) {
    return DoctorOptions{words.json};
  }
  if (&command == commands.list) {
    return read_list(words);
  }
  return read_mutants(command, words);
}

}  // namespace holdfast::tools
