// SPDX-License-Identifier: Apache-2.0
// Goal: whichever device call of an operation fails, and however, the sequences of the operation are
// as they were or tainted, all invariants hold, and when the device works again everything can be
// released and the arenas are whole. Method: for each kind of operation on each small geometry, the
// first call fails, then the second, and so on until the operation passes; the program goes on
// while the device is broken, is healed, goes on, and ends as every program does.
//
// HOLDFAST_SWEEP_STEP: one fault point in so many is tried.
#include <gtest/gtest.h>

#include <cstdint>
#include <holdfast/cache.hpp>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "fuzz/run.hpp"
#include "fuzz/runner.hpp"
#include "models/fault/fault_device.hpp"
#include "models/geometry/geometry.hpp"
#include "models/trace.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::FaultKind;
using model::FaultOp;
using model::Observation;

/// What an operation needs before it, and the operation.
struct Target {
  char const* setup;
  char const* op;
};

constexpr Target kTargets[] = {
    {"", "create sequence=s2"},
    {"", "append sequence=s0 rows=6 token=100 piece=0 view=0"},
    {"", "append sequence=s0 rows=6 token=100 piece=2 view=1 mode=inplace"},
    {"", "append sequence=s1 rows=2 token=100 piece=0 view=0 mode=inplace"},
    {"", "begin sequence=s0 rows=3 written=2 token=100 piece=0 view=0"},
    {"begin sequence=s0 rows=3 written=3 token=90 piece=0 view=1", "commit sequence=s0"},
    {"begin sequence=s0 rows=3 written=2 token=90 piece=0 view=0", "drop sequence=s0"},
    {"begin sequence=s1 rows=3 written=2 token=90 piece=0 view=0 mode=inplace", "drop sequence=s1"},
    {"", "verify sequence=s0 rows=3 written=3 token=100 piece=0 view=0"},
    {"", "verify sequence=s0 rows=3 written=3 token=100 piece=0 view=1 mode=inplace"},
    {"", "verify sequence=s0 rows=3 written=2 token=100 piece=1 view=0 mode=rescan"},
    {"verify sequence=s0 rows=3 written=2 token=90 piece=0 view=0",
     "rewrite sequence=s0 first=1 rows=2 token=100 piece=0 view=0"},
    {"verify sequence=s0 rows=3 written=3 token=90 piece=0 view=1", "accept sequence=s0 keep=2"},
    {"verify sequence=s0 rows=3 written=3 token=90 piece=0 view=0 mode=inplace",
     "accept sequence=s0 keep=2"},
    {"verify sequence=s0 rows=3 written=3 token=90 piece=0 view=0 mode=rescan",
     "accept sequence=s0 keep=2"},
    {"verify sequence=s0 rows=3 written=3 token=90 piece=0 view=0", "drop sequence=s0"},
    {"", "snapshot sequence=s1 snapshot=h1"},
    {"", "drop_snapshot snapshot=h0"},
    {"", "rollback sequence=s0 snapshot=h0"},
    {"", "rollback sequence=s1 snapshot=h0"},
    {"", "fork snapshot=h0 sequence=s2"},
    {"", "truncate sequence=s0 length=8"},
    {"", "can_truncate sequence=s0 length=8"},
    {"", "release sequence=s0"},
    {"verify sequence=s0 rows=3 written=3 token=90 piece=0 view=0", "release sequence=s0"},
    {"", "close"},
    {"", "step items=append:s0:2:2:100,pad:1,verify:s1:3:2:102 piece=0 view=0"},
    {"", "step items=verify:s1:3:2:102:inplace,append:s0:2:0:100:inplace piece=0 view=0"},
    {"snapshot sequence=s1 snapshot=h1", "capture snapshot=h1 entry=e1 scope=0 extra=0"},
    {"", "restore entry=e0 first=5 rest=2 token=100 scope=0 limit=64 sequence=s2"},
    {"", "erase entry=e0"},
    {"", "reload entry=e0"},
    {"", "load_damaged entry=e0 damage=flip at=200"},
    {"", "stream to=2"},
    {"", "sync"},
};

constexpr char const* kBefore =
    "create sequence=s0\n"
    "append sequence=s0 rows=5 token=1 piece=0 view=0\n"
    "snapshot sequence=s0 snapshot=h0\n"
    "capture snapshot=h0 entry=e0 scope=0 extra=0\n"
    "append sequence=s0 rows=4 token=10 piece=0 view=0\n"
    "create sequence=s1\n"
    "append sequence=s1 rows=3 token=20 piece=0 view=0\n";
/// While the device may still be broken, and after it was healed.
constexpr char const* kAfter =
    "append sequence=s0 rows=1 token=200 piece=0 view=0\n"
    "snapshot sequence=s0 snapshot=h5\n"
    "fork snapshot=h0 sequence=s6\n"
    "step items=append:s1:1:1:210,append:s0:1:1:211 piece=0 view=0\n"
    "heal\n"
    "rollback sequence=s0 snapshot=h0\n"
    "append sequence=s0 rows=2 token=220 piece=0 view=0\n"
    "append sequence=s1 rows=1 token=230 piece=0 view=0\n"
    "restore entry=e0 first=5 rest=1 token=240 scope=0 limit=64 sequence=s7\n"
    "fork snapshot=h0 sequence=s8\n"
    "append sequence=s8 rows=3 token=250 piece=0 view=0\n";

