// SPDX-License-Identifier: Apache-2.0
// Mutants that an engine meets which leaves out, doubles or gets wrong one part of a write.
#pragma once

#include "fuzz/mutants.hpp"

namespace holdfast::fuzz {

inline constexpr MutantInfo kWriteMutants[] = {
    {"first_layer_decides",
     "a commit asks only the first layer of a class whether its rows are written",
     "",
     "ONCE LEN PROV FIRST FINAL"},
    {"first_rank_writes",
     "a commit asks only rank 0 whether its rows are written",
     "J1",
     "ONCE LEN PROV RECUR FIRST"},
    {"stash_taken_for_made",
     "a rescan round is accepted though the inputs of a layer were not stashed",
     "",
     "ONCE LEN RECUR"},
    {"look_taken_for_write",
     "a view that declares no row counts as if all were written",
     "",
     "ONCE LEN PROV FIRST FINAL"},
    {"reach_of_the_least",
     "a ring counts the rows that all of its layers have, and forgets those that lap it in one",
     "C2",
     "WINDOW"},
    {"rank_clamped", "a rank that there is not is taken for the last one", "J1", "ONCE LEN PROV"},
    {"first_not_ignored",
     "a write of an append begins where its caller says, and not at the next row",
     "",
     "ONCE LEN PROV"},
    {"gap_ignored",
     "rows of a round are written behind a gap, and the end alone is remembered",
     "",
     "ONCE LEN PROV"},
    {"refused_write_counts",
     "a write that is refused since it goes past the open rows counts as if it were made",
     "",
     "ONCE LEN PROV"},
    {"write_not_marked",
     "a write leaves the stream of the call before as the one to wait for",
     "G10",
     "ORDER",
     true},
    {"first_rank_viewed",
     "pool keys of rows that went through a view are built on all ranks or on none, as rank 0 "
     "wrote",
     "J1",
     "FINAL RANKS FIRST"},
    {"step_writes_again",
     "a write of a whole step takes rows of an append that are written already",
     "",
     "ONCE LEN PROV"},
    {"part_of_class_is_all",
     "a write of some layers of a class counts for all of them",
     "",
     "ONCE LEN PROV"},
};

}  // namespace holdfast::fuzz
