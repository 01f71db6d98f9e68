// SPDX-License-Identifier: Apache-2.0
// Goal: what the minimizer knows of operations it knows of every operation. Method: small programs
// written as traces; properties of the forms of operations that the generator draws.
#include "fuzz/op_fields.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/dependencies.hpp"
#include "fuzz/runner.hpp"
#include "models/trace.hpp"
#include "tests/support/ops_of.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using test::ops_of;

std::string text_of(std::vector<AnyOp> const& ops) {
  std::string text;
  for (AnyOp const& op : ops) {
    text += model::text_of(op) + "\n";
  }
  return text;
}

std::vector<std::string> forms_of(std::string const& line) {
  std::vector<std::string> forms;
  for (AnyOp const& form : simpler_forms(ops_of(line).front())) {
    forms.push_back(model::text_of(form));
  }
  return forms;
}

TEST(OpFields, OperationsThatDifferHaveDigestsThatDiffer) {
  std::map<std::uint64_t, std::string> known;
  std::vector<AnyOp> ops = ops_of(
      "step items=pad:2 piece=0 view=0\n"
      "step items=pad:3 piece=0 view=0\n"
      "step items=append:s0:1:1:1,pad:1 piece=0 view=0\n"
      "step items=pad:1,append:s0:1:1:1 piece=0 view=0\n"
      "step items=append:s1:1:1:1,pad:1 piece=0 view=0\n"
      "step items=append:s0:1:0:1,pad:1 piece=0 view=0\n");
  for (std::string const& name : model::default_geometry_names()) {
    Runner runner{model::load_geometry(name), {}};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      static_cast<void>(runner.run_seed(seed));
      ops.insert(ops.end(), runner.ops().begin(), runner.ops().end());
    }
  }
  for (AnyOp const& op : ops) {
    std::string const text = model::text_of(op);
    EXPECT_EQ(known.emplace(digest_of(op), text).first->second, text);
  }
  EXPECT_GT(known.size(), 1500U);
}

TEST(OpFields, NamesAreFoundInFieldsAndItems) {
  using Names = std::vector<NameUse>;
  EXPECT_EQ(names_in(ops_of("fork snapshot=h2 sequence=s5\n")[0]),
            (Names{{NameKind::kSnapshot, 2}, {NameKind::kSequence, 5}}));
  EXPECT_EQ(names_in(ops_of("step items=pad:2,verify:s3:4:2:4,append:s1:1:1:9,verify:s3:1:0:9 "
                            "piece=0 view=0\n")[0]),
            (Names{{NameKind::kSequence, 3}, {NameKind::kSequence, 1}}));
  EXPECT_EQ(
      names_in(ops_of("restore entry=e7 first=1 rest=0 token=1 scope=0 limit=1 sequence=s0\n")[0]),
      (Names{{NameKind::kEntry, 7}, {NameKind::kSequence, 0}}));
  EXPECT_TRUE(names_in(ops_of("close\n")[0]).empty());
}

TEST(OpFields, NamesAndTokensAreNumberedInOrder) {
  std::vector<AnyOp> ops = ops_of(
      "create sequence=s9\n"
      "append sequence=s9 rows=3 token=40 piece=0 view=0\n"
      "snapshot sequence=s9 snapshot=h4\n"
      "fork snapshot=h4 sequence=s2\n"
      "step items=verify:s2:2:1:80,pad:3,append:s9:4:4:90 piece=0 view=0\n"
      "capture snapshot=h4 entry=e8 scope=0 extra=0\n"
      "restore entry=e8 first=3 rest=2 token=99 scope=0 limit=64 sequence=s3\n"
      "append sequence=s2 rows=1 token=7 piece=0 view=0\n");
  number_names(ops);
  number_tokens(ops);
  EXPECT_EQ(text_of(ops),
            "create sequence=s0\n"
            "append sequence=s0 rows=3 token=1 piece=0 view=0\n"
            "snapshot sequence=s0 snapshot=h0\n"
            "fork snapshot=h0 sequence=s1\n"
            "step items=verify:s1:2:1:4,pad:3,append:s0:4:4:6 piece=0 view=0\n"
            "capture snapshot=h0 entry=e0 scope=0 extra=0\n"
            "restore entry=e0 first=3 rest=2 token=10 scope=0 limit=64 sequence=s2\n"
            "append sequence=s1 rows=1 token=12 piece=0 view=0\n");
}

