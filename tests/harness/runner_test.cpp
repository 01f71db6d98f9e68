// SPDX-License-Identifier: Apache-2.0
// Goal: a seed is a program, for ever and on any number of threads; the programs are worth running;
// what a run finds can be run again. Method: run twice and compare; count what is generated.
#include "fuzz/runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/run.hpp"
#include "models/geometry/geometry.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/geometries.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::AnyOp;
using model::Observation;
using test::all_geometries;

/// How often each kind of operation came, and how often it succeeded.
struct Tally {
  std::array<std::uint64_t, AllOps::kCount> reached{};
  std::array<std::uint64_t, AllOps::kCount> succeeded{};
  std::uint64_t operations = 0;
  std::uint64_t writes = 0;  ///< appends, begins, rounds, and steps of them
  std::uint64_t rows = 0;    ///< that they wrote
};

RunnerOptions counting(Tally& tally) {
  return {.on_step = [&tally](std::uint32_t /*index*/,
                              AnyOp const& op,
                              Observation const& /*want*/,
                              Observation const& got) {
    ++tally.operations;
    ++tally.reached[op.index()];
    tally.succeeded[op.index()] += got.ok ? 1 : 0;
    if (std::holds_alternative<model::AppendOp>(op) || std::holds_alternative<model::BeginOp>(op) ||
        std::holds_alternative<model::VerifyOp>(op) ||
        std::holds_alternative<model::WriteStepOp>(op) || model::step_items(op) != nullptr) {
      ++tally.writes;
      tally.rows += got.ok ? std::visit([](auto const& known) { return known.rows(); }, op) : 0;
    }
  }};
}

Tally tally_of(std::string const& geometry, std::uint64_t operations) {
  Tally tally;
  Runner runner{model::load_geometry(geometry), counting(tally)};
  for (std::uint64_t index = 0; tally.operations < operations; ++index) {
    EXPECT_FALSE(runner.run_seed(program_seed(1, index)).failure) << "program " << index;
  }
  return tally;
}

TEST(Runner, ASeedIsAProgram) {
  for (model::Geometry const& geometry : all_geometries()) {
    SCOPED_TRACE(geometry.name);
    Runner runner{geometry, {}};
    std::uint64_t const first = runner.run_seed(42).digest;
    std::vector<AnyOp> const ops = runner.ops();
    EXPECT_NE(runner.run_seed(43).digest, first);
    EXPECT_EQ(runner.run_seed(42).digest, first) << "a runner keeps nothing of the last program";
    EXPECT_EQ(runner.ops().size(), ops.size());
    Runner other{geometry, {.compare = false, .keep_log = true, .deep_every = 1}};
    EXPECT_EQ(other.run_seed(42).digest, first) << "what is checked does not matter";
  }
}

TEST(Runner, AStoredTraceIsTheSameProgram) {
  for (model::Geometry const& geometry : all_geometries()) {
    SCOPED_TRACE(geometry.name);
    Runner runner{geometry, {}};
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      ProgramResult const want = runner.run_seed(seed);
      model::Trace const trace =
          model::parse_trace(model::print_trace({.comments = {},
                                                 .geometry = model::geometry_reference(geometry),
                                                 .device = "host",
                                                 .ops = runner.ops()}),
                             "x");
      Runner again{model::geometry_from_reference(trace.geometry), {}};
      ProgramResult const got = again.run_ops(trace.ops);
      ASSERT_EQ(got.digest, want.digest) << "seed " << seed;
      ASSERT_EQ(got.counts.operations, want.counts.operations);
      ASSERT_EQ(got.counts.rows, want.counts.rows);
    }
  }
}

TEST(Runner, DigestsAreOfTextAnswersAndBytes) {
  Runner runner{model::load_geometry("tiny"), {}};
  std::vector<AnyOp> const ops{model::CreateOp{{0}}, model::AppendOp{{0}, 3, 1, 0, 0}};
  std::vector<AnyOp> const other_style{model::CreateOp{{0}}, model::AppendOp{{0}, 3, 1, 1, 0}};
  std::vector<AnyOp> const other_tokens{model::CreateOp{{0}}, model::AppendOp{{0}, 3, 2, 0, 0}};
  std::uint64_t const digest = runner.run_ops(ops).digest;
  EXPECT_EQ(runner.run_ops(ops).digest, digest);
  EXPECT_NE(runner.run_ops(other_style).digest, digest);
  EXPECT_NE(runner.run_ops(other_tokens).digest, digest);
}

