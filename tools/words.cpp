// SPDX-License-Identifier: Apache-2.0
#include "tools/words.hpp"

#include <algorithm>
#include <holdfast/cuda.hpp>

#include "fuzz/cuda_mutants.hpp"
#include "fuzz/mutants.hpp"
#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {

using model::InputError;

bool was_given(CLI::App const& command, std::string const& option) {
  return command.count(option) != 0;
}

std::optional<std::string> text_if_given(CLI::App const& command,
                                         std::string const& option,
                                         std::string const& text) {
  return was_given(command, option) ? std::optional{text} : std::nullopt;
}

void check_known(std::string const& option,
                 std::string const& what,
                 std::string const& word,
                 std::vector<std::string> const& known) {
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
  std::vector<std::string> const known = {"host", "sim", "cuda"};
  if (std::find(known.begin(), known.end(), device) == known.end()) {
    throw InputError{"--device: unknown device '" + device + "'" +
                     model::did_you_mean(device, known) + "; known: host, sim, cuda"};
  }
  if (device == "sim" && command == "replay") {
    throw InputError{
        "--device: replay runs on simulated devices where a trace says so, with a seed"};
  }
  if (device == "cuda" && command == "mutants") {
    throw InputError{
        "--device: mutants are tried on CUDA devices one by one: run --device cuda --mutant NAME"};
  }
  if (device == "cuda") {
    auto const count = cuda_device_count();
    if (!count || *count == 0) {
      throw EnvironmentError{"--device: there is no device 'cuda' here: " +
                             (count ? "no device answers" : std::string{count.error().text})};
    }
  }
}

void check_mutant(std::string const& option, std::optional<std::string> const& name) {
  if (!name) {
    return;
  }
  std::vector<std::string> known;
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    known.emplace_back(info.name);
  }
  for (fuzz::CudaMutantInfo const& info : fuzz::cuda_mutants()) {
    known.emplace_back(info.name);
  }
  if (std::find(known.begin(), known.end(), *name) == known.end()) {
    throw InputError{option + ": unknown mutant '" + *name + "'" +
                     model::did_you_mean(*name, known) + "; see holdfast list mutants"};
  }
}

}  // namespace holdfast::tools
