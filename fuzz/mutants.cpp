// SPDX-License-Identifier: Apache-2.0
// The table of mutants, and their switch.
#include "fuzz/mutants.hpp"

// Found only in the mutant build of the library.
extern "C" {
[[gnu::weak]] bool holdfast_select_mutant(char const* name);
[[gnu::weak]] char const* holdfast_mutant_name(std::uint32_t index);
}

namespace holdfast::fuzz {
namespace {

constexpr MutantInfo kMutants[] = {
    {"two_plane_snapshot",
     "a snapshot records attention KV and recurrent state, and forgets latent rows, pool keys and "
     "ring",
     "seed 1 3, D10",
     "LEN LATENT ATOMIC"},
    {"rollback_leaves_latent_length",
     "a rollback takes the latent pages but leaves the length",
     "seed 3, B2",
     "LEN LATENT ATOMIC"},
    {"ready_not_clamped",
     "a shorter length does not lower ready",
     "seed red-proof: no pool clamp",
     "LATENT LEN"},
    {"ready_rounded_up",
     "ready is rounded up, so that an unfinished pool counts",
     "seed red-proof: stale pool keys",
     "LATENT LEN"},
    {"key_over_rejected_rows_kept",
     "a key that was built over rejected rows is not built again",
     "D2, seed red-proof: stale pool keys",
     "FINAL"},
    {"key_skips_first_row", "a pool key forgets the pool's first row", "", "FINAL"},
    {"tail_rows_not_held",
     "a snapshot does not hold the ring page of the open pool",
     "C1, seed 8",
     "WINDOW ATOMIC IMMUT CONSERVE"},
    {"ring_address_short_lap",
     "after one lap ring rows are addressed modulo a shorter ring",
     "C1, seed 4",
     "WINDOW FINAL OWNER"},
    {"ring_lo_one_lap_low",
     "rows that a lap has overwritten still count as resident",
     "C2, C4",
     "WINDOW LIVE"},
    {"ring_lo_page_high",
     "lo is raised by a page too much, so that a legal truncation is refused",
     "seed 6",
     "LIVE WINDOW"},
    {"ring_lap_ignored", "a shared ring page is written in a later lap", "C5", "IMMUT OWNER"},
    {"ring_one_lap_assumed",
     "rows that come around to a shared ring page are taken for the lap before",
     "C5",
     "IMMUT OWNER WINDOW"},
    {"view_not_counted",
     "rows that a view gave out do not count as written when the handle is dropped",
     "C2, C4",
     "WINDOW"},
    {"conv_not_rolled_back",
     "accept takes the ssm state of the kept column and the conv window of the last",
     "A7, A13",
     "RECUR"},
    {"column_off_by_one", "accept takes the column before the right one", "A10", "RECUR"},
    {"whole_round_ignored",
     "accepting a whole round leaves the state at its base",
     "A10, A2",
     "RECUR"},
    {"second_rollback",
     "a rollback takes the snapshot's state with it, so that a second one lands elsewhere",
     "A5, H13",
     "IMMUT RECUR ATOMIC"},
    {"alias_instead_of_copy", "a shared page is written in place", "H13, V5", "IMMUT OWNER PROV"},
    {"copy_one_row_short",
     "a copied page misses its last row",
     "seed red-proof: latent one row short",
     "PROV FIRST FINAL"},
    {"stale_table_after_copy",
     "the device table keeps naming the page that was copied",
     "F10",
     "UNITS OWNER IMMUT PROV"},
    {"stale_table_after_rollback",
     "the device table is not rewritten by a rollback or fork",
     "F2",
     "UNITS OWNER PROV"},
    {"shared_chunk_written",
     "a page id is written into a chunk that others hold",
     "V5",
     "CONSERVE OWNER PROV CONTRACT"},
    {"sealed_not_raised", "a snapshot does not seal the rows that it holds", "V5", "IMMUT OWNER"},
    {"rollback_lowers_sealed",
     "a rollback lowers sealed to the snapshot's length",
     "V5",
     "IMMUT OWNER"},
    {"held_slot_reused",
     "a snapshot takes no reference to the state slot",
     "H13, H7",
     "CONSERVE IMMUT OWNER CONTRACT"},
    {"leak_on_drop", "a dropped handle keeps its state slots", "H4", "CONSERVE"},
    {"snapshot_leaks_chunk", "dropping a snapshot keeps its last chunk", "H5", "CONSERVE"},
    {"drop_keeps_pages",
     "a dropped handle keeps the pages of its open rows",
     "H4",
     "UNITS CONSERVE"},
    {"writer_mark_survives",
     "a writer's mark survives a rollback away and back",
     "V5",
     "IMMUT OWNER"},
    {"pages_kept_after_truncate",
     "a truncation keeps the pages above the new length",
     "B1",
     "UNITS ATOMIC CONSERVE"},
    {"truncate_skips_kv", "a truncation forgets the attention KV planes", "A8, L5", "LEN ATOMIC"},
    {"truncate_keeps_state",
     "a truncation below the position is allowed and leaves the recurrent state",
     "A4, A8",
     "RECUR LEN LATENT PROV"},
    {"half_truncate",
     "a refused truncation has already shortened the planes that could",
     "A19, V4",
     "FAIL ATOMIC"},
    {"narrowing_truncates",
     "rows of a narrow format are cut off instead of rounded to the nearest even",
     "",
     "PROV IMMUT"},
    {"formats_share_class",
     "layers of different formats share a plane class, and with it the first one's format",
     "F11",
     "PROV IMMUT"},
    {"twice_in_step",
     "one sequence may stand in a step twice",
     "F7",
     "LEN OWNER CONSERVE ATOMIC CONTRACT"},
    {"open_rows_not_published",
     "the device's record does not say how many rows are open",
     "F4",
     "LEN"},
    {"mirror_length_stale", "the device's record keeps the old length", "B1, B2", "LEN OWNER PROV"},
    {"birth_not_zeroed", "a new sequence's state is not zeroed", "F1, F13", "FIRST RECUR"},
    {"generation_ignored", "a released sequence's id still opens its successor", "H8, K5", "ONCE"},
    {"pad_published", "padding is published as open rows of sequence 0", "F4, F5", "RESERVED"},
    {"scratch_slot_published",
     "the device's record names slot 0 as the state of an empty sequence",
     "F1, D11",
     "LEN RESERVED"},
    {"fresh_page_not_published",
     "the first page of a chunk does not reach the device table, so that rows go to page 0",
     "F8, E1",
     "RESERVED UNITS OWNER"},
    {"copy_rows_above",
     "a copied page takes the rows above the copier's length along",
     "F13",
     "FIRST"},
    {"keys_count_tokens",
     "the key table takes pages for tokens, not for pools",
     "E1",
     "UNITS CONTRACT"},
    {"boundary_page_kept", "a length that ends a page keeps one page more", "E8", "UNITS ATOMIC"},
    {"half_step", "a step that does not fit has already opened its first item", "H2, V19", "FAIL"},
    {"ticket_ignored", "a handle that was used up still ends the next one", "B5, V20", "ONCE"},
    {"columns_stay_open",
     "a dropped round leaves its columns reserved, and given back",
     "G2, V20",
     "ONCE CONTRACT"},
    {"need_one_page_more", "a begin asks for a page more than it takes", "", "LIVE"},
    {"failed_create_leaks_id", "a sequence that could not be created keeps its id", "H4", "LIVE"},
};

}  // namespace

std::span<MutantInfo const> all_mutants() noexcept {
  return kMutants;
}

bool has_mutants() noexcept {
  return &holdfast_select_mutant != nullptr;
}

bool select_mutant(std::string const& name) noexcept {
  return has_mutants() && holdfast_select_mutant(name.c_str());
}

std::vector<std::string> library_mutants() {
  std::vector<std::string> names;
  if (has_mutants()) {
    for (std::uint32_t index = 1; holdfast_mutant_name(index) != nullptr; ++index) {
      names.emplace_back(holdfast_mutant_name(index));
    }
  }
  return names;
}

}  // namespace holdfast::fuzz
