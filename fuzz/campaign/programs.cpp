// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/programs.hpp"

#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "fuzz/frontier.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::uint64_t kMostKinds = 64;  // of operations, and of outcomes
static_assert(model::AllOps::kCount < kMostKinds);

std::vector<model::Geometry> small_geometries() {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : model::default_geometry_names()) {
    geometries.push_back(model::load_geometry(name));
  }
  return geometries;
}

}  // namespace

Programs::Programs(std::uint64_t seed, RunnerOptions options)
    : swarm_{small_geometries(), seed, std::nullopt}, runner_{swarm_, std::move(options)} {}

ProgramResult Programs::run(std::uint64_t index) {
  return runner_.run(swarm_.program(index));
}

Runner& Programs::runner(std::uint64_t index) {
  return runner_.runner(swarm_.program(index));
}

std::uint64_t transition_key(model::Transition const& transition) noexcept {
  return transition_key(model::CoverageEdge{
      .from = transition.from.key(), .op = transition.op, .outcome = transition.outcome});
}

std::uint64_t transition_key(model::CoverageEdge const& edge) noexcept {
  return (edge.from * kMostKinds + edge.op) * kMostKinds + edge.outcome;
}

model::Coverage coverage_of_units(std::filesystem::path const& folder) {
  model::Coverage coverage;
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return coverage;
  }
  std::vector<model::Trace> programs;
  for (std::filesystem::path const& unit : entries_of(folder)) {
    try {
      programs.push_back(load_program(unit.string()));
    } catch (model::InputError const&) {
      continue;  // one of another target's
    }
  }
  static_cast<void>(replay_for_coverage(programs, coverage));
  return coverage;
}

std::string transition_text(std::uint64_t key) {
  auto const outcome = static_cast<std::uint32_t>(key % kMostKinds);
  std::uint64_t const op = key / kMostKinds % kMostKinds;
  auto const from = static_cast<std::uint32_t>(key / kMostKinds / kMostKinds);
  return std::string{op < model::AllOps::kCount ? model::AllOps::kNames[op] : "?"} + " -> " +
         model::outcome_name(outcome) +
         " in: " + model::text_of(model::AbstractState::from_key(from));
}

std::vector<std::uint64_t> read_transitions(std::filesystem::path const& path) {
  std::vector<std::uint64_t> keys;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return keys;
  }
  std::istringstream text{model::read_file(path)};
  for (std::uint64_t key = 0; text >> key;) {
    keys.push_back(key);
  }
  if (!text.eof()) {
    throw model::InputError{path.string() + ": is damaged: a line is no number"};
  }
  return keys;
}

std::string print_transitions(std::vector<std::uint64_t> const& keys) {
  std::string text;
  for (std::uint64_t const key : keys) {
    text += std::to_string(key) + "\n";
  }
  return text;
}

}  // namespace holdfast::fuzz
