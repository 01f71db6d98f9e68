// SPDX-License-Identifier: Apache-2.0
// Goal: coverage tells apart what it says it does. Method: numbers of all states there and back;
// short programs, the state that each operation was taken in, and where it led, in words; counters
// of two programs.
#include "models/lineage/abstract_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"
#include "fuzz/targets/feedback.hpp"
#include "models/geometry/geometry.hpp"
#include "tests/support/ops_of.hpp"

namespace holdfast::fuzz {
namespace {

using model::AbstractState;
using model::AnyOp;
using model::Transition;
using test::ops_of;

/// "from | operation outcome | to" of each transition.
std::vector<std::string> transitions(std::string const& lines) {
  std::vector<std::string> texts;
  Runner runner{model::load_geometry("tiny"), {.on_transition = [&](Transition const& known) {
                  texts.push_back(text_of(known.from) + " | " + model::AllOps::kNames[known.op] +
                                  " " + model::outcome_name(known.outcome) + " | " +
                                  text_of(known.to));
                }}};
  EXPECT_FALSE(runner.run_ops(ops_of(lines)).failure);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(AbstractStates, KeysComeBack) {
  std::set<AbstractState> all;
  for (std::uint32_t key = 0; key < model::kStateKeyLimit; ++key) {
    AbstractState const state = AbstractState::from_key(key);
    EXPECT_EQ(state.key(), key);
    all.insert(state);
  }
  EXPECT_EQ(all.size(), model::kStateKeyLimit);
}

TEST(AbstractStates, SayWhereRowsEndAndWhoHasThem) {
  EXPECT_EQ(transitions("create sequence=s0\n"
                        "append sequence=s0 rows=4 token=1 piece=0 view=0\n"
                        "snapshot sequence=s0 snapshot=h0\n"
                        "append sequence=s0 rows=1 token=5 piece=0 view=0\n"
                        "rollback sequence=s0 snapshot=h0\n"
                        "truncate sequence=s0 length=3\n"),
            (Texts{"nothing | create ok | at rest, empty",
                   "at rest, empty | append ok | at rest, page edge",
                   "at rest, page edge | snapshot ok | "
                   "at rest, page edge, page shared, slot shared, others behind",
                   "at rest, page edge, page shared, slot shared, others behind | append ok | "
                   "at rest, inside a pool, page shared, others behind",  // the page of keys
                   "at rest, inside a pool, page shared, others behind | rollback ok | "
                   "at rest, page edge, short ring, page shared, slot shared, others behind",
                   "at rest, page edge, short ring, page shared, slot shared, others behind | "
                   "truncate kRefused | "
                   "at rest, page edge, short ring, page shared, slot shared, others behind"}));
}

TEST(AbstractStates, SayWhatIsOpen) {
  EXPECT_EQ(transitions("create sequence=s0\n"
                        "verify sequence=s0 rows=2 written=2 token=1 piece=0 view=0 mode=inplace\n"
                        "append sequence=s0 rows=1 token=3 piece=0 view=0\n"
                        "accept sequence=s0 keep=1\n"
                        "release sequence=s0\n"
                        "commit sequence=s0\n"),
            (Texts{"nothing | create ok | at rest, empty",
                   "at rest, empty | verify ok | round open in place, empty",
                   "round open in place, empty | append kBusy | round open in place, empty",
                   "round open in place, empty | accept ok | at rest, inside a pool",
                   "at rest, inside a pool | release ok | gone",
                   "gone | commit kStale | gone"}));
}

TEST(AbstractStates, AnOperationWithoutSequenceIsAboutWhatItNames) {
  EXPECT_EQ(transitions("create sequence=s0\n"
                        "append sequence=s0 rows=2 token=1 piece=0 view=0\n"
                        "snapshot sequence=s0 snapshot=h0\n"
                        "capture snapshot=h0 entry=e0 scope=0 extra=0\n"
                        "fork snapshot=h0 sequence=s1\n"
                        "erase entry=e0\n"),
            (Texts{"nothing | create ok | at rest, empty",
                   "at rest, empty | append ok | at rest, inside a pool",
                   "at rest, inside a pool | snapshot ok | "
                   "at rest, inside a pool, page shared, slot shared, others behind",
                   "snapshot, inside a pool, page shared, slot shared | capture ok | "
                   "snapshot, inside a pool, page shared, slot shared",
                   "snapshot, inside a pool, page shared, slot shared | fork ok | "
                   "at rest, inside a pool, page shared, slot shared, others behind",
                   "entry, inside a pool, page shared, slot shared | erase ok | entry gone"}));
}

TEST(Feedback, TheSectionIsThere) {
  EXPECT_EQ(counter_section().size(), kCounterCount);
}

std::vector<std::uint8_t> lit_by(std::string const& lines) {
  std::span<std::uint8_t> const counters = counter_section();
  std::fill(counters.begin(), counters.end(), std::uint8_t{0});
  Runner runner{model::load_geometry("tiny"), {.on_transition = light}};
  EXPECT_FALSE(runner.run_ops(ops_of(lines)).failure);
  return {counters.begin(), counters.end()};
}

TEST(Feedback, OtherProgramsLightOtherCounters) {
  std::string const begin = "create sequence=s0\n";
  auto const appended = lit_by(begin + "append sequence=s0 rows=4 token=1 piece=0 view=0\n");
  auto const verified =
      lit_by(begin + "verify sequence=s0 rows=2 written=2 token=1 piece=0 view=0\n");
  EXPECT_EQ(std::count(appended.begin(), appended.end(), 1), 2);
  EXPECT_EQ(std::count(verified.begin(), verified.end(), 1), 2);
  EXPECT_NE(appended, verified);
}

}  // namespace
}  // namespace holdfast::fuzz
