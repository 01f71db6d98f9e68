// SPDX-License-Identifier: Apache-2.0
// Failures on schedule. Whoever looks for bugs runs these too: a pipeline that does not report them
// would not report a bug either.
#pragma once

#include <cstdint>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

/// Every so many programs a canary must be reported.
inline constexpr std::uint64_t kCanaryPeriod = 100;

/// Whether the program of this index must fail.
[[nodiscard]] constexpr bool is_canary(std::uint64_t index) noexcept {
  return index % kCanaryPeriod == 0;
}

/// Whether a program failed because it had to.
[[nodiscard]] bool is_canary_report(ProgramResult const& result);

/// Runs programs in which a contract breaks on schedule, at the first operation.
class CanaryRunner {
 public:
  explicit CanaryRunner(model::Geometry const& geometry, bool muted = false);
  /// Program `index` of a run with this seed.
  ProgramResult run(std::uint64_t seed, std::uint64_t index);
  [[nodiscard]] Runner const& runner() const noexcept { return runner_; }

 private:
  bool muted_;
  bool due_ = false;
  Runner runner_;
};

}  // namespace holdfast::fuzz
