// SPDX-License-Identifier: Apache-2.0
#include "fuzz/swarm.hpp"

#include <algorithm>
#include <array>
#include <holdfast/cache.hpp>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::Geometry;
using model::Habits;
using model::LengthHabit;
using model::NameHabit;
using model::Override;
using model::Source;

constexpr FlavorInfo kFlavors[] = {
    {"mix", "the geometry's own mix of operations; speed is quoted with it"},
    {"subset", "some of the operations, with weights of their own"},
    {"hot", "a few names get most of the operations"},
    {"powers", "lengths are powers of two"},
    {"edges", "lengths end at edges of pages, pools, rings and rounds"},
    {"pressure", "much is taken and little given back, where there is little"},
};
static_assert(std::size(kFlavors) == kFlavorCount);

// Each use of a program's seed has a number of its own, so that they are independent.
enum class Use : std::uint64_t { kFlavor = 0x666C61U, kWeights, kSetting, kVariant, kStreams };

std::uint64_t seed_for(std::uint64_t seed, Use use) noexcept {
  return model::mix(seed, static_cast<std::uint64_t>(use));
}

/// The kinds of names that each operation mentions, as bits.
std::array<std::uint32_t, AllOps::kCount> const& names_of_kinds() {
  static auto const table = [] {
    std::array<std::uint32_t, AllOps::kCount> kinds{};
    [&]<std::uint32_t... I>(std::integer_sequence<std::uint32_t, I...>) {
      auto const add = [&](std::uint32_t index, model::AnyOp const& op) {
        for (NameUse const& use : names_in(op)) {
          kinds[index] |= 1U << static_cast<std::uint32_t>(use.kind);
        }
      };
      (add(I, model::AnyOp{std::in_place_index<I>}), ...);
    }
    (std::make_integer_sequence<std::uint32_t, AllOps::kCount>{});
    return kinds;
  }();
  return table;
}

/// Most of the operations, with other weights; those about one kind of names are likelier.
Weights draw_weights(Weights weights, Source& source) {
  std::uint32_t const focus = source.below(3);  // or none
  for (std::uint32_t index = 0; index < weights.size(); ++index) {
    std::uint32_t& weight = weights[index];
    if (weight == 0) {
      continue;
    }
    bool const is_on = !source.one_in(8);
    weight = is_on ? (weight * 8) >> source.below(3) : 0;
    if (((names_of_kinds()[index] >> focus) & 1U) != 0 && focus != 0) {
      weight *= 4;
    }
  }
  for (std::uint32_t index = 0; index < weights.size(); ++index) {
    weights[index] = std::max(weights[index], AllOps::kWeights[index].least);
  }
  return weights;
}

/// What takes storage is likelier, what gives it back rare.
void press(Weights& weights) {
  for (std::uint32_t index = 0; index < weights.size(); ++index) {
    if (AllOps::kEffects[index].takes()) {
      weights[index] *= 3;
    } else if (AllOps::kEffects[index].gives()) {
      weights[index] /= 2;
    }
  }
}

std::uint32_t one_of(Source& source, std::initializer_list<std::uint32_t> values) {
  return values.begin()[source.below(static_cast<std::uint32_t>(values.size()))];
}

constexpr std::uint32_t kVariants = 7;       // of each geometry
constexpr std::uint32_t kTightVariants = 3;  // the first of them are short of storage

/// Sizes that a variant may have; the shape decides whether they go together.
std::vector<Override> draw_sizes(Geometry const& geometry, bool is_tight, Source& source) {
  Layout const& layout = geometry.layout;
  Capacity const& capacity = layout.capacity;
  std::vector<Override> sizes;
  auto const add = [&](char const* name, std::uint32_t value) { sizes.emplace_back(name, value); };
  std::uint32_t page_rows = layout.page_rows;
  if (source.one_in(2)) {
    page_rows = one_of(source, {1, 2, 4, 4, 8});
    add("page_rows", page_rows);
  }
  if (source.one_in(2)) {
    add("chunk_pages", one_of(source, {1, 2, 3, 4}));
  }
  if (source.one_in(2)) {
    add("largest_round", one_of(source, {1, 2, 4, 8}));
  }
  if (!is_tight) {
    return sizes;
  }
  std::uint32_t const sequences = source.between(2, 4);
  std::uint32_t const tokens = std::min(capacity.tokens, one_of(source, {24, 32, 48, 64}));
  std::uint32_t const pages = tokens / page_rows;
  add("sequences", sequences);
  add("tokens", tokens);
  add("snapshots", source.between(2, 5));
  if (capacity.entries != 0) {
    add("entries", source.between(1, 3));
  }
  if (source.one_in(2)) {
    add("slots", sequences + source.between(1, 6));
  }
  if (source.one_in(2)) {
    add("pages", pages + source.below(pages + 2));
  }
  if (source.one_in(2)) {
    add("ring_pages", source.between(4, 12));
  }
  return sizes;
}

/// Whether a cache of the geometry can be made.
bool can_run(Geometry const& geometry) {
  auto const device = make_host_device();
  std::vector<Device*> const devices(std::size_t{geometry.layout.ranks} * geometry.layout.stages,
                                     device.get());
  return static_cast<bool>(Cache::create(geometry.layout, devices));
}

