// SPDX-License-Identifier: Apache-2.0
// Mutants of what comes before what: takeovers that touch no row, waits that fail half-way, ids that are
// used again, and what only the first of several devices is asked.
#pragma once

#include "fuzz/mutants.hpp"

namespace holdfast::fuzz {

inline constexpr MutantInfo kOrderMutants[] = {
    {"rollback_shares_unawaited",
     "a rollback waits for its own sequence's stream, and not for those that wrote the snapshot's "
     "rows",
     "",
     "ORDER",
     true},
    {"fork_shares_unawaited",
     "a fork waits for the stream that had its id before, and not for those that wrote what the "
     "snapshot holds",
     "",
     "ORDER",
     true},
    {"fork_not_marked",
     "a forked sequence keeps the stream of the one that had its id before",
     "",
     "ORDER",
     true},
    {"own_length_stays",
     "a truncate to the own length leaves the sequence to the stream of the call before",
     "",
     "ORDER",
     true},
    {"finish_enters_first",
     "the end of a step waits for the stream of its first sequence only",
     "",
     "ORDER",
     true},
    {"half_wait_counts",
     "a wait that failed on a later device counts for all",
     "G10",
     "ORDER",
     true,
     true},
    {"entry_keeps_mark",
     "an entry keeps the stream of the one that had its place before",
     "",
     "ORDER",
     true},
    {"load_waits_for_first",
     "an entry that was loaded is found when the first device has its bytes",
     "J1",
     "BYTES FINAL FIRST IMMUT MOVERS ORDER PROV PUBLISH RECUR",
     true},
};

}  // namespace holdfast::fuzz
