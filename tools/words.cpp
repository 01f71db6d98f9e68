// SPDX-License-Identifier: Apache-2.0
#include "tools/words.hpp"

#include <algorithm>
#include <holdfast/cuda.hpp>
#include <iterator>

#include "fuzz/cuda_mutants.hpp"
#include "fuzz/swarm.hpp"
#include "fuzz/system_mutants.hpp"
#include "models/geometry/geometry.hpp"
#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"
#include "models/systems.hpp"
#include "tools/process.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {

using model::InputError;

namespace {

using Names = std::vector<std::string>;

/// Of a system, or of all.
Names mutant_names(std::optional<std::string> const& system = std::nullopt) {
  Names names;
  for (model::SystemInfo const& one : model::all_systems()) {
    if (!system || *system == one.name) {
      for (fuzz::MutantInfo const& info : fuzz::mutants_of(&one)) {
        names.emplace_back(info.name);
      }
    }
  }
  for (fuzz::CudaMutantInfo const& info : fuzz::cuda_mutants()) {
    if (!system || *system == model::library_system().name) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

Names system_names() {
  Names names;
  for (model::SystemInfo const& one : model::all_systems()) {
    names.emplace_back(one.name);
  }
  return names;
}

Names flavor_names() {
  Names names;
  for (fuzz::FlavorInfo const& info : fuzz::all_flavors()) {
    names.emplace_back(info.name);
  }
  return names;
}

Names search_names() {
  Names names = flavor_names();
  names.insert(names.begin(), "swarm");
  names.insert(names.end(), {kSearchLibfuzzer, kSearchRapidcheck});
  return names;
}

Names device_names(std::string_view command) {
  if (command == "replay" || command == "minimize") {
    return {"host", "cuda"};
  }
  return command == "mutants" ? Names{"host", "sim"} : Names{"host", "sim", "cuda"};
}

}  // namespace

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

void add_seed(CLI::App& command, Words& words, std::string const& otherwise) {
  command
      .add_option("--seed",
                  words.seed,
                  "Up to 20 decimal digits, a number; or else a git hash of 7 to 40 hexadecimal "
                  "digits, whose first 16 are the seed. Default: " +
                      otherwise)
      ->type_name("N|HASH");
}

void add_no_compare(CLI::App& command, Words& words) {
  command.add_flag("--no-compare",
                   words.no_compare,
                   "Do not compare the answers of library and model; the invariants alone judge");
}

void add_mutant(CLI::App& command, Words& words) {
  command
      .add_option("--mutant",
                  words.mutant,
                  "Turn on a seeded bug of the library (see: holdfast list mutants)")
      ->type_name("NAME");
}

void add_system(CLI::App& command, Words& words) {
  command
      .add_option(
          "--system",
          words.system,
          "The system under test (see: holdfast list systems). Default: holdfast, or the one "
          "that a trace names")
      ->type_name("NAME");
}

bool was_given(CLI::App const& command, std::string const& option) {
  return command.count(option) != 0;
}

std::optional<std::string> text_if_given(CLI::App const& command,
                                         std::string const& option,
                                         std::string const& text) {
  return was_given(command, option) ? std::optional{text} : std::nullopt;
}

std::optional<std::string> system_of(CLI::App const& command, Words const& words) {
  if (!was_given(command, "--system")) {
    return std::nullopt;
  }
  check_known("--system", "system", words.system, system_names());
  return words.system;
}

std::uint64_t seed_of(CLI::App const& command, Words const& words) {
  return was_given(command, "--seed") ? read_seed(words.seed) : kDefaultSeed;
}

Names known_values(std::string_view command, std::string_view option) {
  if (option == "--geometry") {
    return model::built_in_geometry_names();
  }
  if (option == "--mutant" || (command == "mutants" && option == "--only")) {
    return mutant_names();
  }
  if (command == "gate" && option == "--only") {
    return {std::begin(kGateParts), std::end(kGateParts)};
  }
  if (option == "--flavor") {
    return flavor_names();
  }
  if (option == "--search") {
    return search_names();
  }
  if (option == "--system") {
    return system_names();
  }
  if (option == "--device") {
    return device_names(command);
  }
  if (option == "--targets") {
    return {std::begin(kFuzzTargets), std::end(kFuzzTargets)};
  }
  if (option == "TOPIC") {
    return command == "list" ? Names{std::begin(kListTopics), std::end(kListTopics)}
                             : Names{std::begin(kManualTopics), std::end(kManualTopics)};
  }
  return {};
}

void check_known(std::string const& option,
                 std::string const& what,
                 std::string const& word,
                 Names const& known) {
  if (std::find(known.begin(), known.end(), word) == known.end()) {
    std::string line =
        option + ": unknown " + what + " '" + word + "'" + model::did_you_mean(word, known);
    for (std::string const& name : known) {
      line += (&name == known.data() ? "; known: " : ", ") + name;
    }
    throw InputError{line};
  }
}

void check_device(std::string const& device, std::string_view command) {
  if (device == "sim" && (command == "replay" || command == "minimize")) {
    throw InputError{"--device: " + std::string{command} +
                     " runs on simulated devices where a trace says so, with a seed"};
  }
  if (device == "cuda" && command == "mutants") {
    throw InputError{
        "--device: mutants are tried on CUDA devices one by one: run --device cuda --mutant NAME"};
  }
  check_known("--device", "device", device, device_names(command));
  if (device == "cuda") {
    auto const count = cuda_device_count();
    if (!count || *count == 0) {
      throw EnvironmentError{"--device: there is no device 'cuda' here: " +
                             (count ? "no device answers" : std::string{count.error().text})};
    }
  }
}

void check_mutant(std::string const& option,
                  std::optional<std::string> const& name,
                  std::optional<std::string> const& system) {
  if (!name) {
    return;
  }
  Names const known = mutant_names(system);
  if (std::find(known.begin(), known.end(), *name) == known.end()) {
    throw InputError{option + ": unknown mutant '" + *name + "'" +
                     (system ? " of system " + *system : "") + model::did_you_mean(*name, known) +
                     "; see holdfast list mutants"};
  }
}

}  // namespace holdfast::tools
