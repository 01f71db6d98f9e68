// SPDX-License-Identifier: Apache-2.0
// Points: what some run must have met, or the runs prove less than they seem to. All are listed
// here, whether they were ever met or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast::fuzz {

/// One point. Of those of the library, the name is that of lib/src/base/sometimes.def.
struct PointInfo {
  char const* name;
  char const* text;  ///< what happens there
  bool of_harness;   ///< seen from outside, whatever the build of the library
};

/// The points of the harness.
enum class HarnessPoint : std::uint8_t {
  kAnswerInvalidArgument,
  kAnswerUnsupported,
  kAnswerStale,
  kAnswerBusy,
  kAnswerTooLong,
  kAnswerIncomplete,
  kAnswerRefused,
  kAnswerExhausted,
  kAnswerTainted,
  kAnswerMiss,
  kAnswerDamaged,
  kRolledBackTwice,
  kRolledBackForeign,
  kForkOutlivesSource,
  kStepOfSeveral,
  kCount,
};

/// All points, those of the library first.
[[nodiscard]] std::span<PointInfo const> all_points() noexcept;
/// Whether this program is linked with the build of the library that has points.
[[nodiscard]] bool has_library_points() noexcept;
/// Names that the library knows, in order; empty in the plain build.
[[nodiscard]] std::vector<std::string> library_points();
/// Notes that a point was met; from any thread.
void meet(HarnessPoint point) noexcept;
/// Those that this process has not met; in the plain build all of the library's are among them.
[[nodiscard]] std::vector<PointInfo const*> points_never_met();

}  // namespace holdfast::fuzz
