// SPDX-License-Identifier: Apache-2.0
// Seeded bugs of device code. The host looks which one is on when it launches, and tells the kernel; in
// the plain build there is nothing to tell, and no code.
#pragma once

#include <cstdint>

#include "base/mutants.hpp"

namespace holdfast::internal::device {

/// The seeded bugs of the kernels.
enum class Bug : std::uint32_t {
  kNone,
  kTailLost,
  kEntryStale,
  kLengthStale,
  kSlotStale,
  kLastRunLost,
  kWildWrite,
  kBelowArena,
  kWrongPage,
  kRoundedDown,
  kKeyAcrossLap,
};

#ifdef HOLDFAST_MUTANTS

/// The bug that is on.
class Bugs {
 public:
  Bugs() noexcept = default;
  explicit Bugs(Bug bug) noexcept : bug_{bug} {}
  [[nodiscard]] __device__ bool has(Bug bug) const noexcept { return bug_ == bug; }

 private:
  Bug bug_ = Bug::kNone;
};

/// Of the step kernel.
[[nodiscard]] inline Bugs step_bugs() noexcept {
  return Bugs{HOLDFAST_MUTANT(kCudaTailLost)      ? Bug::kTailLost
              : HOLDFAST_MUTANT(kCudaEntryStale)  ? Bug::kEntryStale
              : HOLDFAST_MUTANT(kCudaLengthStale) ? Bug::kLengthStale
              : HOLDFAST_MUTANT(kCudaSlotStale)   ? Bug::kSlotStale
              : HOLDFAST_MUTANT(kCudaLastRunLost) ? Bug::kLastRunLost
              : HOLDFAST_MUTANT(kCudaWildWrite)   ? Bug::kWildWrite
              : HOLDFAST_MUTANT(kCudaBelowArena)  ? Bug::kBelowArena
                                                  : Bug::kNone};
}
/// Of the row kernels.
[[nodiscard]] inline Bugs row_bugs() noexcept {
  return Bugs{HOLDFAST_MUTANT(kCudaWrongPage)      ? Bug::kWrongPage
              : HOLDFAST_MUTANT(kCudaRoundedDown)  ? Bug::kRoundedDown
              : HOLDFAST_MUTANT(kCudaKeyAcrossLap) ? Bug::kKeyAcrossLap
                                                   : Bug::kNone};
}

#else

/// No bug.
class Bugs {
 public:
  [[nodiscard]] __device__ constexpr bool has(Bug /*bug*/) const noexcept { return false; }
};

[[nodiscard]] inline Bugs step_bugs() noexcept {
  return {};
}
[[nodiscard]] inline Bugs row_bugs() noexcept {
  return {};
}

#endif

}  // namespace holdfast::internal::device
