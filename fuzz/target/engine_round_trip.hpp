// SPDX-License-Identifier: Apache-2.0
// Time of a round trip to an adapter beside that of a bare echo of the same bytes.
#pragma once

#include <cstdint>

#include "fuzz/target/target.hpp"

namespace holdfast::fuzz {

/// Shortest of many, so that what else the machine does is left out.
struct RoundTrip {
  double decode_seconds =
      0;  ///< a decode of one token is asked, answered with logits, and understood
  double echo_seconds = 0;   ///< `cat` is given the bytes of that answer, and gives them back
  std::uint32_t logits = 0;  ///< numbers in the answer
  std::uint64_t bytes = 0;   ///< of the answer

  [[nodiscard]] double ratio() const noexcept {
    return echo_seconds > 0 ? decode_seconds / echo_seconds : 0;
  }
};

/// Asks at most `count` times for each, in turn, for about `seconds` at most. Throws InputError when the adapter cannot be started or
/// refuses a decode of one token.
[[nodiscard]] RoundTrip time_round_trip(Target const& target, std::uint32_t count, double seconds);

}  // namespace holdfast::fuzz
