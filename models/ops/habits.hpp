// SPDX-License-Identifier: Apache-2.0
// How a program's generators choose: what is even in the plain mix and lopsided in other programs.
#pragma once

#include <cstdint>
#include <optional>

#include "models/observation.hpp"

namespace holdfast::model {

/// How numbers of rows and positions are chosen.
enum class LengthHabit : std::uint8_t {
  kAroundMean,
  kPowers,  ///< powers of two, and one beside
  kEdges,   ///< so that they end at, before or behind an edge of a page, pool, ring or round
};

/// Which of several names that suit is chosen.
enum class NameHabit : std::uint8_t {
  kAny,
  kOldest,  ///< the older, the likelier: one in two falls on the oldest
  kNewest,
  kLast,  ///< the one that the last operation was about, three times in four
};

/// Habits of one program; as they stand here they are those of the plain mix.
struct Habits {
  std::uint32_t mean_rows = kMeanRows;
  /// One choice in this many is made without regard to sense: stale names, busy sequences, lengths
  /// too long.
  std::uint32_t nonsense_rate = 40;
  /// One state in this many is written in place or rescanned, where there is one.
  std::uint32_t mode_rate = 2;
  /// One write in this many is not as usual: it leaves something out, or does it otherwise or wrongly.
  std::uint32_t freedom_rate = 8;
  /// Which keys stand for tokens in the prompts of the program; 0: each token has its own.
  std::uint64_t prompts = 0;
  LengthHabit lengths = LengthHabit::kAroundMean;
  NameHabit names = NameHabit::kAny;
};

/// What the last operation was about.
struct LastNames {
  std::optional<SequenceName> sequence;
  std::optional<SnapshotName> snapshot;
  std::optional<EntryName> entry;
};

}  // namespace holdfast::model
