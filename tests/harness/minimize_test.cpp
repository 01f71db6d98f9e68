// SPDX-License-Identifier: Apache-2.0
// Goal: a failing program becomes small and keeps its violation, whatever the seeded bug, and also
// when the process dies of it. Method: programs of 300 operations, the last of which fails, grown
// with a bug on; crashes and hangs by a hook.
#include "fuzz/minimize.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/minimize_search.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/plainer.hpp"
#include "fuzz/verdict.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Geometry;

constexpr std::size_t kLength = 300;

constexpr std::size_t kSample = 30;

/// A program whose last operation, about the `length`th, is the first that fails, or that fails at its
/// end: each operation that fails too early is left out, and another one drawn.
std::vector<AnyOp> grow_failure(Geometry const& geometry,
                                std::uint64_t seed,
                                std::size_t length = kLength) {
  Runner runner{geometry, {.deep_every = 1}};
  Generator const generator{geometry.mix};
  model::Source source{seed};
  model::LastNames last;
  std::vector<AnyOp> prefix;
  constexpr std::uint32_t kMostRuns = 1000;
  for (std::uint32_t run = 0; run < kMostRuns; ++run) {
    std::size_t at = 0;
    ProgramResult const result = runner.run([&](AnyOp& op) {
      if (at == 2 * length) {
        return false;
      }
      op = at < prefix.size() ? prefix[at] : generator.next(source, runner.model(), last);
      ++at;
      return true;
    });
    if (!result.failure) {
      return {};
    }
    prefix = runner.ops();
    if (result.failure->at_end || prefix.size() >= length) {
      return prefix;
    }
    prefix.pop_back();
  }
  return {};
}

struct Grown {
  std::string mutant;
  Geometry geometry;
  std::vector<AnyOp> ops;
};

/// Failures of `count` different mutants, spread over the table.
std::vector<Grown> grow_failures(std::size_t count, std::size_t length = kLength) {
  std::vector<Grown> grown;
  std::vector<std::string> const names = model::default_geometry_names();
  auto const mutants = all_mutants();
  for (std::size_t i = 0; i < mutants.size() && grown.size() < count; ++i) {
    // 7 is prime to any count that is no multiple of it: each mutant once, neighbours far apart.
    MutantInfo const& info = mutants[i * 7 % mutants.size()];
    if (info.needs_streams || info.needs_faults) {
      continue;  // these programs run at once, and no call fails
    }
    EXPECT_TRUE(select_mutant(info.name));
    for (std::size_t at = 0; at < 2 * names.size(); ++at) {
      Geometry const geometry = model::load_geometry(names[(i + at) % names.size()]);
      std::vector<AnyOp> ops = grow_failure(geometry, at, length);
      if (!ops.empty()) {
        grown.push_back({info.name, geometry, std::move(ops)});
        break;
      }
    }
    select_mutant("none");
  }
  return grown;
}

class Minimizer : public testing::Test {
 protected:
  void TearDown() override { select_mutant("none"); }
};

// For tools/minimizers: inputs of a fuzz target, each named for the bug that it fails of. They lie in
// TEST_TMPDIR.
TEST_F(Minimizer, DISABLED_WritesFailures) {
  constexpr std::size_t kCount = 5;
  constexpr std::size_t kInputLength = 240;  // somewhat below kProgramOpLimit
  std::size_t written = 0;
  for (Grown const& one : grow_failures(kSample, kInputLength)) {
    std::vector<std::uint8_t> const bytes =
        encode_program({.geometry = model::geometry_reference(one.geometry), .ops = one.ops});
    if (one.ops.size() <= kProgramOpLimit && written < kCount) {
      ++written;
      write_whole(testing::TempDir() + one.mutant,
                  {reinterpret_cast<char const*>(bytes.data()), bytes.size()});
    }
  }
  EXPECT_EQ(written, kCount);
}