TEST(Runner, WhatHasNoPreconditionIsSkipped) {
  Runner runner{model::load_geometry("tiny"), {}};
  std::vector<AnyOp> const ops{model::AppendOp{{0}, 3, 1, 0, 0},  // nothing has this name yet
                               model::CreateOp{{0}},
                               model::CreateOp{{0}},
                               model::RollbackOp{{0}, {5}},
                               model::AppendOp{{0}, 3, 0, 0, 0},  // token 0 is no token
                               model::AppendOp{{0}, 3, 1, 0, 0}};
  ProgramResult const result = runner.run_ops(ops);
  EXPECT_FALSE(result.failure);
  EXPECT_EQ(result.counts.operations, 2U);
  EXPECT_EQ(runner.ops().size(), 2U);
  EXPECT_FALSE(runner.run_ops({}).failure) << "an empty program holds";
}

TEST(RunMany, DigestDoesNotDependOnThreads) {
  RunPlan plan{.geometries = all_geometries(), .seed = 5, .operations = 8000};
  RunResult const one = run_many(plan);
  ASSERT_FALSE(one.failed);
  EXPECT_GE(one.counts.operations, 8000U);
  plan.threads = 2;
  RunResult const two = run_many(plan);
  EXPECT_EQ(two.digest, one.digest);
  EXPECT_EQ(two.counts.operations, one.counts.operations);
  EXPECT_EQ(two.counts.programs, one.counts.programs);
  EXPECT_EQ(two.counts.checks(), one.counts.checks());
  plan.seed = 6;
  EXPECT_NE(run_many(plan).digest, one.digest);
}

TEST(RunMany, RunsTheLeastPrefixOfPrograms) {
  RunPlan const plan{.geometries = {model::load_geometry("tiny")}, .seed = 9, .operations = 1000};
  RunResult const result = run_many(plan);
  std::uint64_t operations = 0;
  std::uint64_t programs = 0;
  while (operations < plan.operations) {
    operations += program_length(program_seed(plan.seed, programs++));
  }
  EXPECT_EQ(result.counts.programs, programs);
  EXPECT_EQ(result.counts.operations, operations);
}

TEST(RunMany, StopsBetweenOperations) {
  std::uint32_t asked = 0;
  RunPlan const plan{.geometries = {model::load_geometry("tiny")},
                     .seconds = 3600,
                     .should_stop = [&] { return ++asked > 3; }};
  EXPECT_EQ(run_many(plan).counts.operations, 3U);
  EXPECT_EQ(run_many({.geometries = plan.geometries, .seconds = 1e-9}).counts.operations, 0U);
}

TEST(Programs, HaveEightTo64OperationsMedian24) {
  constexpr std::uint32_t kPrograms = 10001;
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t index = 0; index < kPrograms; ++index) {
    lengths.push_back(program_length(program_seed(3, index)));
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_EQ(lengths.front(), 8U);
  EXPECT_EQ(lengths.back(), 64U);
  EXPECT_NEAR(lengths[kPrograms / 2], 24, 1);
  Runner runner{model::load_geometry("tiny"), {}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(runner.run_seed(seed).counts.operations, program_length(seed));
  }
}

TEST(Programs, ReachEveryKindInEveryGeometry) {
  Tally all;
  for (std::string const& name : model::default_geometry_names()) {
    SCOPED_TRACE(name);
    Tally const tally = tally_of(name, 10000);
    for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
      std::string const name_of_kind = AllOps::kNames[kind];
      if (AllOps::kWeights[kind].mix == 0) {
        EXPECT_EQ(tally.reached[kind], 0U) << name_of_kind;
        continue;
      }
      EXPECT_GE(tally.reached[kind], 20U) << AllOps::kNames[kind];
      if (name_of_kind == "close") {
        EXPECT_EQ(tally.succeeded[kind], 0U) << "a close that succeeds would end the program";
      } else if (name_of_kind == "load_damaged") {
        EXPECT_EQ(tally.succeeded[kind], 0U) << "damaged bytes are refused";
      } else {
        EXPECT_GE(tally.succeeded[kind], 1U) << AllOps::kNames[kind];
      }
    }
    all.operations += tally.operations;
    all.writes += tally.writes;
    all.rows += tally.rows;
  }
  RecordProperty("write_share_percent", static_cast<int>(100 * all.writes / all.operations));
  EXPECT_GE(100 * all.writes, 40 * all.operations) << all.writes << " of " << all.operations;
  EXPECT_GE(10 * all.rows, 25 * all.writes) << all.rows << " rows in " << all.writes;
}

