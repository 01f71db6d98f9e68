// SPDX-License-Identifier: Apache-2.0
// The toy engine behind the protocol: each of its seeded bugs must be convicted by the oracle that its row names, made small, and
// blamed on the operation that the row names; without a bug it must hold.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "fuzz/target/engine_campaign.hpp"
#include "fuzz/target/protocol_check.hpp"

namespace holdfast::test {
namespace {

struct ToyBug {
  char const* name;
  char const* oracle;
  char const* blamed;
};

constexpr ToyBug kToyBugs[] = {
#define HOLDFAST_TOY_BUG(name, oracle, blamed, text) {#name, oracle, blamed},
#include "adapters/toy/bugs.def"
};

fuzz::Target toy(std::string const& bug) {
  fuzz::Target target = fuzz::target_of_command({HOLDFAST_TOY});
  if (!bug.empty()) {
    target.command.insert(target.command.end(), {"--bug", bug});
  }
  target.limits = {.seconds = 2, .start_seconds = 30, .memory = 1ULL << 30U};
  return target;
}

TEST(ToyBugs, AreAtLeastTwenty) {
  EXPECT_GE(std::size(kToyBugs), 20U);
}

TEST(ToyBugs, AreConvictedMinimizedAndBlamed) {
  constexpr std::uint64_t kPrograms = 2000;
  std::size_t blamed = 0;
  for (ToyBug const& bug : kToyBugs) {
    SCOPED_TRACE(bug.name);
    fuzz::Target const target = toy(bug.name);
    fuzz::EngineResult const result = fuzz::run_engine(
        {.target = target, .seed = 1, .programs = kPrograms, .workers = 2, .until_first = true});
    ASSERT_TRUE(result.first_index.has_value());
    fuzz::EngineRunner runner{target, result.calibration};
    bool const slow = std::string{bug.oracle} == "HANG";
    fuzz::EngineFinding const found =
        fuzz::minimize(runner, {.program = result.first, .most_candidates = slow ? 12U : 600U});
    EXPECT_TRUE(found.reproduced);
    EXPECT_EQ(found.verdict.oracle, bug.oracle) << found.verdict.text;
    EXPECT_LE(found.program.ops.size(), 8U) << found.bucket.text();
    blamed += found.bucket.blamed == bug.blamed ? 1U : 0U;
  }
  EXPECT_GE(10 * blamed, 9 * std::size(kToyBugs)) << "blamed on the right operation: " << blamed;
}

TEST(ToyBugs, ThatShowAtOneKnobValueHoldAtTheOther) {
  struct Hidden {
    char const* bug;
    char const* knob;
    char const* value;
  };
  for (Hidden const& hidden :
       {Hidden{"slot_keeps_state", "depth", "0"}, Hidden{"short_window", "ubatch", "16"}}) {
    fuzz::Target target = toy(hidden.bug);
    target.knobs[hidden.knob] = {hidden.value};
    fuzz::EngineResult const result =
        fuzz::run_engine({.target = target, .seed = 1, .programs = 2000, .workers = 2});
    EXPECT_EQ(result.counts.failed, 0U) << hidden.bug;
  }
}

TEST(Toy, HoldsWithoutABug) {
  fuzz::Target const target = toy("");
  fuzz::EngineResult const result =
      fuzz::run_engine({.target = target, .seed = 7, .programs = 20000, .workers = 2});
  EXPECT_EQ(result.counts.programs, 20000U);
  EXPECT_EQ(result.counts.failed, 0U);
  EXPECT_GT(result.counts.compared, 100000U);
  EXPECT_GT(result.counts.refused, 1000U);
  EXPECT_GT(result.counts.weak, 10U);
}

/// A removal beyond the window may be refused or weak; what is drawn after it can only guess.
TEST(Toy, IsNotSentWhatMakesNoSenseAfterItsAnswers) {
  model::EngineTrace const trace = model::parse_engine_trace(
      "holdfast-trace 1\ntarget toy\nknobs depth=4 whole=0\n"
      "decode items=s0:9:1:none,s1:1:10:none\nsave_all entry=e0\ndecode items=s0:1:11:none\n"
      "remove sequence=s0 first=7\n"  // weak; then the load of all may be refused
      "shift sequence=s1 by=5\nload_all entry=e0\n"
      "shift sequence=s1 by=-4\n"  // below 0, since the load was not refused
      "decode items=s1:1:12:last\n",
      "test");
  fuzz::Target const target = toy("");
  fuzz::EngineRunner runner{target};
  model::Knobs const knobs =
      runner.session().hello().completed(model::parse_knobs(trace.knobs, "test"), "test");
  fuzz::EngineVerdict const verdict = runner.run({.knobs = knobs, .ops = trace.ops});
  EXPECT_FALSE(verdict.failed()) << verdict.text;
  ASSERT_EQ(verdict.steps.size(), trace.ops.size());
  EXPECT_EQ(verdict.steps[3].answer.reply, model::Reply::kWeak);
  EXPECT_EQ(verdict.skipped, 1U);
  EXPECT_TRUE(verdict.steps[6].skipped);
  EXPECT_EQ(verdict.steps[7].compared, 1U);
}

TEST(Toy, IsNotSentWhatAKnownFindingNeedsAfterAnUnlikelyAnswer) {
  model::EngineTrace const trace = model::parse_engine_trace(
      "holdfast-trace 1\ntarget toy\nknobs depth=4 whole=0\n"
      "decode items=s0:9:1:none,s1:1:10:none\nsave_all entry=e0\nsave sequence=s1 entry=e1\n"
      "remove sequence=s0 first=7\nload_all entry=e0\n"  // which may be refused, and is not
      "save sequence=s1 entry=e1\n",
      "test");
  fuzz::Target target = toy("");
  target.known = {{.name = "K", .bucket = "", .avoid = {{.kind = model::EngineKind::kSave}}}};
  fuzz::EngineRunner runner{target};
  model::Knobs const knobs =
      runner.session().hello().completed(model::parse_knobs(trace.knobs, "test"), "test");
  fuzz::EngineProgram program{.knobs = knobs, .ops = trace.ops};
  EXPECT_EQ(runner.run(program).skipped, 0U);
  program.avoids_all_but = "K";
  EXPECT_EQ(runner.run(program).skipped, 0U);
  program.avoids_all_but = "";
  fuzz::EngineVerdict const verdict = runner.run(program);
  ASSERT_EQ(verdict.steps.size(), trace.ops.size());
  EXPECT_EQ(verdict.skipped, 1U);
  EXPECT_TRUE(verdict.steps[5].skipped);
}

TEST(Toy, SpeaksTheProtocol) {
  fuzz::ProtocolReport const report = fuzz::check_protocol(toy(""), 60, [] { return false; });
  for (fuzz::ProtocolFault const& fault : report.faults) {
    ADD_FAILURE() << fault.what << " > " << fault.line << " < " << fault.answer;
  }
  EXPECT_TRUE(report.never_done.empty()) << report.never_done.front();
}

TEST(ProtocolCheck, TellsOfAnAdapterThatBabbles) {
  fuzz::ProtocolReport const report =
      fuzz::check_protocol(toy("babbles"), 60, [] { return false; });
  ASSERT_FALSE(report.faults.empty());
  EXPECT_EQ(report.faults.front().line, "clear");
}

TEST(KnownFindings, AreAvoidedAndTriedAgain) {
  fuzz::Target target = toy("keep_leaves_others");
  fuzz::Avoidance avoid{.kind = model::EngineKind::kKeep, .knobs = {{"unified", "0"}}};
  target.known = {{"C5", "POSITION keep decode+keep", {avoid}}};
  fuzz::EngineResult const result =
      fuzz::run_engine({.target = target, .seed = 3, .programs = 3000, .workers = 1});
  ASSERT_EQ(result.groups.size(), 1U);
  EXPECT_EQ(result.groups.begin()->second.known, "C5");
  EXPECT_FALSE(result.groups.begin()->second.is_variant);
  EXPECT_EQ(result.groups.begin()->second.sight.index % 16, 0U);
  EXPECT_GT(result.counts.left_out, 0U);
}

/// What has a known finding's bucket is something else when it does without the operations that this one needs.
TEST(KnownFindings, AreKnownByTheirOperations) {
  fuzz::Target target = toy("keep_leaves_others");
  fuzz::Avoidance avoid{.kind = model::EngineKind::kDamage};
  target.known = {{"other", "POSITION keep decode+keep", {avoid}}};
  fuzz::EngineResult const result =
      fuzz::run_engine({.target = target, .seed = 3, .programs = 300, .workers = 1});
  auto const found = result.groups.find("POSITION keep decode+keep");
  ASSERT_NE(found, result.groups.end());
  EXPECT_EQ(found->second.known, "");
}

}  // namespace
}  // namespace holdfast::test
