// SPDX-License-Identifier: Apache-2.0
// Goal: what operations say about themselves is true. Method: random programs run on the model alone,
// and whatever an operation was seen to do must be among its effects; each effect must be seen.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/op_fields.hpp"
#include "fuzz/plainer.hpp"
#include "models/ops/names.hpp"
#include "models/trace.hpp"
#include "tests/support/ops_of.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::AnyOp;
using model::Effects;
using model::Model;
using model::Thing;
using model::Things;
using test::ops_of;

/// What can be counted of a model.
struct Totals {
  std::size_t sequences = 0;
  std::size_t snapshots = 0;
  std::size_t entries = 0;
  std::size_t appends = 0;
  std::size_t rounds = 0;
};

Totals totals_of(Model const& model) {
  Totals totals{.sequences = model.live_sequences().size(),
                .snapshots = model.live_snapshots().size(),
                .entries = model.live_entries().size()};
  for (std::uint32_t const name : model.live_sequences()) {
    auto const& open = model.sequence({name}).open;
    totals.appends += open.open && !open.round ? 1 : 0;
    totals.rounds += open.open && open.round ? 1 : 0;
  }
  return totals;
}

/// Rows of the sequences that an operation names: nothing of those that are not there.
std::vector<std::optional<std::size_t>> rows_of(Model const& model, model::OpNames const& names) {
  std::vector<std::optional<std::size_t>> rows;
  for (model::SequenceName const name : names.sequences()) {
    rows.push_back(model.sequence(name).live ? std::optional<std::size_t>{model.position(name)}
                                             : std::nullopt);
  }
  return rows;
}

/// Adds what became more or fewer to what was made or ended.
void compare(std::size_t before, std::size_t after, Thing thing, Effects& seen) {
  if (after > before) {
    seen.makes |= thing;
  } else if (after < before) {
    seen.ends |= thing;
  }
}

Effects seen_between(Totals const& before, Totals const& after) {
  Effects seen;
  compare(before.sequences, after.sequences, Thing::kSequence, seen);
  compare(before.snapshots, after.snapshots, Thing::kSnapshot, seen);
  compare(before.entries, after.entries, Thing::kEntry, seen);
  compare(before.appends, after.appends, Thing::kAppend, seen);
  compare(before.rounds, after.rounds, Thing::kRound, seen);
  return seen;
}

constexpr Thing kCounted[] = {
    Thing::kSequence, Thing::kSnapshot, Thing::kEntry, Thing::kAppend, Thing::kRound, Thing::kRows};

/// Runs programs on a geometry's model, and calls `look(op, seen)` for each operation that succeeds.
template <typename Look>
void run_programs(std::string const& geometry_name, Look look) {
  model::Geometry const geometry = model::load_geometry(geometry_name);
  Model model{model::make_model_shape(geometry.layout)};
  Generator const generator = Generator{geometry.mix}.with_faults();
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    model.reset();
    model::Source source{seed};
    for (std::uint32_t i = 0; i < 48; ++i) {
      AnyOp const op = generator.next(source, model);
      model::OpNames const names = model::names_of(op);
      Totals const before = totals_of(model);
      auto const rows = rows_of(model, names);
      auto const answer = std::visit(
          [&](auto const& known) {
            EXPECT_TRUE(known.precondition(model));
            return known.apply(model, {});
          },
          op);
      Effects seen = seen_between(before, totals_of(model));
      auto const rows_now = rows_of(model, names);
      for (std::size_t at = 0; at < rows.size(); ++at) {
        if (rows[at] && rows_now[at] && model::effects_of(op).loads.is_empty()) {
          compare(*rows[at], *rows_now[at], Thing::kRows, seen);
        }
      }
      look(op, seen, answer);
    }
  }
}

