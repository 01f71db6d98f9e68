// SPDX-License-Identifier: Apache-2.0
// The seeded bugs of the library: what each is, who must catch it, and the runner that proves it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/run.hpp"

namespace holdfast::fuzz {

/// One seeded bug. Its name is that of lib/src/base/mutants.def.
struct MutantInfo {
  char const* name;
  char const* text;      ///< what the bug is
  char const* case_row;  ///< the public report that it stands for, "" when none
  char const* killers;   ///< ids of invariants, one of which must report it, separated by spaces
};

/// All mutants, in the order of mutants.def.
[[nodiscard]] std::span<MutantInfo const> all_mutants() noexcept;

/// Whether this program is linked with the mutant build of the library.
[[nodiscard]] bool has_mutants() noexcept;
/// Turns a mutant on, every other off; "none" turns all off. False for an unknown name, or without
/// mutants.
bool select_mutant(std::string const& name) noexcept;
/// Names that the library knows, in order; empty in the plain build.
[[nodiscard]] std::vector<std::string> library_mutants();

/// How one mutant fared.
struct MutantOutcome {
  MutantInfo info;
  bool killed = false;
  std::vector<std::string> invariants;  ///< that reported it
  std::uint64_t operations = 0;         ///< until then, or in all
};

/// Runs every mutant until it is killed, at most `budget` operations each.
[[nodiscard]] std::vector<MutantOutcome> run_mutants(
    std::vector<model::Geometry> const& geometries,
    std::uint64_t seed,
    std::uint64_t budget,
    bool compare,
    std::function<void(MutantOutcome const&)> const& on_outcome);

}  // namespace holdfast::fuzz
