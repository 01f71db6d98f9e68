// SPDX-License-Identifier: Apache-2.0
// Oracles of engines behind the protocol: one a file, like invariants. Each looks at one operation that was answered, or
// at how the process ended.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "fuzz/target/session.hpp"

namespace holdfast::fuzz {

struct OracleLook {
  EngineStep const& step;  // one without an answer when there is trouble
  double tolerance = 0;
  Trouble const& trouble;
};

struct Oracle {
  char const* id;
  char const* statement;
  /// What is wrong; nothing when it holds.
  std::optional<std::string> (*check)(OracleLook const& look);
};

/// What the runner says of a process that ended so; nothing when it did not.
[[nodiscard]] inline std::optional<std::string> told_of(OracleLook const& look, Ending ending) {
  return look.trouble.ending == ending ? std::optional{look.trouble.text} : std::nullopt;
}

extern Oracle const kProtocolOracle;
extern Oracle const kRefusalOracle;
extern Oracle const kPositionOracle;
extern Oracle const kIntactOracle;
extern Oracle const kSizeOracle;
extern Oracle const kLogitsOracle;
extern Oracle const kCrashOracle;
extern Oracle const kHangOracle;
extern Oracle const kMemoryOracle;

/// All of them, in the order in which they are asked.
[[nodiscard]] std::span<Oracle const* const> all_oracles() noexcept;

}  // namespace holdfast::fuzz