TEST(OpTraits, WhatAnOperationDoesIsAmongItsEffects) {
  for (std::string const name : {"tiny", "tiny-rows", "tiny-tight"}) {
    run_programs(name, [&](AnyOp const& op, Effects const& seen, model::Observation const& answer) {
      Effects const own = model::effects_of(op);
      for (Thing const thing : kCounted) {
        // A handle that is opened and closed again is not seen.
        EXPECT_TRUE(!seen.makes.has(thing) || own.makes.has(thing)) << model::text_of(op);
        EXPECT_TRUE(!seen.ends.has(thing) || own.ends.has(thing)) << model::text_of(op);
        EXPECT_TRUE(answer.ok || (!seen.makes.has(thing) && !seen.ends.has(thing)))
            << model::text_of(op);
      }
    });
  }
}

TEST(OpTraits, EveryEffectIsSeen) {
  std::array<Effects, AllOps::kCount> seen{};
  for (std::string const name : {"tiny", "tiny-rows"}) {
    run_programs(name, [&](AnyOp const& op, Effects const& found, model::Observation const&) {
      seen[op.index()].makes |= found.makes;
      seen[op.index()].ends |= found.ends;
    });
  }
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    Effects const own = AllOps::kEffects[kind];
    for (Thing const thing : kCounted) {
      if (own.makes.has(thing) && own.ends.has(thing)) {
        continue;  // opened and closed, or gone and back: the numbers are the same
      }
      EXPECT_EQ(own.makes.has(thing), seen[kind].makes.has(thing)) << AllOps::kNames[kind];
      EXPECT_EQ(own.ends.has(thing), seen[kind].ends.has(thing)) << AllOps::kNames[kind];
    }
  }
}

/// The kinds of names that effects speak of are those that the fields mention.
TEST(OpTraits, NamesAreThoseOfTheEffects) {
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    std::set<NameKind> mentioned;
    for (NameUse const& use : names_in(plain_op(kind))) {
      mentioned.insert(use.kind);
    }
    Effects const own = AllOps::kEffects[kind];
    bool const has_items =
        own.opens() && own.makes.has_any(Thing::kRound) && own.makes.has(Thing::kAppend);
    EXPECT_EQ(own.all().has(Thing::kSequence),
              has_items || mentioned.count(NameKind::kSequence) != 0)
        << AllOps::kNames[kind];
    EXPECT_EQ(own.all().has(Thing::kSnapshot), mentioned.count(NameKind::kSnapshot) != 0)
        << AllOps::kNames[kind];
    EXPECT_EQ(own.all().has(Thing::kEntry), mentioned.count(NameKind::kEntry) != 0)
        << AllOps::kNames[kind];
  }
}

TEST(OpTraits, TakesAndGivesFollowFromEffects) {
  std::string takes;
  std::string gives;
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    takes += AllOps::kEffects[kind].takes() ? std::string{AllOps::kNames[kind]} + " " : "";
    gives += AllOps::kEffects[kind].gives() ? std::string{AllOps::kNames[kind]} + " " : "";
  }
  EXPECT_EQ(takes, "create verify snapshot fork capture restore begin_step ");
  EXPECT_EQ(gives, "drop_snapshot truncate release erase ");
}

TEST(OpTraits, MeaningsAreWordsOfTheirOwn) {
  std::set<std::string> meanings;
  for (char const* meaning : AllOps::kMeanings) {
    EXPECT_GE(std::string{meaning}.size(), 20U) << meaning;
    EXPECT_TRUE(meanings.insert(meaning).second) << meaning;
  }
}

TEST(OpTraits, OpeningsAreTheHandlesOfAnOperation) {
  std::vector<AnyOp> const ops = ops_of(
      "append sequence=s0 rows=3 token=1 piece=0 view=0 mode=inplace\n"
      "verify sequence=s1 rows=2 written=2 token=4 piece=0 view=0\n"
      "leave items=pad:1,append:s0:1:1:6,verify:s1:2:0:7:rescan item=2 via=0 piece=0 view=0\n"
      "commit sequence=s0\n");
  std::string text;
  for (AnyOp const& op : ops) {
    model::for_each_opening(op, [&](model::OpenedHandle const& opened) {
      text += "s" + std::to_string(opened.sequence.value) + ":" + std::to_string(opened.rows) +
              (opened.round ? ":round:" : ":append:") +
              std::to_string(static_cast<std::uint32_t>(opened.mode)) + " ";
    });
  }
  EXPECT_EQ(text, "s0:3:append:1 s1:2:round:0 s0:1:append:0 s1:2:round:2 ");
  EXPECT_EQ(model::leaver_of(ops[2]), model::SequenceName{1});
  EXPECT_FALSE(model::leaver_of(ops[0]));
}