TEST_F(Minimizer, MakesFailuresOfManyMutantsSmall) {
  ASSERT_NE(all_mutants().size() % 7, 0U);
  std::vector<Grown> const grown = grow_failures(kSample, kLength);
  ASSERT_EQ(grown.size(), kSample);
  std::vector<std::size_t> sizes;
  for (Grown const& one : grown) {
    ASSERT_GE(one.ops.size(), kLength) << one.mutant;
    ASSERT_TRUE(select_mutant(one.mutant));
    Runner before{one.geometry, {}};
    Verdict const first = judge(before, one.ops);
    ASSERT_TRUE(first.failed) << one.mutant;

    Minimized const small = minimize({.geometry = one.geometry, .ops = one.ops});
    ASSERT_TRUE(small.failed) << one.mutant;
    ASSERT_FALSE(small.ids.empty()) << one.mutant;
    EXPECT_EQ(common_ids(small.ids, first.ids), small.ids) << one.mutant;
    EXPECT_EQ(small.ops.back().index(), one.ops.back().index()) << one.mutant;
    EXPECT_LT(small.candidates, 20'000U) << one.mutant;

    // A fresh run of what was written down fails in the same way, and holds without the bug.
    model::Trace const trace = model::parse_trace(
        model::print_trace(
            {.geometry = model::geometry_reference(small.geometry), .ops = small.ops}),
        one.mutant);
    Runner after{model::geometry_from_reference(trace.geometry), {}};
    Verdict const last = judge(after, trace.ops);
    EXPECT_TRUE(last.failed) << one.mutant;
    EXPECT_EQ(common_ids(small.ids, last.ids), small.ids) << one.mutant;
    EXPECT_EQ(last.ops.size(), small.ops.size()) << one.mutant;
    select_mutant("none");
    EXPECT_FALSE(judge(after, trace.ops).failed) << one.mutant;
    sizes.push_back(small.ops.size());
    std::printf("%-30s %4zu -> %2zu operations, %5llu candidates, %s, %s\n",
                one.mutant.c_str(),
                one.ops.size(),
                small.ops.size(),
                static_cast<unsigned long long>(small.candidates),
                small.geometry.name.c_str(),
                small.ids.front().c_str());
  }
  std::sort(sizes.begin(), sizes.end());
  EXPECT_LE(sizes[sizes.size() / 2], 12U);
}

std::vector<AnyOp> random_program(std::string const& geometry, std::uint64_t seed) {
  Runner runner{model::load_geometry(geometry), {}};
  static_cast<void>(runner.run_seed(seed));
  return runner.ops();
}

TEST_F(Minimizer, FindsNothingInAProgramThatHolds) {
  Minimized const same =
      minimize({.geometry = model::load_geometry("tiny"), .ops = random_program("tiny", 3)});
  EXPECT_FALSE(same.failed);
  EXPECT_EQ(same.candidates, 1U);
}

TEST_F(Minimizer, IsTheSameEveryTime) {
  ASSERT_TRUE(select_mutant("second_rollback"));
  Geometry const geometry = model::load_geometry("tiny");
  std::vector<AnyOp> const ops = grow_failure(geometry, 4);
  ASSERT_FALSE(ops.empty());
  Minimized const one = minimize({.geometry = geometry, .ops = ops});
  Minimized const two = minimize({.geometry = geometry, .ops = ops});
  EXPECT_EQ(one.candidates, two.candidates);
  EXPECT_EQ(model::print_trace({.geometry = one.geometry.name, .ops = one.ops}),
            model::print_trace({.geometry = two.geometry.name, .ops = two.ops}));
  // What is small stays as it is.
  Minimized const again = minimize({.geometry = one.geometry, .ops = one.ops});
  EXPECT_EQ(model::print_trace({.geometry = again.geometry.name, .ops = again.ops}),
            model::print_trace({.geometry = one.geometry.name, .ops = one.ops}));
}

/// The first id and the failing operation of what each failing program comes to when its
/// cause is kept, with their number.
std::map<std::string, std::uint32_t> causes_of(char const* mutant, std::uint32_t count) {
  EXPECT_TRUE(select_mutant(mutant));
  std::map<std::string, std::uint32_t> causes;
  std::vector<std::string> const names = model::default_geometry_names();
  for (std::uint64_t seed = 0; count != 0; ++seed) {
    Geometry const geometry = model::load_geometry(names[seed % names.size()]);
    Runner runner{geometry, {}};
    if (runner.run_seed(seed).failure) {
      Minimized const small =
          minimize({.geometry = geometry, .ops = runner.ops(), .keep = Keep::kCause});
      EXPECT_TRUE(small.failed);
      ++causes[small.ids.front() + "-" + model::name_of(small.ops.back())];
      --count;
    }
  }
  select_mutant("none");
  return causes;
}

TEST_F(Minimizer, FindsTheOneCauseOfFailuresThatLookDifferent) {
  constexpr std::uint32_t kFailures = 30;
  std::set<std::string> all;
  for (char const* mutant : {"ring_address_short_lap",
                             "fresh_page_not_published",
                             "open_rows_not_published",
                             "stale_table_after_rollback",
                             "drop_keeps_pages",
                             "key_skips_first_row",
                             "second_rollback"}) {
    std::map<std::string, std::uint32_t> const causes = causes_of(mutant, kFailures);
    auto const most = std::max_element(causes.begin(), causes.end(), [](auto& one, auto& other) {
      return one.second < other.second;
    });
    EXPECT_GE(most->second, kFailures * 9 / 10) << mutant << " comes to " << most->first;
    EXPECT_TRUE(all.insert(most->first).second) << most->first << " is of two bugs";
  }
}

TEST(PlainerPrograms, DoTheSameWithAppendsHandlesAndForks) {
  auto const texts = [](std::string const& text, std::size_t index) {
    std::vector<std::string> found;
    auto const ops =
        model::parse_trace("holdfast-trace 1\ngeometry tiny\ndevice host\n" + text, "text").ops;
    for (std::vector<AnyOp> const& plainer : plainer_programs(ops, index)) {
      std::string& lines = found.emplace_back();
      for (AnyOp const& op : plainer) {
        lines += model::text_of(op) + "\n";
      }
    }
    return found;
  };
  std::string const create = "create sequence=s0\n";
  std::string const append = "append sequence=s0 rows=3 token=1 piece=0 view=0\n";
  EXPECT_TRUE(texts(create + append, 0).empty());
  EXPECT_TRUE(texts(create + append, 1).empty());
  std::string const begin = "begin sequence=s0 rows=3 written=2 token=1 piece=0 view=0\n";
  EXPECT_EQ(texts(create + begin, 1), std::vector{create + append});
  std::string const round = "verify sequence=s0 rows=3 written=2 token=1 piece=0 view=0\n";
  EXPECT_EQ(texts(create + round + "accept sequence=s0 keep=0\n", 1),
            (std::vector{create + append + "accept sequence=s0 keep=0\n",
                         create + begin + "drop sequence=s0\n"}));
  EXPECT_EQ(texts(create + round + "accept sequence=s0 keep=3\n", 1)[1],
            create + begin + "commit sequence=s0\n");
  EXPECT_EQ(texts(create + "step items=append:s0:3:0:1 piece=0 view=0\n", 1),
            (std::vector{create + append,
                         create + "begin sequence=s0 rows=3 written=3 token=1 piece=0 view=0\n"
                                  "drop sequence=s0\n"}));
  EXPECT_EQ(texts(create + "rollback sequence=s0 snapshot=h2\n", 1),
            std::vector{create + "fork snapshot=h2 sequence=s1\n"});
}

TEST(PlainerPrograms, StepsThatAreGivenUpAreItemsThatAre) {
  auto const plainest = [](std::string const& line) {
    auto const ops =
        model::parse_trace(
            "holdfast-trace 1\ngeometry tiny\ndevice host\ncreate sequence=s0\n" + line, "text")
            .ops;
    std::string lines;
    std::vector<AnyOp> const plainer = plainer_programs(ops, 1).back();
    for (AnyOp const& op : plainer) {
      lines += model::text_of(op) + "\n";
    }
    return lines;
  };
  std::string const dropped =
      "create sequence=s0\nbegin sequence=s0 rows=3 written=3 token=1 piece=0 view=0\n"
      "drop sequence=s0\n";
  EXPECT_EQ(plainest("cancel items=append:s0:3:0:1 piece=0 view=0\n"), dropped);
  EXPECT_EQ(plainest("leave items=append:s0:3:0:1 item=0 via=1 piece=0 view=0\n"),
            dropped + "release sequence=s0\n");
}

TEST_F(Minimizer, TakesLayersOutOfAGeometryOfTheUsersOwn) {
  ASSERT_TRUE(select_mutant("sealed_not_raised"));
  // Three rows of heads: no built-in geometry is smaller in planes and still has attention KV alone.
  Geometry const geometry = model::parse_geometry(
      R"({"name": "own", "page_rows": 4, "chunk_pages": 2, "capacity": {"tokens": 64,
          "sequences": 3, "snapshots": 4, "largest_round": 4}, "layers": [
          {"planes": [{"kind": "attention_kv", "heads": 3, "head_dim": 4}]}, {"planes": []},
          {"planes": [{"kind": "latent", "width": 8},
                      {"kind": "attention_kv", "heads": 3, "head_dim": 4}]}]})",
      "own");
  std::vector<AnyOp> ops;
  for (std::uint64_t seed = 0; ops.empty() && seed < 50; ++seed) {
    ops = grow_failure(geometry, seed);
  }
  ASSERT_FALSE(ops.empty());
  Minimized const small = minimize({.geometry = geometry, .ops = ops});
  std::size_t planes = 0;
  for (Layer const& layer : small.geometry.layout.layers) {
    planes += layer.planes.size();
  }
  EXPECT_EQ(planes, 1U) << small.geometry.text;
  EXPECT_LE(small.ops.size(), 8U) << model::print_trace(
      {.geometry = small.geometry.text, .ops = small.ops});
}

