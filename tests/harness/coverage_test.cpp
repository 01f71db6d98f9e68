// SPDX-License-Identifier: Apache-2.0
// Goal: coverage keeps what was seen and by which way, adds up whatever the order, and knows what to
// try next. Method: small programs whose transitions are known; runs of the generator, apart and
// together, with one and more threads.
#include "models/lineage/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/frontier.hpp"
#include "fuzz/run.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

using model::AbstractState;
using model::Coverage;
using model::CoverageEdge;

Coverage seen_by(std::string const& lines) {
  Coverage coverage;
  model::Trace const trace =
      model::parse_trace("holdfast-trace 1\ngeometry tiny\ndevice host\n" + lines, "test");
  EXPECT_EQ(replay_for_coverage({trace}, coverage), 1U);
  return coverage;
}

Coverage random_run(std::uint64_t seed, std::uint64_t operations, std::uint32_t threads = 1) {
  Coverage coverage;
  RunResult const result = run_many({.geometries = {model::load_geometry("tiny")},
                                     .seed = seed,
                                     .operations = operations,
                                     .threads = threads,
                                     .coverage = &coverage});
  EXPECT_FALSE(result.failed);
  EXPECT_EQ(coverage.programs(), result.counts.programs);
  EXPECT_GE(coverage.transitions(), result.counts.operations);
  return coverage;
}

std::vector<std::string> edges_of(Coverage const& coverage) {
  std::vector<std::string> texts;
  for (auto const& [edge, ends] : coverage.edges()) {
    for (auto const& [end, count] : ends) {
      texts.push_back(text_of(edge) + " -> " + text_of(AbstractState::from_key(end)) + " x" +
                      std::to_string(count));
    }
  }
  return texts;
}

TEST(Coverage, KeepsEdgesAndTheShortestWay) {
  Coverage coverage = seen_by(
      "create sequence=s0\n"
      "append sequence=s0 rows=1 token=1 piece=0 view=0\n"
      "append sequence=s0 rows=1 token=2 piece=0 view=0\n"
      "append sequence=s0 rows=2 token=3 piece=0 view=0\n"
      "commit sequence=s0\n");
  EXPECT_EQ(
      edges_of(coverage),
      (std::vector<std::string>{"nothing | create ok -> at rest, empty x1",
                                "at rest, empty | append ok -> at rest, inside a pool x1",
                                "at rest, empty | commit kStale -> at rest, empty x1",
                                "at rest, inside a pool | append ok -> at rest, page edge x1",
                                "at rest, inside a pool | append ok -> at rest, inside a pool x1"}))
      << "a refusal for what is not open tells no more than that it was at rest";
}

TEST(Coverage, AShorterProgramIsTheWitness) {
  Coverage coverage = seen_by(
      "create sequence=s0\n"
      "append sequence=s0 rows=3 token=1 piece=0 view=0\n"
      "append sequence=s0 rows=1 token=4 piece=0 view=0\n");
  std::uint32_t const state =
      AbstractState{.life = model::Life::kAtRest, .edge = model::Edge::kPageEdge}.key();
  ASSERT_NE(coverage.witness(state), nullptr);
  EXPECT_EQ(coverage.witness(state)->ops.size(), 3U);
  EXPECT_EQ(coverage.witness(AbstractState{.life = model::Life::kTainted}.key()), nullptr);
  coverage.add(seen_by("create sequence=s0\nappend sequence=s0 rows=4 token=1 piece=0 view=0\n"));
  EXPECT_EQ(coverage.witness(state)->ops.size(), 2U);
  EXPECT_EQ(coverage.programs(), 2U);
}

TEST(Coverage, AddsUpInAnyOrder) {
  Coverage const a = random_run(1, 3000);
  Coverage const b = random_run(2, 3000);
  Coverage ab = a;
  ab.add(b);
  Coverage ba = b;
  ba.add(a);
  EXPECT_EQ(ab.print(), ba.print());
  EXPECT_EQ(ab.transitions(), a.transitions() + b.transitions());
  EXPECT_GT(ab.edge_count(), a.edge_count());
  EXPECT_TRUE(ab.missing(a).empty());
  EXPECT_TRUE(ab.missing(b).empty());
  EXPECT_EQ(a.missing(ab).size(), ab.edge_count() - a.edge_count());
}