TEST(OpFields, FormsAreSimplerFromTheSimplestOn) {
  EXPECT_EQ(forms_of("truncate sequence=s1 length=9\n"),
            (std::vector<std::string>{"truncate sequence=s1 length=0",
                                      "truncate sequence=s1 length=1",
                                      "truncate sequence=s1 length=4",
                                      "truncate sequence=s1 length=8"}));
  // Rows and what is written of them go down together first.
  std::vector<std::string> const begin =
      forms_of("begin sequence=s0 rows=2 written=2 token=5 piece=0 view=0 mode=inplace skip=3\n");
  ASSERT_GE(begin.size(), 3U);
  EXPECT_EQ(begin[0],
            "begin sequence=s0 rows=0 written=0 token=5 piece=0 view=0 mode=inplace skip=3");
  EXPECT_EQ(begin[1],
            "begin sequence=s0 rows=0 written=2 token=5 piece=0 view=0 mode=inplace skip=3");
  EXPECT_NE(std::find(begin.begin(),
                      begin.end(),
                      "begin sequence=s0 rows=2 written=2 token=5 piece=0 view=0 skip=3"),
            begin.end());
  EXPECT_NE(std::find(begin.begin(),
                      begin.end(),
                      "begin sequence=s0 rows=2 written=2 token=5 piece=0 view=0 mode=inplace"),
            begin.end());
  std::vector<std::string> const step =
      forms_of("step items=append:s0:2:2:1,pad:1 piece=0 view=1\n");
  EXPECT_EQ(step.front(), "step items=pad:1 piece=0 view=1");
  EXPECT_NE(std::find(step.begin(), step.end(), "step items=append:s0:1:1:1,pad:1 piece=0 view=1"),
            step.end());
  EXPECT_TRUE(forms_of("release sequence=s3\n").empty());
}

TEST(OpFields, SimplifyingEndsAndKeepsNamesAndTokens) {
  for (std::string const& name : model::default_geometry_names()) {
    Runner runner{model::load_geometry(name), {}};
    std::set<std::size_t> kinds;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      static_cast<void>(runner.run_seed(seed, runner.generator().with_faults()));
      for (AnyOp op : std::vector<AnyOp>{runner.ops()}) {
        kinds.insert(op.index());
        std::set<std::string> seen{model::text_of(op)};
        for (std::vector<AnyOp> forms = simpler_forms(op); !forms.empty();
             forms = simpler_forms(op)) {
          // The last form is the smallest step.
          EXPECT_TRUE(seen.insert(model::text_of(forms.back())).second) << model::text_of(op);
          EXPECT_EQ(forms.back().index(), op.index());
          op = forms.back();
          if (seen.size() > 200) {
            break;  // a large number goes down one by one
          }
        }
      }
    }
    std::set<std::string> never;
    for (std::size_t kind = 0; kind < model::AllOps::kCount; ++kind) {
      model::Weight const& own = model::AllOps::kWeights[kind];
      if (own.mix + own.fault_share != 0 && kinds.count(kind) == 0) {
        never.insert(model::AllOps::kNames[kind]);
      }
    }
    EXPECT_LE(never.size(), 1U) << name << ": " << testing::PrintToString(never);
  }
}

TEST(Dependencies, SliceFollowsSequencesAndWhatMadeThings) {
  std::vector<AnyOp> const ops = ops_of(
      "create sequence=s0\n"                                // 0
      "create sequence=s1\n"                                // 1
      "append sequence=s0 rows=3 token=1 piece=0 view=0\n"  // 2
      "append sequence=s1 rows=3 token=4 piece=0 view=0\n"  // 3
      "snapshot sequence=s0 snapshot=h0\n"                  // 4
      "fork snapshot=h0 sequence=s2\n"                      // 5
      "create sequence=s3\n"                                // 6
      "append sequence=s0 rows=1 token=7 piece=0 view=0\n"  // 7
      "rollback sequence=s1 snapshot=h0\n");                // 8
  using Indices = std::vector<std::uint32_t>;
  EXPECT_EQ(backward_slice(ops, Links::kNeeded), (Indices{0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(backward_slice(ops, Links::kAll), (Indices{0, 1, 2, 3, 4, 5, 8}));
  EXPECT_TRUE(backward_slice({}, Links::kAll).empty());
}

TEST(Dependencies, OrderIsThatOfKindsWhereOperationsCommute) {
  std::vector<AnyOp> const one = ops_of(
      "create sequence=s0\n"
      "append sequence=s0 rows=3 token=1 piece=0 view=0\n"
      "create sequence=s1\n"
      "snapshot sequence=s0 snapshot=h0\n"
      "append sequence=s1 rows=3 token=4 piece=0 view=0\n");
  EXPECT_EQ(canonical_order(one), (std::vector<std::uint32_t>{0, 2, 1, 4, 3}));
  EXPECT_TRUE(canonical_order({}).empty());
}

}  // namespace
}  // namespace holdfast::fuzz
