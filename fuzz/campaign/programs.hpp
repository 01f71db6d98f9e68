// SPDX-License-Identifier: Apache-2.0
// The random programs of a campaign, by number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/swarm.hpp"
#include "models/lineage/coverage.hpp"

namespace holdfast::fuzz {

/// Runs the swarm over the small built-in geometries. One thread at a time.
class Programs {
 public:
  Programs(std::uint64_t seed, RunnerOptions options);

  /// The program with this number is always the same one.
  ProgramResult run(std::uint64_t index);
  /// The runner of a program, as the last program on its geometry left it.
  [[nodiscard]] Runner& runner(std::uint64_t index);

 private:
  Swarm swarm_;
  SwarmRunner runner_;
};

/// Stands for state, operation and outcome.
[[nodiscard]] std::uint64_t transition_key(model::Transition const& transition) noexcept;
[[nodiscard]] std::uint64_t transition_key(model::CoverageEdge const& edge) noexcept;
/// "append -> ok in: at rest, page edge".
[[nodiscard]] std::string transition_text(std::uint64_t key);

/// What the units of a folder see; none when there is no such folder. Units that are no programs are
/// left out.
[[nodiscard]] model::Coverage coverage_of_units(std::filesystem::path const& folder);

/// The transitions that a campaign has taken, in order; none when there is no such file. Throws
/// model::InputError.
[[nodiscard]] std::vector<std::uint64_t> read_transitions(std::filesystem::path const& path);
[[nodiscard]] std::string print_transitions(std::vector<std::uint64_t> const& keys);

}  // namespace holdfast::fuzz