TEST_F(Minimizer, KeepsOnlyTheSizesThatMatter) {
  ASSERT_TRUE(select_mutant("failed_create_leaks_id"));
  // Only where slots run out can a creation fail.
  Geometry const tight = model::geometry_from_reference("tiny-tight slots=3 chunk_pages=3");
  std::vector<AnyOp> ops;
  for (std::uint64_t seed = 0; ops.empty() && seed < 200; ++seed) {
    ops = grow_failure(tight, seed);
  }
  ASSERT_FALSE(ops.empty());
  Minimized const small = minimize({.geometry = tight, .ops = ops});
  EXPECT_EQ(small.geometry.overrides.find("chunk_pages"), std::string::npos)
      << model::label(small.geometry);
  EXPECT_LE(small.ops.size(), 12U);
}

TEST_F(Minimizer, StopsWhenAskedAndKeepsTheViolation) {
  ASSERT_TRUE(select_mutant("second_rollback"));
  Geometry const geometry = model::load_geometry("tiny");
  std::vector<AnyOp> const ops = grow_failure(geometry, 4);
  ASSERT_FALSE(ops.empty());
  Runner runner{geometry, {}};
  Verdict const first = judge(runner, ops);
  std::uint64_t asked = 0;
  MinimizeSearch search{geometry,
                        ops,
                        Wanted::of(first),
                        [&](Geometry const& other, std::span<AnyOp const> candidate) {
                          Runner fresh{other, {}};
                          return judge(fresh, candidate);
                        },
                        [&](std::uint64_t, std::size_t) { return ++asked <= 3; }};
  search.run();
  EXPECT_LE(search.candidates(), 4U);
  Verdict const last = judge(runner, search.ops());
  EXPECT_TRUE(Wanted::of(first).is_met_by(last));
}