std::string lines_of(std::vector<AnyOp> const& ops) {
  std::string text;
  for (AnyOp const& op : ops) {
    text += model::text_of(op) + "\n";
  }
  return text;
}

TEST(PlainerWays, TwoOperationsComeToOne) {
  auto const joined_text = [](std::string const& lines) {
    std::vector<AnyOp> const ops = ops_of(lines);
    auto const both = joined(ops[0], ops[1]);
    return both ? model::text_of(*both) : "";
  };
  std::string const append = "append sequence=s0 rows=3 token=1 piece=0 view=0\n";
  EXPECT_EQ(joined_text(append + append), "append sequence=s0 rows=6 token=1 piece=0 view=0");
  EXPECT_EQ(joined_text("begin sequence=s0 rows=3 written=2 token=1 piece=2 view=1\n"
                        "commit sequence=s0\n"),
            "append sequence=s0 rows=3 token=1 piece=2 view=1");
  EXPECT_EQ(joined_text("verify sequence=s0 rows=3 written=3 token=1 piece=0 view=0\n"
                        "accept sequence=s0 keep=2\n"),
            "append sequence=s0 rows=2 token=1 piece=0 view=0");
  EXPECT_EQ(joined_text(append + "append sequence=s1 rows=3 token=1 piece=0 view=0\n"), "");
  EXPECT_EQ(joined_text(append + "commit sequence=s0\n"), "");
}

TEST(PlainerWays, ARoundIsAnAppendAtOnceOrWithAHandle) {
  std::vector<AnyOp> const ops = ops_of(
      "verify sequence=s0 rows=3 written=3 token=1 piece=0 view=0\n"
      "append sequence=s1 rows=1 token=4 piece=0 view=0\n"
      "accept sequence=s0 keep=0\n");
  std::vector<std::vector<AnyOp>> const programs = plainer_programs(ops, 0);
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_EQ(lines_of(programs[0]),
            "append sequence=s0 rows=3 token=1 piece=0 view=0\n"
            "append sequence=s1 rows=1 token=4 piece=0 view=0\n"
            "accept sequence=s0 keep=0\n");
  EXPECT_EQ(lines_of(programs[1]),
            "begin sequence=s0 rows=3 written=3 token=1 piece=0 view=0\n"
            "append sequence=s1 rows=1 token=4 piece=0 view=0\n"
            "drop sequence=s0\n");
}

TEST(PlainerWays, AStepIsItsItemsAndARollbackAFork) {
  std::vector<AnyOp> const ops = ops_of(
      "leave items=pad:1,append:s0:2:2:1,verify:s1:2:0:3 item=2 via=0 piece=0 view=0\n"
      "rollback sequence=s0 snapshot=h0\n"
      "step items=append:s0:2:2:1 piece=0 view=0\n"
      "release sequence=s1\n");
  ASSERT_EQ(plainer_programs(ops, 0).size(), 1U);
  EXPECT_EQ(lines_of(plainer_programs({ops[0]}, 0).front()),
            "append sequence=s0 rows=2 token=1 piece=0 view=0\n"
            "verify sequence=s1 rows=2 written=2 token=3 piece=0 view=0\n"
            "accept sequence=s1 keep=0\n"
            "release sequence=s1\n");
  EXPECT_EQ(lines_of(plainer_programs({ops[1]}, 0).front()), "fork snapshot=h0 sequence=s1\n");
  EXPECT_EQ(lines_of(same_forms(ops[2])), "append sequence=s0 rows=2 token=1 piece=0 view=0\n");
  EXPECT_TRUE(plainer_programs(ops, 3).empty());
}

}  // namespace
}  // namespace holdfast::fuzz
