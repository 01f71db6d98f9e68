// SPDX-License-Identifier: Apache-2.0
// Goal: random programs meet every kind of operation with what order breaks at: failed waits, reused ids
// and several devices. Method: the test counts the pairs over many programs on simulated devices; a pair
// that is never met fails.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fuzz/swarm.hpp"
#include "models/ops/names.hpp"
#include "tests/support/geometries.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::AnyOp;
using model::Label;

/// What an operation may meet.
enum class Trouble : std::uint8_t {
  kFailedWait,  ///< an event that it waits with or for fails
  kReusedId,    ///< it names what has the id of another one that went in another stream
  kDevices,     ///< there are several
};
constexpr std::array<char const*, 3> kTroubles = {
    "a wait that fails", "an id of another stream's", "several devices"};

/// Who has an id, and which stream was the last to name it.
struct IdUse {
  std::uint32_t generation = 0;
  Stream stream;
  bool is_reused = false;  ///< the one before was last named in another stream
};

/// Counts what the operations of programs meet.
class TroubleCount {
 public:
  void start(bool has_devices) {
    has_devices_ = has_devices;
    ids_.clear();
    fault_.reset();
  }
  void look(invariant::Check const& check, std::uint32_t failed) {
    AnyOp op = *check.op;
    if (auto const* const fault = std::get_if<model::FaultOp>(&op)) {
      fault_ = fault->kind;
    }
    if (failed != 0 && fault_ == model::FaultKind::kEvent) {
      add(op, Trouble::kFailedWait);
    }
    if (has_devices_) {
      add(op, Trouble::kDevices);
    }
    bool is_reused = false;
    model::for_each_name(op, [&](auto name) {
      auto const id = check.internals->id(name);
      is_reused = use(label(name).prefix, id.index, id.generation, check) || is_reused;
    });
    if (is_reused) {
      add(op, Trouble::kReusedId);
    }
  }
  [[nodiscard]] std::uint64_t met(std::uint32_t kind, Trouble trouble) const noexcept {
    return met_[kind][static_cast<std::size_t>(trouble)];
  }

 private:
  void add(AnyOp const& op, Trouble trouble) {
    ++met_[op.index()][static_cast<std::size_t>(trouble)];
  }
  bool use(char kind,
           std::uint32_t index,
           std::uint32_t generation,
           invariant::Check const& check) {
    if (index == 0) {
      return false;
    }
    Stream const stream = check.internals->last_stream();
    auto const [place, is_new] =
        ids_.try_emplace(std::pair{kind, index}, IdUse{generation, stream, false});
    IdUse& known = place->second;
    if (!is_new && known.generation != generation) {
      known.is_reused = !(known.stream == stream);
      known.generation = generation;
    }
    known.stream = stream;
    return known.is_reused;
  }

  std::array<std::array<std::uint64_t, kTroubles.size()>, AllOps::kCount> met_{};
  std::map<std::pair<char, std::uint32_t>, IdUse> ids_;
  std::optional<model::FaultKind> fault_;  // that was planned last
  bool has_devices_ = false;
};

/// Operations that cannot meet something: they ask for no event, or name nothing that has an id.
std::set<std::string> const& cannot(Trouble trouble) {
  static std::set<std::string> const ask_for_none{"can_truncate",
                                                  "close",
                                                  "delay",
                                                  "drop_snapshot",
                                                  "erase",
                                                  "fault",
                                                  "heal",
                                                  "move",
                                                  "release",
                                                  "snapshot",
                                                  "stream",
                                                  "sync"};
  static std::set<std::string> const name_nothing{
      "close", "delay", "fault", "heal", "stream", "sync"};
  static std::set<std::string> const none;
  return trouble == Trouble::kFailedWait ? ask_for_none
         : trouble == Trouble::kReusedId ? name_nothing
                                         : none;
}

/// Operations that wait only when their plan goes through another stream: too seldom to be asked for here.
bool is_seldom(std::string const& name, Trouble trouble) {
  return trouble == Trouble::kFailedWait && (name == "fill" || name == "rewrite");
}

TEST(OrderCoverage, EveryOperationMeetsFailedWaitsReusedIdsAndSeveralDevices) {
  constexpr std::uint64_t kPrograms = 40'000;
  Swarm const swarm{test::all_geometries(), 23, std::nullopt};
  TroubleCount count;
  model::FaultSwitch const* faults = nullptr;
  RunnerOptions options{.device = {.is_simulated = true}, .check_order = false, .faults = true};
  options.on_look = [&](invariant::Check const& check) { count.look(check, faults->failed()); };
  SwarmRunner runner{swarm, options};
  for (std::uint64_t index = 0; index < kPrograms; ++index) {
    SwarmProgram const program = swarm.program(index);
    Runner const& own = runner.runner(program);
    faults = &own.faults();
    count.start(own.model().shape().ranks * own.model().shape().stages > 1);
    ASSERT_FALSE(runner.run(program).failure) << "program " << index;
  }
  for (std::uint32_t kind = 0; kind < AllOps::kCount; ++kind) {
    std::string const name = AllOps::kNames[kind];
    for (std::size_t i = 0; i < kTroubles.size(); ++i) {
      auto const trouble = static_cast<Trouble>(i);
      bool const is_met = count.met(kind, trouble) != 0;
      EXPECT_TRUE(is_met == !cannot(trouble).contains(name) || is_seldom(name, trouble))
          << name << " with " << kTroubles[i] << (is_met ? " is met" : " is never met");
    }
  }
}

}  // namespace
}  // namespace holdfast::fuzz
