// SPDX-License-Identifier: Apache-2.0
// The seeded bugs of the library: what each is, who must catch it, and the switch that turns one
// on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast::fuzz {

/// One seeded bug. Its name is that of lib/src/base/mutants.def.
struct MutantInfo {
  char const* name;
  char const* text;      ///< what the bug is
  char const* case_row;  ///< the public report that it stands for, "" when none
  char const* killers;   ///< ids of invariants, one of which must report it, separated by spaces
  bool needs_streams = false;  ///< shows only where work of several streams runs later
  bool needs_faults = false;   ///< shows only where device calls fail
};

/// All mutants of the library, in the order of mutants.def; system_mutants.hpp has those of other systems.
[[nodiscard]] std::span<MutantInfo const> all_mutants() noexcept;

/// Whether this program is linked with the mutant build of the library.
[[nodiscard]] bool has_mutants() noexcept;
/// Turns a mutant of any system on, every other off; "none" turns all off. False for an unknown name, or
/// for one of the library without mutants.
bool select_mutant(std::string const& name) noexcept;
/// How often a site of the mutant that is on was reached since it was turned on; 0 without mutants.
[[nodiscard]] std::uint64_t mutant_reached() noexcept;
/// Turns the library's costly assertions on, with mutants, where they are off at first: an invariant must
/// find a bug by itself.
void select_verify(bool on) noexcept;
/// Names that the library knows, in order; empty in the plain build.
[[nodiscard]] std::vector<std::string> library_mutants();

}  // namespace holdfast::fuzz