/// The ways in which a call fails.
constexpr FaultOp kWays[] = {
    {.kind = FaultKind::kAny},
    {.kind = FaultKind::kAny, .done = 1},
    {.kind = FaultKind::kAny, .forever = 1},
    {.kind = FaultKind::kLost},
};

/// Programs of one geometry on one kind of device.
class Sweep {
 public:
  Sweep(model::Geometry const& geometry, bool simulated, std::uint32_t turn)
      : turn_{turn},
        device_{.is_simulated = simulated, .seed = 7},
        runner_{geometry,
                {.device = device_,
                 .on_step = [this](std::uint32_t /*index*/,
                                   AnyOp const& op,
                                   Observation const& /*want*/,
                                   Observation const& /*got*/) {
                   has_failed_ = was_fault_ ? runner_.faults().failed() != 0 : has_failed_;
                   was_fault_ = std::holds_alternative<FaultOp>(op);
                 }}} {}

  /// Makes the calls of the target fail one after the other, in one way.
  void run(Target const& target, bool other_stream, FaultOp way) {
    constexpr std::uint32_t kMostCalls = 1000;
    std::string const head = std::string{"holdfast-trace 1\ngeometry x\ndevice host\n"} + kBefore +
                             target.setup + "\n" + (other_stream ? "stream to=1\n" : "");
    model::Trace const after = model::parse_trace(
        std::string{"holdfast-trace 1\ngeometry x\ndevice host\n"} + target.op + "\n" + kAfter,
        "after");
    model::Trace trace = model::parse_trace(head, "before");
    std::size_t const at = trace.ops.size();
    way.after = turn_++ % HOLDFAST_SWEEP_STEP;  // where steps are wide, each call has its turn
    trace.ops.emplace_back(way);
    trace.ops.insert(trace.ops.end(), after.ops.begin(), after.ops.end());
    do {
      std::get<FaultOp>(trace.ops[at]) = way;
      has_failed_ = false;
      ProgramResult const result = runner_.run_ops(trace.ops);
      points += has_failed_ ? 1 : 0;
      operations += result.counts.operations;
      if (result.failure) {
        ADD_FAILURE() << runner_.geometry().name << ", " << model::text_of(device_) << "\n"
                      << describe_failure(*result.failure, runner_.ops()) << print(runner_.ops());
        return;
      }
      way.after += HOLDFAST_SWEEP_STEP;
    } while (has_failed_ && way.after < kMostCalls);
    EXPECT_LT(way.after, kMostCalls) << target.op;
  }

  std::uint64_t points = 0;
  std::uint64_t operations = 0;

 private:
  static std::string print(std::vector<AnyOp> const& ops) {
    std::string text;
    for (AnyOp const& op : ops) {
      text += model::text_of(op) + "\n";
    }
    return text;
  }

  std::uint32_t turn_;
  model::DeviceChoice device_;
  bool was_fault_ = false;
  bool has_failed_ = false;  // a call of the target did
  Runner runner_;
};

TEST(FaultSweep, EveryOperationIsWholeTaintedOrUndone) {
  std::uint64_t points = 0;
  std::uint64_t operations = 0;
  std::uint32_t turn = 0;
  for (std::string const& name : model::default_geometry_names()) {
    for (bool const simulated : {false, true}) {
      Sweep sweep{model::load_geometry(name), simulated, turn++};
      for (Target const& target : kTargets) {
        for (FaultOp const& way : kWays) {
          sweep.run(target, false, way);
          sweep.run(target, true, way);
          if (testing::Test::HasFailure()) {
            return;
          }
        }
      }
      points += sweep.points;
      operations += sweep.operations;
    }
  }
  std::cout << points << " fault points, " << operations << " operations\n";
  RecordProperty("points", std::to_string(points));
  EXPECT_GE(points, 5000U * 4 / HOLDFAST_SWEEP_STEP);
}

/// A cache of a geometry, or what stands in its way.
Result<Cache> make_cache(model::Geometry const& geometry, Device& device) {
  std::vector<Device*> const devices(std::size_t{geometry.layout.ranks} * geometry.layout.stages,
                                     &device);
  return Cache::create(geometry.layout, devices);
}

TEST(FaultSweep, ACacheThatCannotBeMadeLeavesNothing) {
  std::uint64_t points = 0;
  for (std::string const& name : model::default_geometry_names()) {
    model::Geometry const geometry = model::load_geometry(name);
    for (FaultOp const& way : kWays) {
      bool is_made = false;
      for (std::uint32_t after = 0; !is_made; ++after) {
        test::WrappingDevice memory;
        model::FaultSwitch faults;
        model::FaultDevice device{memory, faults, 0};
        faults.plan(
            {.kind = way.kind, .after = after, .forever = way.forever != 0, .done = way.done != 0});
        faults.arm();
        {
          auto cache = make_cache(geometry, device);
          is_made = cache.has_value();
          if (!is_made) {
            ++points;
            EXPECT_TRUE(cache.error().code == ErrorCode::kOutOfMemory ||
                        cache.error().code == ErrorCode::kDeviceFailed)
                << describe(cache.error());
          }
          EXPECT_EQ(memory.live() == 0, !is_made) << name << " after " << after;
        }
        EXPECT_EQ(memory.live(), 0U) << name << " after " << after;
      }
    }
  }
  EXPECT_GE(points, 4U * 3U * model::default_geometry_names().size());
}

}  // namespace
}  // namespace holdfast::fuzz