TEST(Programs, HaveFaultsWhereTheyAreAskedFor) {
  std::uint64_t faults = 0;
  std::uint64_t failed = 0;
  std::uint64_t tainted = 0;
  Runner runner{model::load_geometry("tiny-ranks"),
                {.on_step = [&](std::uint32_t /*index*/,
                                AnyOp const& op,
                                Observation const& /*want*/,
                                Observation const& got) {
                  faults += std::holds_alternative<model::FaultOp>(op) ? 1U : 0U;
                  failed += got.is(ErrorCode::kDeviceFailed) ? 1U : 0U;
                  tainted += got.is(ErrorCode::kTainted) ? 1U : 0U;
                }}};
  Generator const generator = runner.generator().with_faults();
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    EXPECT_FALSE(runner.run_seed(seed, generator).failure) << "seed " << seed;
  }
  EXPECT_GE(faults, 400U);
  EXPECT_GE(failed, 200U);
  EXPECT_GE(tainted, 10U);
}

/// Little storage: the bound of what must succeed is met all the time.
TEST(Programs, HoldWhereStorageIsScarce) {
  std::uint64_t exhausted = 0;
  for (char const* sizes : {R"("slots": 12, "pages": 18, "ring_pages": 0)",
                            R"("slots": 10, "pages": 0, "ring_pages": 16)"}) {
    std::string const text = std::string{R"({"name": "scarce", "page_rows": 4, "chunk_pages": 2,
        "capacity": {"sequences": 4, "tokens": 64, "largest_round": 8, "snapshots": 6, )"} +
                             sizes + R"(},
        "layers": [
          {"planes": [{"kind": "attention_kv", "heads": 1, "head_dim": 4}]},
          {"planes": [{"kind": "latent", "width": 8},
                      {"kind": "indexer", "index_width": 8, "pool": 4, "key_width": 4,
                       "ring_rows": 12}]},
          {"planes": [{"kind": "recurrent", "heads": 1, "d_k": 4, "d_v": 4}]}]})";
    Tally tally;
    RunnerOptions options = counting(tally);
    auto const count = options.on_step;
    options.on_step =
        [&](std::uint32_t index, AnyOp const& op, Observation const& want, Observation const& got) {
          count(index, op, want, got);
          bool const is_begin = std::holds_alternative<model::AppendOp>(op) ||
                                std::holds_alternative<model::VerifyOp>(op);
          exhausted += is_begin && got.is(ErrorCode::kExhausted) ? 1U : 0U;
        };
    Runner runner{model::parse_geometry(text, "scarce"), options};
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      ProgramResult const result = runner.run_seed(seed);
      ASSERT_FALSE(result.failure)
          << model::print_trace({.comments = {},
                                 .geometry = model::geometry_reference(runner.geometry()),
                                 .device = "host",
                                 .ops = runner.ops()})
          << describe_failure(*result.failure, runner.ops());
    }
  }
  EXPECT_GT(exhausted, 100U);
}

TEST(Contract, ThatBreaksIsAViolation) {
  // The hook is called as the library would call it, in the middle of an operation.
  RunnerOptions const options{.on_step = [](std::uint32_t index,
                                            AnyOp const& /*op*/,
                                            Observation const& /*want*/,
                                            Observation const& /*got*/) {
    if (index == 1) {
      contract_failed("length <= limit", "/anywhere/lib/src/cache/core.cpp", 77);
    }
  }};
  Runner runner{model::load_geometry("tiny"), options};
  std::vector<AnyOp> const ops{
      model::CreateOp{{0}}, model::AppendOp{{0}, 3, 1, 0, 0}, model::ReleaseOp{{0}}};
  ProgramResult const result = runner.run_ops(ops);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->op_index, 1U);
  ASSERT_EQ(result.failure->violations.size(), 1U);
  EXPECT_STREQ(result.failure->violations[0].id, "CONTRACT");
  EXPECT_EQ(result.failure->violations[0].text,
            "contract broken at lib/src/cache/core.cpp:77: length <= limit");
  EXPECT_EQ(runner.ops().size(), 2U) << "the rest is not run";
  std::vector<AnyOp> const good{model::CreateOp{{0}}};
  EXPECT_FALSE(runner.run_ops(good).failure) << "the runner goes on";
}

TEST(Programs, DoNotDependOnWhatTheirRunnerRanBefore) {
  // A runner keeps its memory from program to program; what a program is must come from its seed
  // alone.
  std::uint64_t different = 0;
  for (std::string const& name : model::default_geometry_names()) {
    model::Geometry const geometry = model::load_geometry(name);
    fuzz::Runner reused{geometry, {}};
    for (std::uint64_t index = 0; index < test::effort(1000); ++index) {
      std::uint64_t const seed = fuzz::program_seed(7, index);
      fuzz::Runner fresh{geometry, {}};
      different += reused.run_seed(seed).digest == fresh.run_seed(seed).digest ? 0U : 1U;
    }
  }
  EXPECT_EQ(different, 0U);
}

}  // namespace
}  // namespace holdfast::fuzz