TEST(Coverage, DoesNotDependOnThreads) {
  Coverage const one = random_run(3, 20'000, 1);
  Coverage const three = random_run(3, 20'000, 3);
  EXPECT_EQ(edges_of(one), edges_of(three));
}

TEST(Coverage, ComesBackFromItsFile) {
  Coverage const coverage = random_run(4, 5000);
  std::string const text = coverage.print();
  EXPECT_EQ(Coverage::parse(text, "file").print(), text);
}

TEST(Coverage, CountsStayAtTheLargestNumber) {
  std::string text = seen_by("create sequence=s0\n").print();
  for (char const* const count : {"\"programs\": ", "\"count\": "}) {
    std::size_t const at = text.find(count) + std::string{count}.size();
    text.replace(at, text.find_first_of(",\n", at) - at, std::to_string(UINT64_MAX));
  }
  Coverage coverage = Coverage::parse(text, "file");
  coverage.add(Coverage::parse(text, "file"));
  coverage.add(seen_by("create sequence=s0\n"));
  EXPECT_EQ(coverage.programs(), UINT64_MAX);
  EXPECT_EQ(coverage.transitions(), UINT64_MAX);
}

TEST(Coverage, RefusesOtherFiles) {
  std::string const good = seen_by("create sequence=s0\n").print();
  auto const refusal = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    if (auto const at = text.find(from); at != std::string::npos && !from.empty()) {
      text.replace(at, from.size(), to);
    }
    try {
      static_cast<void>(Coverage::parse(text, "file"));
    } catch (model::InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{"was read"};
  };
  EXPECT_EQ(refusal("", ""), "was read");
  EXPECT_NE(refusal("{", "(").find("file:1:"), std::string::npos);
  EXPECT_NE(refusal("\"holdfast_coverage\": 1", "\"holdfast_coverage\": 2").find("another version"),
            std::string::npos);
  EXPECT_NE(refusal("\"op\": \"create\"", "\"op\": \"crate\"").find("no operation"),
            std::string::npos);
  EXPECT_NE(refusal("\"outcome\": \"ok\"", "\"outcome\": \"fine\"").find("no outcome"),
            std::string::npos);
  EXPECT_NE(refusal("\"to\": ", "\"to\": 99999").find("must be less"), std::string::npos);
  EXPECT_NE(refusal("geometry tiny", "geomtry tiny").find("geomtry"), std::string::npos);
}

TEST(Frontier, UnseenIsWhatWasTakenElsewhere) {
  Coverage const coverage = seen_by(
      "create sequence=s0\n"
      "append sequence=s0 rows=4 token=1 piece=0 view=0\n"
      "truncate sequence=s0 length=4\n");
  std::vector<std::string> texts;
  for (model::UnseenEdge const& edge : coverage.unseen()) {
    texts.push_back(std::to_string(edge.distance) + " " +
                    text_of(AbstractState::from_key(edge.from)) + " | " +
                    model::AllOps::kNames[edge.op]);
    EXPECT_EQ(edge.path.size(), edge.distance + 1);
    EXPECT_EQ(edge.path.front(), AbstractState{}.key());
    EXPECT_EQ(edge.path.back(), edge.from);
  }
  EXPECT_EQ(
      texts,
      (std::vector<std::string>{"1 at rest, empty | truncate", "2 at rest, page edge | append"}));
}

TEST(Frontier, SeedsTakeWhatWasUnseen) {
  Coverage coverage = random_run(5, 20'000);
  std::size_t const unseen = coverage.unseen().size();
  ASSERT_GT(unseen, 20U);
  Coverage const before = coverage;
  FrontierResult const result = push_frontier(coverage, 1, 24);
  EXPECT_TRUE(result.failed.empty());
  EXPECT_GT(result.reached * 2, unseen);
  EXPECT_LT(coverage.unseen().size(), unseen);
  // Each seed brings something by itself.
  ASSERT_FALSE(result.seeds.empty());
  for (std::size_t i = 0; i < result.seeds.size(); i += 10) {
    Coverage alone;
    EXPECT_EQ(replay_for_coverage({result.seeds[i]}, alone), 1U);
    EXPECT_FALSE(before.missing(alone).empty()) << model::print_trace(result.seeds[i]);
  }
  Coverage again = before;
  EXPECT_EQ(push_frontier(again, 1, 24).seeds.size(), result.seeds.size());
  EXPECT_EQ(again.print(), coverage.print());
}

}  // namespace
}  // namespace holdfast::fuzz
