// SPDX-License-Identifier: Apache-2.0
// The table of laws, and how one is tried.
#include "tests/property/laws.hpp"

#include <rapidcheck/Check.h>

#include <algorithm>

#include "models/source.hpp"

namespace holdfast::test {
namespace {

constexpr int kCases = 200;

constexpr Law kLaws[] = {
    {"accept_any_prefix",
     "verify k, accept any j, go on: as if the j rows had been appended one by one",
     kCases,
     "column_off_by_one base_not_restored key_over_rejected_rows_kept rescan_from_fresh",
     &accept_any_prefix},
    {"dropped_handle_was_never_open",
     "begin, write some, drop, go on: as if nothing had been begun",
     kCases,
     "base_not_restored key_over_rejected_rows_kept",
     &dropped_handle_was_never_open},
    {"last_writing_counts",
     "rows of a round written again: only what was written last counts",
     kCases,
     "key_over_rejected_rows_kept conv_not_rolled_back stash_of_other",
     &last_writing_counts},
    {"rollback_then_repeat",
     "roll back, repeat or do something else, twice: as if nothing had been rolled back",
     kCases,
     "second_rollback rollback_leaves_latent_length tail_rows_not_held",
     &rollback_then_repeat},
    {"rollback_to_another",
     "roll back to a snapshot of another sequence: its history from there on",
     kCases,
     "two_plane_snapshot alias_instead_of_copy copy_one_row_short",
     &rollback_to_another},
    {"truncated_was_never_there",
     "truncate, go on: as if only the rows below had been appended; or refused, and nothing "
     "changed",
     kCases,
     "truncate_skips_kv truncate_keeps_state half_truncate ring_lo_one_lap_low",
     &truncated_was_never_there},
    {"forks_are_apart",
     "whatever one side of a fork does changes neither the other nor the snapshot",
     kCases,
     "alias_instead_of_copy shared_state_in_place sealed_not_raised",
     &forks_are_apart},
    {"forks_are_histories",
     "both sides of a fork: as if each had been alone",
     kCases,
     "copy_one_row_short stale_table_after_copy",
     &forks_are_histories},
    {"chunks_are_one_append",
     "appends and whole rounds of any length, written by any way: as one append",
     kCases,
     "ring_address_short_lap in_place_keeps_base rescan_one_short",
     &chunks_are_one_append},
    {"step_is_its_items",
     "a step over several sequences, with padding: as its items one by one",
     kCases,
     "mirror_length_stale rank_not_told padding_shifts_keeps",
     &step_is_its_items},
    {"order_and_padding_are_nothing",
     "a step with its items in another order and with padding: the same",
     kCases,
     "padding_shifts_keeps",
     &order_and_padding_are_nothing},
    {"ranks_are_one",
     "ranks and stages: every answer and all bytes as on one device",
     kCases,
     "rank_view_of_first rank_tables_stale rank_length_stale",
     &ranks_are_one,
     &has_ranks},
    {"restored_is_the_original",
     "capture, restore at every usable position, also from bytes: as if appended so far, and no "
     "more",
     kCases,
     "restore_inside_any_pool restore_lengthened conv_not_serialized keys_not_serialized",
     &restored_is_the_original},
};

}  // namespace

std::span<Law const> all_laws() noexcept {
  return kLaws;
}

std::vector<model::Geometry> geometries_of(Law const& law) {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : model::default_geometry_names()) {
    model::Geometry geometry = model::load_geometry(name);
    if (law.suits == nullptr || law.suits(geometry)) {
      geometries.push_back(std::move(geometry));
    }
  }
  return geometries;
}

rc::detail::TestResult examine(Law const& law, Setting const& setting, bool shrinks) {
  constexpr int kWhole = 100;           // RapidCheck's own max_success
  constexpr int kDiscardsPerCase = 20;  // where a geometry is tight on purpose
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::max(1, law.cases * params.maxSuccess / kWhole);
  params.maxDiscardRatio = kDiscardsPerCase;
  params.disableShrinking = !shrinks;
  for (char const letter : setting.geometry.name) {  // each setting has cases of its own
    params.seed = model::mix(params.seed, static_cast<unsigned char>(letter));
  }
  params.seed = model::mix(params.seed, static_cast<std::uint64_t>(setting.kind));
  rc::detail::TestMetadata metadata;
  metadata.id = law.name;
  metadata.description = law.text;
  return rc::detail::checkTestable([&] { law.check(setting); }, metadata, params);
}

}  // namespace holdfast::test
