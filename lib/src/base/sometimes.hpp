// SPDX-License-Identifier: Apache-2.0
// Points: what some run must have met, or the runs prove less than they seem to. Compiled only into
// the library's second build, the one with mutants.
//
// A site reads `HOLDFAST_SOMETIMES(kName, condition);`. In the plain build the condition is not even
// evaluated. The names are in sometimes.def; their texts are in fuzz/.
#pragma once

#ifdef HOLDFAST_MUTANTS

#include <cstdint>

namespace holdfast::internal::base {

/// The points.
enum class Point : std::uint32_t {
#define HOLDFAST_POINT_NAME(enumerator, name) enumerator,
#include "base/sometimes.def"
#undef HOLDFAST_POINT_NAME
};

/// Notes that a point was met; from any thread.
void meet(Point point) noexcept;

}  // namespace holdfast::internal::base

#define HOLDFAST_SOMETIMES(enumerator, condition)                                                \
  ((condition) ? ::holdfast::internal::base::meet(::holdfast::internal::base::Point::enumerator) \
               : static_cast<void>(0))

#else

#define HOLDFAST_SOMETIMES(enumerator, condition) static_cast<void>(sizeof((condition) ? 1 : 0))

#endif
