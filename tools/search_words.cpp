// SPDX-License-Identifier: Apache-2.0
// The command lines of run and mutants.
#include <algorithm>
#include <thread>

#include "models/input_error.hpp"
#include "models/systems.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

constexpr std::uint64_t kMostRepeats = 1000;

/// Devices are the library's; another system has none that could run later or fail.
void check_has_devices(std::optional<std::string> const& system, bool wanted) {
  if (wanted && system && !model::system_named(*system).offers.has_all_of(model::Facet::kDevices)) {
    throw InputError{"--system: " + *system +
                     " has no devices; it goes without --device and --faults"};
  }
}

void define_run(CLI::App& command, Words& words) {
  add_target(command, words);
  add_programs(command, words);
  add_geometry(command, words);
  add_seed(command, words, std::to_string(kDefaultSeed));
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
                  "Programs of one kind (see: holdfast list flavors). Default: all take turns")
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
  add_system(command, words);
  add_mutant(command, words);
  command.add_option("--save", words.save, "Write a failing program there, as a trace")
      ->type_name("FILE");
  command
      .add_option("--coverage",
                  words.coverage,
                  "Add what operations were taken in which states to a file (see: holdfast "
                  "coverage)")
      ->type_name("FILE.json");
  command.add_flag("--sometimes",
                   words.sometimes,
                   "Say which points were never met (see: holdfast list sometimes); runs the build "
                   "that has them");
  add_no_compare(command, words);
}

Options read_run(CLI::App const& command, Words const& words) {
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
    check_known("--flavor", "flavor", *options.flavor, known_values("run", "--flavor"));
  }
  options.check_order = !words.no_order_check;
  options.faults = words.faults;
  options.system = system_of(command, words);
  check_has_devices(options.system, options.faults || options.device != "host");
  check_mutant("--mutant", options.mutant, options.system.value_or(model::library_system().name));
  return options;
}

void define_mutants(CLI::App& command, Words& words) {
  add_geometry(command, words);
  add_system(command, words);
  add_seed(command, words, std::to_string(kDefaultSeed));
  command
      .add_option("--ops",
                  words.operations,
                  "Most operations of each mutant. Default: 2000000; for libfuzzer and rapidcheck "
                  "500000")
      ->type_name("N");
  command
      .add_option("--search",
                  words.search,
                  "swarm, a flavor of programs, libfuzzer or rapidcheck. Default: swarm")
      ->type_name("NAME");
  command.add_option("--repeat", words.repeat, "Search for each so often, from this seed on")
      ->type_name("N");
  command.add_flag(
      "--markdown", words.markdown, "docs/MUTANTS.md, with the figures of these searches");
  command.add_option("--only", words.only, "This mutant only. Repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      .add_option("--device",
                  words.device,
                  "sim: all mutants on simulated devices. Default: those that show nowhere else")
      ->type_name("NAME");
  add_no_compare(command, words);
}

Options read_mutants(CLI::App const& command, Words const& words) {
  MutantsOptions options{.geometries = words.geometries,
                         .only = words.only,
                         .seed = seed_of(command, words),
                         .compare = !words.no_compare,
                         .json = words.json};
  if (was_given(command, "--search")) {
    check_known("--search", "search", words.search, known_values("mutants", "--search"));
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
  options.system = system_of(command, words);
  for (std::string const& name : options.only) {
    check_mutant("--only", name, options.system.value_or(model::library_system().name));
  }
  if (was_given(command, "--device")) {
    check_device(words.device, "mutants");
    options.device = words.device;
  }
  check_has_devices(options.system, options.device != "host");
  if (options.system && (is_libfuzzer || options.markdown)) {
    throw InputError{
        "--system goes without --search libfuzzer and --markdown, which are the library's"};
  }
  return options;
}

}  // namespace

std::vector<Command> search_commands() {
  return {{"run",
           "Random programs of operations, with every invariant checked",
           {{"holdfast run --seed 7 --ops 20000", "the same programs on every machine"},
            {"holdfast run --device sim --faults --seconds 2", "work runs later, and calls fail"},
            {"holdfast run --mutant rollback_leaves_latent_length --save found.trace",
             "a bug to look at"}},
           define_run,
           read_run},
          {"mutants",
           "Run every seeded bug until an invariant reports it",
           {{"holdfast mutants --only half_step --only leak_on_drop", "two of them"},
            {"holdfast mutants --only half_step --repeat 5", "medians of five searches"},
            {"holdfast mutants --only half_step --no-compare --json", "by the invariants alone"}},
           define_mutants,
           read_mutants}};
}

}  // namespace holdfast::tools
