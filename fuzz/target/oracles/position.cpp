// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::string of_extent(std::optional<model::Extent> extent) {
  return extent ? std::to_string(extent->first) + ".." + std::to_string(extent->last) : "empty";
}

std::optional<model::Extent> find(model::Positions const& positions, std::uint32_t sequence) {
  auto const found = positions.find(sequence);
  return found == positions.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::string> check_position(OracleLook const& look) {
  EngineStep const& step = look.step;
  for (std::uint32_t s = 0; s < 64; ++s) {
    bool const is_named = ((step.named >> s) & 1U) != 0 && ((step.lost >> s) & 1U) == 0;
    auto const want = is_named ? find(step.expected, s) : std::nullopt;
    auto const got = is_named ? find(step.after, s) : std::nullopt;
    if (want.has_value() != got.has_value() ||
        (want && (want->last != got->last || got->first < want->first))) {
      return "s" + std::to_string(s) + " has positions " + of_extent(got) + ", and its history " +
             of_extent(want);
    }
  }
  return std::nullopt;
}

}  // namespace

Oracle const kPositionOracle = {
    "POSITION",
    "the last position of each sequence that an operation names is that of its history",
    check_position};

}  // namespace holdfast::fuzz