std::size_t count_of(std::vector<AnyOp> const& ops, char const* kind) {
  return static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), [&](AnyOp const& op) {
    return std::string{model::name_of(op)} == kind;
  }));
}

/// A program of this seed or a later one that has both kinds.
std::vector<AnyOp> program_with(char const* one, char const* other, std::uint64_t seed) {
  std::vector<AnyOp> ops = random_program("tiny", seed);
  while (count_of(ops, one) == 0 || count_of(ops, other) == 0) {
    ops = random_program("tiny", ++seed);
  }
  return ops;
}

TEST_F(Minimizer, KeepsACrash) {
  std::vector<AnyOp> const ops = program_with("truncate", "rollback", 1);
  Minimized const small = minimize(
      {.geometry = model::load_geometry("tiny"), .ops = ops, .on_operation = [](AnyOp const& op) {
         if (std::holds_alternative<model::TruncateOp>(op)) {
           raise(SIGSEGV);
         }
       }});
  EXPECT_TRUE(small.failed);
  EXPECT_TRUE(small.died);
  EXPECT_EQ(small.ids, std::vector<std::string>{"SIGNAL 11"});
  ASSERT_EQ(small.ops.size(), 2U);
  EXPECT_EQ(model::text_of(small.ops[0]), "create sequence=s0");
  EXPECT_EQ(model::text_of(small.ops[1]), "truncate sequence=s0 length=0");
}

