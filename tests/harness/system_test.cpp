// SPDX-License-Identifier: Apache-2.0
// Goal: a second system can be put under test, and what it lacks is not judged in silence. Method: random
// programs on the copying system, as it is and with a wrong answer planted; traces that name it.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"
#include "fuzz/system_mutants.hpp"
#include "invariants/registry.hpp"
#include "models/copying/copying_system.hpp"
#include "models/geometry/geometry.hpp"
#include "models/input_error.hpp"
#include "models/systems.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using model::Observation;
using model::SystemInfo;
using model::SystemPlace;

/// Says that it was shortened, and was not.
class Liar final : public model::copying::CopyingSystem {
 public:
  using CopyingSystem::CopyingSystem;
  Observation truncate(model::SequenceName name, std::uint32_t length) override {
    return can_truncate(name, length);
  }
};

std::unique_ptr<model::System> make_liar(SystemPlace const& place) {
  return std::make_unique<Liar>(place.model);
}

constexpr SystemInfo kLiar{.name = "liar",
                           .text = "truncates nothing",
                           .offers = model::Facet::kVisible,
                           .keeps_all = true,
                           .make = &make_liar};

/// Runs programs of some seeds until one fails.
ProgramResult run_seeds(SystemInfo const& system, std::uint32_t programs) {
  Runner runner{model::load_geometry("tiny-rows"), {.device = {.system = &system}}};
  ProgramResult all;
  for (std::uint32_t seed = 0; seed < programs && !all.failure; ++seed) {
    ProgramResult const one = runner.run_seed(seed);
    all.counts.add(one.counts);
    all.failure = one.failure;
  }
  return all;
}

std::set<std::string> ids_of(Failure const& failure) {
  std::set<std::string> ids;
  for (invariant::Violation const& violation : failure.violations) {
    ids.insert(violation.id);
  }
  return ids;
}

TEST(System, CopyingHoldsAllThatIsVisible) {
  ProgramResult const result = run_seeds(model::system_named("copying"), 40);
  ASSERT_FALSE(result.failure) << result.failure->violations.front().text;
  EXPECT_GT(result.counts.succeeded, 0U);
  EXPECT_LT(result.counts.succeeded, result.counts.operations);
}

TEST(System, WhoseNeedsAreMissingIsNotJudged) {
  SystemInfo const& system = model::system_named("copying");
  ProgramResult const result = run_seeds(system, 40);
  auto const all = invariant::all_invariants();
  std::uint32_t judged = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    bool const can = system.offers.has_all_of(all[i]->needs);
    EXPECT_EQ(result.counts.by_invariant[i] != 0, can) << all[i]->id;
    judged += can ? 1 : 0;
  }
  EXPECT_GE(judged, 12U);
  EXPECT_LT(judged, all.size());
  EXPECT_TRUE(model::library_system().offers.has_all_of(
      model::Facet::kVisible | model::Facet::kInternals | model::Facet::kDevices));
}

TEST(System, PlantedWrongAnswerIsSeen) {
  ProgramResult const result = run_seeds(kLiar, 200);
  ASSERT_TRUE(result.failure);
  std::set<std::string> const ids = ids_of(*result.failure);
  EXPECT_TRUE(ids.contains("LEN"));  // its position and its planes agree, and are not the model's
}

TEST(System, MutantsNameTheirKillers) {
  std::set<std::string> known;
  for (invariant::Invariant const* const one : invariant::all_invariants()) {
    if (model::system_named("copying").offers.has_all_of(one->needs)) {
      known.insert(one->id);
    }
  }
  std::set<std::string> names;
  for (SystemInfo const& system : model::all_systems()) {
    for (MutantInfo const& info : mutants_of(&system)) {
      EXPECT_TRUE(names.insert(info.name).second) << info.name << " is of two systems";
    }
  }
  auto const mutants = mutants_of(&model::system_named("copying"));
  EXPECT_GE(mutants.size(), 12U);
  for (MutantInfo const& info : mutants) {
    std::istringstream killers{info.killers};
    for (std::string id; killers >> id;) {
      EXPECT_TRUE(known.contains(id)) << info.name << " names " << id;
    }
  }
}

TEST(System, TraceNamesItsSystem) {
  constexpr char const* kText =
      "holdfast-trace 1\ngeometry tiny\nsystem copying\ncreate sequence=s0\n";
  model::Trace const trace = model::parse_trace(kText, "t");
  EXPECT_EQ(model::device_from(trace.device).system, model::find_system("copying"));
  EXPECT_EQ(model::print_trace(trace), kText);
  std::string old = kText;
  old.replace(old.find("system copying"), std::string{"system copying"}.size(), "device host");
  EXPECT_EQ(model::device_from(model::parse_trace(old, "t").device).system, nullptr);
}

TEST(System, TraceOfAnUnknownSystemIsRefused) {
  auto const refuses = [](char const* line) {
    try {
      static_cast<void>(model::parse_trace(
          std::string{"holdfast-trace 1\ngeometry tiny\n"} + line + "\ncreate sequence=s0\n", "t"));
    } catch (model::InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_NE(refuses("system copyin").find("t:3:8: unknown system 'copyin'"), std::string::npos);
  EXPECT_NE(refuses("device copying").find("is a system, no device"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::fuzz
