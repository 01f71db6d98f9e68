// SPDX-License-Identifier: Apache-2.0
// Goal: random programs hold over rows of every format, also where keys and values differ, on one rank and
// on two. Method: a geometry a format, made from the list; all invariants.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>

#include "fuzz/run.hpp"
#include "fuzz/runner.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {
namespace {

/// Elements that are whole blocks of both formats, with room for what the engine writes in the clear.
std::uint32_t width_for(Format one, Format other) {
  constexpr std::uint32_t kLeast = 8;
  std::uint32_t const block =
      std::lcm(trait_of(one).block_elements, trait_of(other).block_elements);
  return (kLeast + block - 1) / block * block;
}

model::Geometry geometry_of(Format keys, Format values, std::uint32_t ranks) {
  model::Geometry geometry = model::load_geometry("tiny");
  AttentionKvSpec const attention{
      .heads = 2, .head_dim = width_for(keys, values), .format = keys, .value_format = values};
  LatentSpec const latent{.width = width_for(keys, keys), .format = keys};
  DraftKvSpec draft;
  static_cast<AttentionKvSpec&>(draft) = attention;
  geometry.layout.layers = {{{attention, latent}}, {{attention}}, {{draft}}};
  geometry.layout.ranks = ranks;
  geometry.name = std::string{name_of(keys)} + " and " + name_of(values);
  return geometry;
}

TEST(FormatRuns, EveryFormatHolds) {
  for (std::uint32_t i = 0; i < kFormatCount; ++i) {
    auto const keys = static_cast<Format>(i);
    auto const values = static_cast<Format>((i + 1) % kFormatCount);
    for (std::uint32_t const ranks : {1U, 2U}) {
      model::Geometry const geometry = geometry_of(keys, values, ranks);
      ASSERT_TRUE(validate(geometry.layout)) << geometry.name;
      Runner runner{geometry, {.deep_every = 4}};
      for (std::uint64_t program = 0; program < 60; ++program) {
        auto const outcome = runner.run_seed(program_seed(3, program));
        ASSERT_FALSE(outcome.failure)
            << geometry.name << ", ranks " << ranks << ", program " << program << "\n"
            << describe_failure(*outcome.failure, runner.ops());
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::fuzz
