// SPDX-License-Identifier: Apache-2.0
// Goal: each law of planes can fail. Method: seeded bugs of the library, and one plane that lies about the
// size of its entries; each must break its law on some fixture, by an expectation of the law itself.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>

#include "fuzz/contract.hpp"
#include "fuzz/mutants.hpp"
#include "tests/contract/laws.hpp"

namespace holdfast::test {
namespace {

/// A class that counts one page too many for an entry, serves whatever it is given, and starts at even
/// lengths alone, though it says that it starts at none.
struct CarelessPlane : PagedPlane {
  static Status check(RowsDescription const& /*rows*/, LayerRules const& /*rules*/) noexcept {
    return {};
  }
  static Status check(StateDescription const& /*state*/, LayerRules const& /*rules*/) noexcept {
    return {};
  }
  static internal::storage::EntryShape entry_shape(ClassPlan const& known,
                                                   std::uint32_t length) noexcept {
    auto shape = PagedPlane::entry_shape(known, length);
    ++shape.pages;
    return shape;
  }
  Status can_restore(std::uint32_t /*entry*/, std::uint32_t length) const noexcept {
    return length % 2 == 0 ? Status{}
                           : Error{.code = ErrorCode::kRefused, .subject = "attention_kv"};
  }
};
struct CarelessFixture : PlaneFixture<PagedPlane> {
  using Plane = CarelessPlane;
};

/// How many expectations of a law fail on all fixtures.
template <typename... Law>
int failures_of(Law... laws) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter{
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results};
    // A broken contract ends the law, and is not one of its expectations.
    (static_cast<void>(fuzz::run_with_contract(laws)), ...);
  }
  return results.size();
}

struct LawMutant {
  char const* law;
  char const* mutant;
  int (*failures)();
};

void PrintTo(LawMutant const& row, std::ostream* out) {
  *out << row.law << " under " << row.mutant;
}

#define HOLDFAST_ALL_FIXTURES(law)                               \
  [] {                                                           \
    return failures_of(&Laws<PlaneFixture<PagedPlane>>::law,     \
                       &Laws<PlaneFixture<TailRingPlane>>::law,  \
                       &Laws<PlaneFixture<RecurrentPlane>>::law, \
                       &Laws<PlaneFixture<DraftPlane>>::law,     \
                       &Laws<LatentFixture>::law,                \
                       &Laws<PoolKeysFixture>::law);             \
  }
#define HOLDFAST_LAW_MUTANT(law, mutant) \
  { #law, mutant, HOLDFAST_ALL_FIXTURES(law) }

constexpr LawMutant kLawMutants[] = {
    HOLDFAST_LAW_MUTANT(need_is_what_open_takes, "need_one_page_more"),
    HOLDFAST_LAW_MUTANT(open_and_drop_is_nothing, "drop_keeps_pages"),
    HOLDFAST_LAW_MUTANT(open_and_drop_is_nothing, "leak_on_drop"),
    HOLDFAST_LAW_MUTANT(open_and_drop_is_nothing, "drop_said_exact"),
    HOLDFAST_LAW_MUTANT(length_is_what_was_kept, "column_off_by_one"),
    HOLDFAST_LAW_MUTANT(length_is_what_was_kept, "draft_rejected_kept"),
    HOLDFAST_LAW_MUTANT(length_is_what_was_kept, "ready_rounded_up"),
    HOLDFAST_LAW_MUTANT(length_is_what_was_kept, "in_place_keeps_base"),
    HOLDFAST_LAW_MUTANT(rollback_gives_what_was_held, "rollback_leaves_latent_length"),
    HOLDFAST_LAW_MUTANT(rollback_gives_what_was_held, "draft_not_rolled_back"),
    HOLDFAST_LAW_MUTANT(rollback_gives_what_was_held, "held_not_rolled_back"),
    HOLDFAST_LAW_MUTANT(rollback_gives_what_was_held, "tail_rows_not_held"),
    HOLDFAST_LAW_MUTANT(fork_gives_what_was_held, "stale_table_after_rollback"),
    HOLDFAST_LAW_MUTANT(fork_gives_what_was_held, "copy_one_row_short"),
    HOLDFAST_LAW_MUTANT(second_rollback_is_the_first, "second_rollback"),
    HOLDFAST_LAW_MUTANT(truncated_is_never_appended, "pages_kept_after_truncate"),
    HOLDFAST_LAW_MUTANT(truncated_is_never_appended, "draft_not_clamped"),
    HOLDFAST_LAW_MUTANT(truncated_is_never_appended, "ready_not_clamped"),
    HOLDFAST_LAW_MUTANT(can_truncate_says_what_there_is, "truncate_keeps_state"),
    HOLDFAST_LAW_MUTANT(capture_outlives_its_snapshot, "tail_rows_not_held"),
    HOLDFAST_LAW_MUTANT(restore_starts_below_its_length, "restore_shares_last_chunk"),
    HOLDFAST_LAW_MUTANT(restore_starts_below_its_length, "restore_inside_any_pool"),
    HOLDFAST_LAW_MUTANT(held_bytes_are_left_alone, "alias_instead_of_copy"),
    HOLDFAST_LAW_MUTANT(held_bytes_are_left_alone, "ring_lap_ignored"),
    HOLDFAST_LAW_MUTANT(held_bytes_are_left_alone, "sealed_not_raised"),
    HOLDFAST_LAW_MUTANT(held_bytes_are_left_alone, "shared_state_in_place"),
    HOLDFAST_LAW_MUTANT(serialized_bytes_come_back, "conv_not_serialized"),
    HOLDFAST_LAW_MUTANT(serialized_bytes_come_back, "keys_not_serialized"),
    HOLDFAST_LAW_MUTANT(everything_is_given_back, "snapshot_leaks_chunk"),
    {"refused_restore_names_the_next",
     "none",
     [] { return failures_of(&Laws<CarelessFixture>::refused_restore_names_the_next); }},
    {"shape_counts_bytes_and_pages",
     "none",
     [] { return failures_of(&Laws<CarelessFixture>::shape_counts_bytes_and_pages); }},
    {"what_it_cannot_serve_is_refused",
     "none",
     [] { return failures_of(&Laws<CarelessFixture>::what_it_cannot_serve_is_refused); }},
};

TEST(LawMutants, AreThereForEveryLaw) {
  std::set<std::string> seen;
  for (LawMutant const& row : kLawMutants) {
    seen.insert(row.law);
  }
#define HOLDFAST_CONTRACT_SEEN(test, law) EXPECT_TRUE(seen.contains(#law)) << #law;
  HOLDFAST_CONTRACT_LAWS(HOLDFAST_CONTRACT_SEEN)
#undef HOLDFAST_CONTRACT_SEEN
}

class LawOfPlanes : public testing::TestWithParam<LawMutant> {
 protected:
  ~LawOfPlanes() override { fuzz::select_mutant("none"); }
};

TEST_P(LawOfPlanes, IsBroken) {
  ASSERT_TRUE(fuzz::select_mutant(GetParam().mutant));
  EXPECT_GT(GetParam().failures(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, LawOfPlanes, testing::ValuesIn(kLawMutants), [](auto const& row) {
  return std::string{row.param.law} + "_" + row.param.mutant;
});

}  // namespace
}  // namespace holdfast::test
