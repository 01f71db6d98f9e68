// SPDX-License-Identifier: Apache-2.0
// Searches for seeded bugs with libFuzzer.
#pragma once

#include <filesystem>
#include <string>

#include "fuzz/mutant_runner.hpp"

namespace holdfast::fuzz {

/// libFuzzer on fuzz_interleave, from nothing: `target` is its twin with mutants. It has the budget of
/// the plan, geometries of its own, and always compares. What it needs is written below `work`, which
/// must be there. The plan must outlive it.
[[nodiscard]] MutantSearch libfuzzer_search(MutantPlan const& plan,
                                            std::string const& target,
                                            std::filesystem::path const& work);

}  // namespace holdfast::fuzz
