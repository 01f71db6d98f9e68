// SPDX-License-Identifier: Apache-2.0
// Goal: each kind of assertion that verifying builds have can fail. Method: seeded bugs, each with the
// condition that must stop some random program; without a bug none stops any.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/mutants.hpp"
#include "fuzz/swarm.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {
namespace {

/// A seeded bug, and a condition that it breaks.
struct Stop {
  char const* mutant;
  char const* condition;
};

constexpr Stop kStops[] = {
    {"shared_chunk_written", "references == 1"},
    {"sealed_not_raised", "rows <= source.sealed"},
    {"pad_published", "has_no_order()"},
    {"twice_in_step", "has_no_order()"},
    {"boundary_page_kept", "sequences_[owner.index].chunks == 0"},
    {"tail_rows_not_held", "has_needed(owner.index)"},
    {"restore_inside_any_pool", "has_needed(owner.index)"},
    {"draft_rejected_kept", "watermark <= base + closing.keep"},
    {"draft_not_clamped", "watermark <= length"},
    {"draft_not_rolled_back", "table().snapshot_rows(snapshot)"},
    {"ready_rounded_up", "has_pages(owner.index, lengths_[owner.index])"},
    {"keys_not_serialized", "references(page) != 0"},
    {"shared_state_in_place", "slots_.references(written) == 1"},
    {"restore_lengthened", "length == snapshots_[entry].length"},
    {"alias_instead_of_copy", "planes_are_sound()"},
    {"rollback_lowers_sealed", "planes_are_sound()"},
    {"writer_mark_survives", "planes_are_sound()"},
    {"held_slot_reused", "planes_are_sound()"},
    {"leak_on_drop", "planes_are_sound()"},
    {"snapshot_leaks_chunk", "planes_are_sound()"},
    {"columns_stay_open", "planes_are_sound()"},
    {"restore_shares_last_chunk", "planes_are_sound()"},
    {"two_plane_snapshot", "records_are_met()"},
    {"rollback_leaves_latent_length", "records_are_met()"},
    {"truncate_skips_kv", "records_are_met()"},
    {"capture_forgets_indexer", "records_are_met()"},
    {"entry_leaks_storage", "records_are_met()"},
};

/// Programs of all small geometries.
class VerifyMutants : public testing::TestWithParam<Stop> {
 protected:
  VerifyMutants() : swarm_{geometries(), 7, std::nullopt}, runner_{swarm_, {.compare = false}} {
    select_verify(true);
  }
  ~VerifyMutants() override {
    select_verify(false);
    select_mutant("none");
  }

  /// What the first broken contract of `programs` programs says that has `part` in it.
  std::string broken(std::uint64_t programs, std::string const& part) {
    for (std::uint64_t index = 0; index < programs; ++index) {
      ProgramResult const result = runner_.run(swarm_.program(index));
      for (invariant::Violation const& violation :
           result.failure ? result.failure->violations : std::vector<invariant::Violation>{}) {
        if (std::string{"CONTRACT"} == violation.id &&
            violation.text.find(part) != std::string::npos) {
          return violation.text;
        }
      }
    }
    return {};
  }

 private:
  static std::vector<model::Geometry> geometries() {
    std::vector<model::Geometry> all;
    for (std::string const& name : model::default_geometry_names()) {
      all.push_back(model::load_geometry(name));
    }
    return all;
  }

  Swarm swarm_;
  SwarmRunner runner_;
};

TEST_P(VerifyMutants, AreStopped) {
  constexpr std::uint64_t kPrograms = 5000;
  ASSERT_TRUE(select_mutant(GetParam().mutant));
  EXPECT_NE(broken(kPrograms, GetParam().condition), "") << GetParam().condition;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyMutants, testing::ValuesIn(kStops), [](auto const& stop) {
  return std::string{stop.param.mutant} + "_" + std::to_string(stop.index);
});

using VerifyLibrary = VerifyMutants;

TEST_P(VerifyLibrary, HoldsWithoutMutants) {
  constexpr std::uint64_t kPrograms = 2000;
  EXPECT_EQ(broken(kPrograms, GetParam().condition), "");
}

INSTANTIATE_TEST_SUITE_P(Plain, VerifyLibrary, testing::Values(Stop{"none", ""}));

}  // namespace
}  // namespace holdfast::fuzz