/// A geometry of other sizes; itself when none is found, or when it is not small.
Geometry draw_variant(Geometry const& geometry, bool is_tight, std::uint64_t seed) {
  constexpr std::uint32_t kTries = 8;
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20U;
  auto const needed = bytes_needed(geometry.layout);
  if (!needed || needed->devices > kMostBytes) {
    return geometry;
  }
  Source source{seed};
  for (std::uint32_t attempt = 0; attempt < kTries; ++attempt) {
    try {
      Geometry variant = model::with_overrides(geometry, draw_sizes(geometry, is_tight, source));
      if (can_run(variant)) {
        return variant;
      }
    } catch (model::InputError const&) {
      continue;  // these sizes do not go together
    }
  }
  return geometry;
}

}  // namespace

std::span<FlavorInfo const> all_flavors() noexcept {
  return kFlavors;
}

std::optional<Flavor> flavor_named(std::string const& name) noexcept {
  for (std::uint32_t flavor = 0; flavor < kFlavorCount; ++flavor) {
    if (name == kFlavors[flavor].name) {
      return static_cast<Flavor>(flavor);
    }
  }
  return std::nullopt;
}

Generator flavored(Generator const& plain, Flavor flavor, std::uint64_t program_seed) {
  if (flavor == Flavor::kMix) {
    return plain;
  }
  Source source{seed_for(program_seed, Use::kWeights)};
  Weights weights = draw_weights(plain.weights(), source);
  Habits habits = plain.habits();
  habits.names = source.one_in(2) ? NameHabit::kLast : NameHabit::kAny;
  habits.nonsense_rate = one_of(source, {20, 40, 400});
  switch (flavor) {
    case Flavor::kHot:
      habits.names = static_cast<NameHabit>(source.between(1, 3));
      break;
    case Flavor::kPowers:
      habits.lengths = LengthHabit::kPowers;
      break;
    case Flavor::kEdges:
      habits.lengths = LengthHabit::kEdges;
      break;
    case Flavor::kPressure:
      press(weights);
      break;
    default:
      break;
  }
  return {weights, habits};
}

/// How much there is in a geometry that can break: kinds of planes, formats, devices.
std::uint32_t richness(Geometry const& geometry) {
  std::set<std::pair<std::string, std::uint32_t>> features;
  for (Layer const& layer : geometry.layout.layers) {
    for (PlaneSpec const& spec : layer.planes) {
      std::visit(
          [&](auto const& known) {
            known.describe(
                [&](auto const& described) { features.emplace(name_of(described.kind), 0); });
          },
          spec);
    }
  }
  return static_cast<std::uint32_t>(features.size()) +
         (geometry.layout.ranks * geometry.layout.stages > 1 ? 1 : 0);
}

Swarm::Swarm(std::vector<Geometry> const& geometries,
             std::uint64_t seed,
             std::optional<Flavor> only)
    : seed_{seed}, only_{only} {
  for (std::size_t i = 0; i < geometries.size(); ++i) {
    first_.push_back(settings_.size());
    richness_.push_back(richness(geometries[i]));
    settings_.push_back(geometries[i]);
    for (std::uint32_t variant = 0; only != Flavor::kMix && variant < kVariants; ++variant) {
      std::uint64_t const own = seed_for(model::mix(seed, i * kVariants + variant), Use::kVariant);
      settings_.push_back(draw_variant(geometries[i], variant < kTightVariants, own));
    }
  }
}

std::vector<std::string> variant_references(std::vector<std::string> const& names,
                                            std::uint64_t seed) {
  std::vector<Geometry> geometries;
  for (std::string const& name : names) {
    geometries.push_back(model::load_geometry(name));
  }
  Swarm const swarm{geometries, seed, std::nullopt};
  std::vector<std::string> references;
  for (Geometry const& setting : swarm.settings()) {
    if (!setting.overrides.empty()) {
      references.push_back(model::geometry_reference(setting));
    }
  }
  return references;
}

SwarmProgram Swarm::program(std::uint64_t index) const noexcept {
  SwarmProgram program{.seed = program_seed(seed_, index)};
  Source source{seed_for(program.seed, Use::kFlavor)};
  // The last, pressure, is for few bugs: it gets half a turn.
  std::uint32_t const turn = source.below(2 * kFlavorCount - 1) / 2;
  program.flavor = only_ ? *only_ : static_cast<Flavor>(turn);
  // Each geometry has its turns; half of them go to a richer one, if there is.
  std::size_t geometry = index % first_.size();
  if (program.flavor != Flavor::kMix) {
    std::size_t const other = source.below(static_cast<std::uint32_t>(first_.size()));
    geometry = richness_[other] > richness_[geometry] ? other : geometry;
  }
  program.setting = first_[geometry];
  if (program.flavor == Flavor::kPressure) {
    program.setting += 1 + source.below(kTightVariants);
  } else if (program.flavor != Flavor::kMix && source.one_in(2)) {
    program.setting += 1 + source.below(kVariants);
  }
  return program;
}

Runner& SwarmRunner::runner(SwarmProgram const& program) {
  auto& runner = runners_[program.setting];
  if (!runner) {
    runner = std::make_unique<Runner>(swarm_.settings()[program.setting], options_);
  }
  return *runner;
}

ProgramResult SwarmRunner::run(SwarmProgram const& program) {
  Runner& own = runner(program);
  Generator generator = flavored(own.generator(), program.flavor, program.seed);
  if (options_.device.is_simulated && program.flavor != Flavor::kMix &&
      Source{seed_for(program.seed, Use::kStreams)}.one_in(2)) {
    generator = generator.with_streams();
  }
  return own.run_seed(program.seed, options_.faults ? generator.with_faults() : generator);
}

}  // namespace holdfast::fuzz
