// SPDX-License-Identifier: Apache-2.0
// Mutants that an engine meets which has several steps open, with other calls between their parts.
#pragma once

#include "fuzz/mutants.hpp"

namespace holdfast::fuzz {

inline constexpr MutantInfo kStepMutants[] = {
    {"map_of_any_step",
     "a step is written at once though the devices' map of rows is that of another",
     "",
     "ANSWER OWNER ONCE"},
    {"finishes_the_newest", "finish ends the step that was begun last", "", "LIVE ONCE"},
    {"step_generation_kept",
     "a handle of a step that is over reaches the next one in its record",
     "",
     "ONCE LIVE"},
    {"step_enters_first",
     "a write of a whole step waits for its first item alone",
     "G10",
     "ORDER",
     true},
    {"whole_skips_gone",
     "a step is written at once though a sequence was released out of it",
     "",
     "OWNER ONCE RESERVED ANSWER"},
    {"append_takes_map",
     "a step cannot be written at once any more after an append was opened",
     "",
     "LIVE"},
};

}  // namespace holdfast::fuzz
