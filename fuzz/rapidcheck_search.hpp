// SPDX-License-Identifier: Apache-2.0
// Searches for seeded bugs with programs that RapidCheck draws.
#pragma once

#include "fuzz/mutant_runner.hpp"

namespace holdfast::fuzz {

/// Whether this program was built with RapidCheck.
[[nodiscard]] bool has_rapidcheck() noexcept;

/// Programs whose operations, fields and lengths are RapidCheck's, which grow as its cases do: from
/// size 0 to its largest size, and again. An operation whose precondition does not hold is drawn
/// again. The plan must outlive it. Only with has_rapidcheck().
[[nodiscard]] MutantSearch rapidcheck_search(MutantPlan const& plan);

}  // namespace holdfast::fuzz