TEST_F(Minimizer, KeepsAHang) {
  std::vector<AnyOp> ops = program_with("close", "create", 1);
  std::size_t const last = static_cast<std::size_t>(
      std::find_if(ops.begin(),
                   ops.end(),
                   [](AnyOp const& op) { return std::holds_alternative<model::CloseOp>(op); }) -
      ops.begin());
  ops.resize(last + 1);
  Minimized const small = minimize({.geometry = model::load_geometry("tiny"),
                                    .ops = ops,
                                    .hang_seconds = 1,
                                    .on_operation = [](AnyOp const& op) {
                                      while (std::holds_alternative<model::CloseOp>(op)) {
                                        pause();
                                      }
                                    }});
  EXPECT_TRUE(small.died);
  EXPECT_EQ(small.ids, std::vector<std::string>{"HANG"});
  EXPECT_EQ(small.ops.size(), 2U);
}

TEST_F(Minimizer, GoesOnWhenACandidateCrashes) {
  ASSERT_TRUE(select_mutant("second_rollback"));
  Geometry const geometry = model::load_geometry("tiny");
  std::vector<AnyOp> ops;
  auto const has_one_row = [](AnyOp const& op) {
    auto const* const append = std::get_if<model::AppendOp>(&op);
    return append != nullptr && append->count == 1;
  };
  for (std::uint64_t seed = 0; ops.empty() || std::any_of(ops.begin(), ops.end(), has_one_row);
       ++seed) {
    Runner runner{geometry, {}};
    ops.clear();
    if (runner.run_seed(seed).failure) {
      ops = runner.ops();
    }
  }
  Minimized const small =
      minimize({.geometry = geometry, .ops = ops, .on_operation = [&](AnyOp const& op) {
                  if (has_one_row(op)) {
                    _exit(7);
                  }
                }});
  EXPECT_TRUE(small.failed);
  EXPECT_FALSE(small.died);
  EXPECT_LT(small.ops.size(), ops.size());
  EXPECT_TRUE(std::none_of(small.ops.begin(), small.ops.end(), has_one_row));
}

TEST(ChildVerdict, SaysWhatWasReportedAndHowAChildDied) {
  Geometry const geometry = model::load_geometry("tiny");
  std::vector<AnyOp> const ops = random_program("tiny", 3);
  Verdict const held = judge_in_child(geometry, {}, ops, 10);
  EXPECT_FALSE(held.failed);
  EXPECT_EQ(held.ops.size(), ops.size());
  RunnerOptions options;
  options.on_step = [](std::uint32_t index, auto const&, auto const&, auto const&) {
    if (index == 2) {
      _exit(9);
    }
  };
  Verdict const died = judge_in_child(geometry, options, ops, 10);
  EXPECT_TRUE(died.failed);
  EXPECT_TRUE(died.died);
  EXPECT_EQ(died.ids, std::vector<std::string>{"EXIT 9"});
  EXPECT_EQ(died.ops.size(), 3U);
}

}  // namespace
}  // namespace holdfast::fuzz
