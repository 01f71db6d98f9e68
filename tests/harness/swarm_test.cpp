// SPDX-License-Identifier: Apache-2.0
// Goal: the swarm's programs differ as promised, depend on their seed alone, and a geometry of other
// sizes is written down in a trace. Method: properties of many programs; texts of references.
#include "fuzz/swarm.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/run.hpp"
#include "models/trace.hpp"
#include "tests/support/geometries.hpp"

namespace holdfast::fuzz {
namespace {

using model::Geometry;
using test::all_geometries;

TEST(Swarm, FlavorsTakeTurnsAndEveryGeometryHasItsOwn) {
  std::vector<Geometry> const geometries = all_geometries();
  Swarm const swarm{geometries, 7, std::nullopt};
  std::map<Flavor, std::uint32_t> flavors;
  std::map<std::string, std::uint32_t> names;
  std::set<std::string> references;
  constexpr std::uint64_t kPrograms = 20'000;
  for (std::uint64_t index = 0; index < kPrograms; ++index) {
    SwarmProgram const program = swarm.program(index);
    Geometry const& geometry = swarm.settings()[program.setting];
    ++flavors[program.flavor];
    ++names[geometry.name];
    references.insert(model::geometry_reference(geometry));
    if (program.flavor == Flavor::kMix) {
      EXPECT_EQ(geometry.overrides, "");
      EXPECT_EQ(geometry.name, geometries[index % geometries.size()].name);
    }
  }
  EXPECT_EQ(flavors.size(), kFlavorCount);
  for (auto const& [flavor, count] : flavors) {
    EXPECT_GT(count, kPrograms / 20) << static_cast<int>(flavor);
  }
  EXPECT_EQ(names.size(), geometries.size());
  EXPECT_GT(references.size(), 4 * geometries.size());
  for (std::string const& reference : references) {
    EXPECT_EQ(model::geometry_reference(model::geometry_from_reference(reference)), reference);
  }
}

TEST(Swarm, ProgramsHoldAndDependOnTheirSeedAlone) {
  Swarm const swarm{all_geometries(), 3, std::nullopt};
  SwarmRunner forward{swarm, {}};
  std::vector<std::uint64_t> digests;
  for (std::uint64_t index = 0; index < 300; ++index) {
    ProgramResult const result = forward.run(swarm.program(index));
    ASSERT_FALSE(result.failure) << "program " << index;
    digests.push_back(result.digest);
  }
  Swarm const same{all_geometries(), 3, std::nullopt};
  SwarmRunner backward{same, {}};
  for (std::uint64_t index = 300; index-- > 0;) {
    EXPECT_EQ(backward.run(same.program(index)).digest, digests[index]) << "program " << index;
  }
  EXPECT_GT(std::set<std::uint64_t>(digests.begin(), digests.end()).size(), 290U);
}

TEST(Swarm, ThePlainMixIsThatOfARunner) {
  std::vector<Geometry> const geometries = all_geometries();
  Swarm const swarm{geometries, 5, Flavor::kMix};
  EXPECT_EQ(swarm.settings().size(), geometries.size());
  SwarmRunner runner{swarm, {}};
  for (std::uint64_t index = 0; index < 40; ++index) {
    Runner plain{geometries[index % geometries.size()], {}};
    EXPECT_EQ(runner.run(swarm.program(index)).digest,
              plain.run_seed(program_seed(5, index)).digest);
  }
}

TEST(Swarm, DigestDoesNotDependOnThreads) {
  RunPlan plan{.geometries = all_geometries(), .seed = 11, .operations = 20'000};
  RunResult const one = run_many(plan);
  plan.threads = 3;
  RunResult const three = run_many(plan);
  EXPECT_EQ(one.digest, three.digest);
  EXPECT_EQ(one.counts.operations, three.counts.operations);
  plan.flavor = Flavor::kEdges;
  EXPECT_NE(run_many(plan).digest, one.digest);
}

/// Rows of the appends of some programs of a flavor on `tiny`.
std::map<std::uint32_t, std::uint32_t> rows_of(Flavor flavor) {
  Swarm const swarm{{model::load_geometry("tiny")}, 1, flavor};
  SwarmRunner runner{swarm, {}};
  std::map<std::uint32_t, std::uint32_t> rows;
  for (std::uint64_t index = 0; index < 400; ++index) {
    static_cast<void>(runner.run(swarm.program(index)));
    for (model::AnyOp const& op : runner.runner(swarm.program(index)).ops()) {
      if (auto const* const append = std::get_if<model::AppendOp>(&op)) {
        ++rows[append->count];
      }
    }
  }
  return rows;
}

TEST(Swarm, LengthsAreAsTheFlavorSays) {
  std::map<std::uint32_t, std::uint32_t> mix = rows_of(Flavor::kMix);
  std::map<std::uint32_t, std::uint32_t> powers = rows_of(Flavor::kPowers);
  // Sixteen rows are a power; the mean of the mix is seven.
  EXPECT_GT(powers[16], 3 * mix[16]);
  EXPECT_GT(2 * powers[16], 3 * powers[11]);
}

TEST(Swarm, FlavorsHaveNames) {
  for (std::uint32_t flavor = 0; flavor < kFlavorCount; ++flavor) {
    EXPECT_EQ(flavor_named(all_flavors()[flavor].name), static_cast<Flavor>(flavor));
  }
  EXPECT_FALSE(flavor_named("sour"));
}

std::string refusal_of(std::string const& reference) {
  try {
    static_cast<void>(model::geometry_from_reference(reference));
  } catch (model::InputError const& error) {
    return error.what();
  }
  return "";
}

TEST(GeometryOverrides, AreReadCheckedAndWritten) {
  Geometry const changed = model::geometry_from_reference("tiny slots=9  page_rows=8");
  EXPECT_EQ(changed.layout.page_rows, 8U);
  EXPECT_EQ(changed.layout.capacity.slots, 9U);
  EXPECT_EQ(changed.layout.capacity.tokens, 64U);
  EXPECT_EQ(model::geometry_reference(changed), "tiny page_rows=8 slots=9");
  EXPECT_EQ(model::label(changed), "tiny page_rows=8 slots=9");
  EXPECT_EQ(model::geometry_reference(model::load_geometry("tiny")), "tiny");
  EXPECT_EQ(refusal_of("tiny page_row=8"),
            "geometry tiny: no size is called \"page_row\" (did you mean \"page_rows\"?); known: "
            "page_rows, chunk_pages, sequences, tokens, largest_round, snapshots, entries, "
            "step_rows, slots, pages, ring_pages");
  EXPECT_EQ(refusal_of("tiny slots"),
            "geometry tiny: expected a size such as page_rows=4, found \"slots\"");
  EXPECT_EQ(refusal_of("tiny slots=x"), "geometry tiny: \"x\" is no number for slots");
  EXPECT_EQ(refusal_of("tiny slots=-1"), "geometry tiny: \"-1\" is no number for slots");
  EXPECT_EQ(refusal_of("tiny slots=1 slots=2"), "geometry tiny: slots is given twice");
  EXPECT_NE(refusal_of("tiny page_rows=0").find("page_rows"), std::string::npos);
  EXPECT_NE(refusal_of("tinny slots=1").find("unknown geometry \"tinny\""), std::string::npos);
  // Those of a text are in the text.
  Geometry const own = model::with_overrides(
      model::parse_geometry(R"({"name": "own", "capacity": {"tokens": 64}, "layers": [
          {"planes": [{"kind": "attention_kv", "heads": 1, "head_dim": 4}]}]})",
                            "own"),
      {{"page_rows", 2}});
  EXPECT_EQ(model::geometry_from_reference(model::geometry_reference(own)).layout.page_rows, 2U);
}

TEST(GeometryOverrides, StandInTraces) {
  std::string const text =
      "holdfast-trace 1\ngeometry tiny page_rows=2 tokens=32\ndevice host\ncreate sequence=s0\n";
  model::Trace const trace = model::parse_trace(text, "test");
  EXPECT_EQ(trace.geometry, "tiny page_rows=2 tokens=32");
  EXPECT_EQ(model::print_trace(trace), text);
}

}  // namespace
}  // namespace holdfast::fuzz
