// SPDX-License-Identifier: Apache-2.0
// Goal: the exhaustive search can fail, and is strong: four operations after the start states show
// every seeded bug. Method: turn on one bug of the library at a time and search the same small
// scope, shortest programs first, until something reports it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/exhaustive.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kDepth = 4;

/// Mutants that no program of kDepth operations shows; random runs kill them. Some need storage that is
/// nearly used up, which is further away from every start state. Others need a refused step with padding,
/// an entry of several ranks whose length asks for bytes, a write that is not as usual, or a step in parts.
/// One is seen in watched programs alone.
std::set<std::string> const& survivors() {
  static std::set<std::string> const names{"need_one_page_more",     "half_step",
                                           "failed_create_leaks_id", "undeclared_write",
                                           "items_without_padding",  "lacking_of_one_item",
                                           "lacking_of_all",         "entry_of_every_rank",
                                           "page_of_one_rank",       "busy_forgets_snapshots",
                                           "first_layer_decides",    "first_rank_writes",
                                           "stash_taken_for_made",   "look_taken_for_write",
                                           "reach_of_the_least",     "rank_clamped",
                                           "first_not_ignored",      "gap_ignored",
                                           "refused_write_counts",   "first_rank_viewed",
                                           "step_writes_again",      "part_of_class_is_all",
                                           "map_of_any_step",        "finishes_the_newest",
                                           "step_generation_kept",   "step_enters_first",
                                           "whole_skips_gone",       "append_takes_map"};
  return names;
}

/// Mutants of what only one small geometry has: it alone is searched.
std::vector<char const*> geometries_of(std::string const& mutant) {
  if (mutant.starts_with("rank_") || mutant == "entry_of_every_rank" ||
      mutant == "page_of_one_rank") {
    return {"tiny-ranks"};
  }
  if (mutant.starts_with("draft_")) {
    return {"tiny-draft"};
  }
  if (mutant == "held_left_at_base" || mutant == "held_not_rolled_back" ||
      mutant == "held_not_serialized") {
    return {"tiny-held"};
  }
  if (mutant == "narrowing_truncates" || mutant == "formats_share_class") {
    return {"tiny-formats"};
  }
  return {"tiny-rows", "tiny", "glm5-next-mini", "tiny-ring"};
}

/// The start state of mutants that take all of kDepth operations to show: a search of what comes before it
/// finds nothing for half a minute.
bool is_searched_from(std::string const& mutant, std::string const& start) {
  if (mutant == "entry_generation_ignored") {
    return start == "entry";
  }
  return mutant != "writer_mark_survives" || start == "two_snapshots";
}

/// The first violation over all geometries and start states, the shortest programs first.
std::optional<fuzz::FailedProgram> find_shortest(std::string const& mutant) {
  std::uint32_t const last = survivors().contains(mutant) ? 2 : kDepth;  // the rest is minutes
  for (std::uint32_t depth = 1; depth <= last; ++depth) {
    for (char const* geometry : geometries_of(mutant)) {
      for (fuzz::StartState const& start : fuzz::start_states()) {
        if (!is_searched_from(mutant, start.name)) {
          continue;
        }
        fuzz::SearchResult result =
            fuzz::search_exhaustively(model::load_geometry(geometry), start, depth);
        if (result.failed) {
          return std::move(result.failed);
        }
      }
    }
  }
  return std::nullopt;
}

std::set<std::string> invariants_of(fuzz::Failure const& failure) {
  std::set<std::string> ids;
  for (invariant::Violation const& violation : failure.violations) {
    ids.insert(violation.id);
  }
  return ids;
}

/// Programs of the search use one stream of a device that runs everything at once, and never fails.
std::vector<std::string> host_mutants() {
  std::vector<std::string> names;
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    if (!info.needs_streams && !info.needs_faults) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

class ExhaustiveMutant : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { fuzz::select_mutant("none"); }
};

TEST_P(ExhaustiveMutant, IsFoundByAShortProgram) {
  ASSERT_TRUE(fuzz::select_mutant(GetParam()));
  std::optional<fuzz::FailedProgram> const failed = find_shortest(GetParam());
  if (survivors().contains(GetParam())) {
    EXPECT_FALSE(failed) << "it is found now; take it off the list of survivors\n"
                         << fuzz::describe_failed(*failed);
    return;
  }
  ASSERT_TRUE(failed) << "no program of " << kDepth << " operations shows it";
  std::printf("%s on %s by", GetParam().c_str(), failed->trace.geometry.c_str());
  for (std::string const& id : invariants_of(failed->failure)) {
    std::printf(" %s", id.c_str());
  }
  std::printf(":\n");
  for (model::AnyOp const& op : failed->trace.ops) {
    std::printf("  %s\n", model::text_of(op).c_str());
  }

  // What is printed for a person is enough to see it again.
  std::string const text = model::print_trace(failed->trace);
  EXPECT_EQ(fuzz::describe_failed(*failed).find(text), 0U);
  model::Trace const trace = model::parse_trace(text, "printed");
  fuzz::Runner runner{model::geometry_from_reference(trace.geometry), {}};
  fuzz::ProgramResult const again = runner.run_ops(trace.ops);
  ASSERT_TRUE(again.failure);
  EXPECT_EQ(again.failure->op_index, failed->failure.op_index);
  EXPECT_EQ(invariants_of(*again.failure), invariants_of(failed->failure));
}

INSTANTIATE_TEST_SUITE_P(SmallScope,
                         ExhaustiveMutant,
                         testing::ValuesIn(host_mutants()),
                         [](auto const& mutant) { return mutant.param; });

}  // namespace
}  // namespace holdfast::test
