// SPDX-License-Identifier: Apache-2.0
// Mutants that do the right thing and pay more for it than the headers say.
#pragma once

#include "fuzz/mutants.hpp"

namespace holdfast::fuzz {

inline constexpr MutantInfo kCostMutants[] = {
    {"rollback_launches_twice", "a rollback tells its devices twice", "", "COST", true},
    {"fork_notes_its_end", "a fork records events that nobody waits for", "", "COST", true},
    {"truncate_stops_the_host",
     "a truncate returns when its devices are done, and not at once",
     "",
     "COST",
     true},
};

}  // namespace holdfast::fuzz
