// SPDX-License-Identifier: Apache-2.0
// Programs that differ from each other: which operations they have and how often, which names and
// lengths they like, and how much there is of everything. What is rare in the plain mix - a full
// cache, a length at an edge, the same snapshot twice - is common in some of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/runner.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {

/// What makes the programs of a kind different.
enum class Flavor : std::uint8_t {
  kMix,       ///< the geometry's own mix; speed is quoted with it
  kSubset,    ///< some of the operations, with weights of their own
  kHot,       ///< a few names get most of the operations
  kPowers,    ///< lengths are powers of two
  kEdges,     ///< lengths end at edges of pages, pools, rings, rounds
  kPressure,  ///< much is taken and little given back, where there is little
};
inline constexpr std::uint32_t kFlavorCount = 6;

struct FlavorInfo {
  char const* name;
  char const* text;
};

/// By flavor.
[[nodiscard]] std::span<FlavorInfo const> all_flavors() noexcept;
/// Nothing for an unknown name.
[[nodiscard]] std::optional<Flavor> flavor_named(std::string const& name) noexcept;

/// The generator of one program.
[[nodiscard]] Generator flavored(Generator const& plain, Flavor flavor, std::uint64_t program_seed);

/// One program of a run.
struct SwarmProgram {
  std::uint64_t seed = 0;
  Flavor flavor = Flavor::kMix;
  std::size_t setting = 0;  ///< in Swarm::settings()
};

/// All programs of a run. They depend on geometries, seed and the chosen flavor only.
class Swarm {
 public:
  /// Without a flavor all take turns. `geometries` must not be empty.
  Swarm(std::vector<model::Geometry> const& geometries,
        std::uint64_t seed,
        std::optional<Flavor> only);

  [[nodiscard]] SwarmProgram program(std::uint64_t index) const noexcept;
  /// The geometries in their order, each followed by its variants.
  [[nodiscard]] std::span<model::Geometry const> settings() const noexcept { return settings_; }

 private:
  std::vector<model::Geometry> settings_;
  std::vector<std::size_t> first_;       // setting of each geometry
  std::vector<std::uint32_t> richness_;  // of each geometry
  std::uint64_t seed_;
  std::optional<Flavor> only_;
};

/// References of the geometries of other sizes that a swarm with this seed has of these, by name.
[[nodiscard]] std::vector<std::string> variant_references(std::vector<std::string> const& names,
                                                          std::uint64_t seed);

/// Runs programs of a swarm; keeps a runner for each setting that it met. One thread at a time.
class SwarmRunner {
 public:
  SwarmRunner(Swarm const& swarm, RunnerOptions options)
      : swarm_{swarm}, options_{std::move(options)}, runners_(swarm.settings().size()) {}

  ProgramResult run(SwarmProgram const& program);
  /// The runner of a program's setting, as the last program of it left it.
  [[nodiscard]] Runner& runner(SwarmProgram const& program);

 private:
  Swarm const& swarm_;
  RunnerOptions options_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace holdfast::fuzz
