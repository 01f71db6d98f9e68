// SPDX-License-Identifier: Apache-2.0
// Oracles of engines behind the protocol: one a file, like invariants. Each looks at one operation that was answered.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "fuzz/target/session.hpp"

namespace holdfast::fuzz {

struct OracleLook {
  EngineStep const& step;
  double tolerance = 0;
};

struct Oracle {
  char const* id;
  char const* statement;
  /// What is wrong; nothing when it holds. nullptr: it is about the process, and the runner knows.
  std::optional<std::string> (*check)(OracleLook const& look);
};

extern Oracle const kRefusalOracle;
extern Oracle const kPositionOracle;
extern Oracle const kIntactOracle;
extern Oracle const kSizeOracle;
extern Oracle const kLogitsOracle;

/// All of them, in the order in which they are asked.
[[nodiscard]] std::span<Oracle const* const> all_oracles() noexcept;
/// The id of an ending that is not fine.
[[nodiscard]] char const* oracle_of(Ending ending) noexcept;

}  // namespace holdfast::fuzz
