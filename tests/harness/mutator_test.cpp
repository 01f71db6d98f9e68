// SPDX-License-Identifier: Apache-2.0
// Goal: what the mutator makes is a program that mostly runs, keeps to its limits, and is as varied
// as the operations are. Method: many mutations in a row, from nothing and from generated programs,
// run with all invariants.
#include "fuzz/mutator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/codec.hpp"
#include "fuzz/op_fields.hpp"
#include "fuzz/swarm.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {
namespace {

class Mutator : public ::testing::Test {
 protected:
  model::Trace generated(std::string const& geometry, std::uint64_t seed) {
    Runner& runner = shelf_.find(geometry)->runner;
    static_cast<void>(runner.run_seed(seed));
    return {.geometry = geometry, .ops = runner.ops()};
  }

  GeometryShelf shelf_{{}};
  ProgramMutator mutator_{shelf_, {"tiny", "tiny-tight", "tiny-ring"}};
};

TEST_F(Mutator, SameSeedSameProgram) {
  model::Trace const program = generated("tiny", 5);
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    model::Trace first = program;
    model::Trace second = program;
    mutator_.mutate(first, seed);
    mutator_.mutate(second, seed);
    EXPECT_EQ(model::print_trace(first), model::print_trace(second));
    texts.insert(model::print_trace(first));
  }
  EXPECT_GT(texts.size(), 80U);
}

TEST_F(Mutator, ChangesSizesOfTheGeometry) {
  std::vector<std::string> const variants = variant_references({"tiny", "tiny-tight"}, 1);
  ASSERT_GT(variants.size(), 8U);
  for (std::string const& variant : variants) {
    EXPECT_NE(variant.find(' '), std::string::npos) << variant;
    EXPECT_NE(shelf_.find(variant), nullptr) << variant;
  }
  ProgramMutator mutator{shelf_, {"tiny"}, variants};
  std::set<std::string> met;
  std::uint32_t plain = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    model::Trace program;
    mutator.mutate(program, seed);
    plain += program.geometry == "tiny" ? 1U : 0U;
    met.insert(program.geometry);
    // It passes through the byte form, which libFuzzer keeps.
    EXPECT_EQ(decode_program(encode_program(program)).geometry, program.geometry);
    EXPECT_FALSE(shelf_.find(program.geometry)->runner.run_ops(program.ops).failure.has_value())
        << model::print_trace(program);
  }
  std::set<std::string> const different{variants.begin(), variants.end()};
  EXPECT_EQ(met.size(), different.size() + 1);
  EXPECT_NEAR(plain, 200, 50);
}

TEST_F(Mutator, ManyInARowStillMeanSomething) {
  std::size_t made = 0;
  std::size_t ran = 0;
  std::set<std::size_t> kinds;
  std::set<std::string> geometries;
  for (std::uint64_t chain = 0; chain < 80; ++chain) {
    model::Trace program;
    for (std::uint64_t i = 0; i < 20; ++i) {
      mutator_.mutate(program, model::mix(chain, i));
      if (program.ops.size() > kProgramOpLimit) {
        program.ops.resize(kProgramOpLimit);
      }
      ShelvedGeometry* const known = shelf_.find(program.geometry);
      ASSERT_NE(known, nullptr) << program.geometry;
      ASSERT_FALSE(known->runner.run_ops(program.ops).failure) << model::print_trace(program);
      made += program.ops.size();
      ran += known->runner.ops().size();
      geometries.insert(program.geometry);
      for (model::AnyOp const& op : program.ops) {
        kinds.insert(op.index());
        for (NameUse const& use : names_in(op)) {
          EXPECT_LT(use.value, model::kNameLimit);
        }
      }
      EXPECT_EQ(model::print_trace(decode_program(encode_program(program))),
                model::print_trace(program));
    }
  }
  EXPECT_EQ(kinds.size(), model::AllOps::kCount);
  EXPECT_EQ(geometries.size(), 3U);
  EXPECT_GT(ran * 10, made * 8) << ran << " of " << made << " operations could run";
}

TEST_F(Mutator, ACrossIsABeginningAndAPieceWithNamesOfItsOwn) {
  model::Trace const a = generated("tiny", 1);
  model::Trace const b = generated("tiny-ring", 2);
  std::size_t made = 0;
  std::size_t ran = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    model::Trace const program = mutator_.cross(a, b, seed);
    EXPECT_EQ(program.geometry, a.geometry);
    ASSERT_FALSE(program.ops.empty());
    EXPECT_EQ(program.ops[0].index(), a.ops[0].index());
    Runner& runner = shelf_.find(program.geometry)->runner;
    ASSERT_FALSE(runner.run_ops(program.ops).failure) << model::print_trace(program);
    made += program.ops.size();
    ran += runner.ops().size();
  }
  EXPECT_GT(ran * 10, made * 8) << ran << " of " << made << " operations could run";
}

TEST_F(Mutator, NothingCrossedWithSomethingIsSomething) {
  model::Trace const program = generated("tiny", 1);
  EXPECT_TRUE(mutator_.cross({}, {}, 1).ops.empty());
  EXPECT_EQ(mutator_.cross(program, {.geometry = "tiny"}, 1).ops.size(), program.ops.size());
  EXPECT_EQ(mutator_.cross({.geometry = "tiny"}, program, 1).ops.size(), program.ops.size());
}

TEST_F(Mutator, PayloadIsChangedByTheEngine) {
  std::uint32_t calls = 0;
  ProgramMutator mutator{shelf_, {"tiny"}, {}, [&](std::span<std::uint8_t> bytes) {
                           ++calls;
                           bytes[0] = 0x5A;
                         }};
  model::Trace const program{.geometry = "tiny",
                             .ops = {model::LoadDamagedOp{{0}, model::Damage::kFlip, 7}}};
  bool is_changed = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    model::Trace changed = program;
    mutator.mutate(changed, seed);
    is_changed = is_changed || model::print_trace(changed).find("at=90") != std::string::npos;
  }
  EXPECT_GT(calls, 0U);
  EXPECT_TRUE(is_changed);
}

TEST(GeometryShelf, RefusesWhatCannotBeRunHere) {
  GeometryShelf shelf{{}};
  EXPECT_EQ(shelf.find(""), nullptr);
  EXPECT_EQ(shelf.find("tinny"), nullptr);
  EXPECT_EQ(shelf.find("{"), nullptr);
  EXPECT_EQ(shelf.find("qwen3-next"), nullptr) << "gigabytes";
  ShelvedGeometry* const known = shelf.find("tiny");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(shelf.find("tiny"), known);
}

TEST(Dictionary, HasTheWordsOfEveryOperation) {
  std::ifstream file{HOLDFAST_DICTIONARY};
  std::ostringstream text;
  text << file.rdbuf();
  for (char const* name : model::AllOps::kNames) {
    EXPECT_NE(text.str().find("\"" + std::string{name} + "\"\n"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace holdfast::fuzz
