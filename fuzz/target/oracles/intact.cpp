// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

/// Positions of the sequences that the operation does not name. A window may let go of early ones.
std::optional<std::string> check_intact(OracleLook const& look) {
  EngineStep const& step = look.step;
  for (std::uint32_t s = 0; s < 64; ++s) {
    if (((step.named >> s) & 1U) != 0) {
      continue;
    }
    auto const before = step.before.find(s);
    auto const after = step.after.find(s);
    bool const was = before != step.before.end();
    bool const is = after != step.after.end();
    if (was != is || (was && (before->second.last != after->second.last ||
                              before->second.first > after->second.first))) {
      return "s" + std::to_string(s) + " is not named; positions were " +
             model::text_of(step.before) + ", and are " + model::text_of(step.after);
    }
  }
  return std::nullopt;
}

}  // namespace

Oracle const kIntactOracle = {
    "INTACT", "sequences that an operation does not name keep their positions", check_intact};

}  // namespace holdfast::fuzz
