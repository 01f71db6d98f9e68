// SPDX-License-Identifier: Apache-2.0
// What was met. The plain build compiles this file to nothing.
#include "base/sometimes.hpp"

#ifdef HOLDFAST_MUTANTS

#include <atomic>

namespace {

char const* const kSometimesNames[] = {
#define HOLDFAST_POINT_NAME(enumerator, name) name,
#include "base/sometimes.def"
#undef HOLDFAST_POINT_NAME
};
constexpr std::uint32_t kCount = sizeof kSometimesNames / sizeof kSometimesNames[0];

std::atomic<bool> met[kCount];

}  // namespace

namespace holdfast::internal::base {

void meet(Point point) noexcept {
  met[static_cast<std::uint32_t>(point)].store(true, std::memory_order_relaxed);
}

}  // namespace holdfast::internal::base

// The harness finds these two by weak reference, so that it links with either build of the library.

/// Name of point `index`, counted from 0; nullptr past the last.
extern "C" char const* holdfast_point_name(std::uint32_t index) {
  return index < kCount ? kSometimesNames[index] : nullptr;
}

extern "C" bool holdfast_point_was_met(std::uint32_t index) {
  return index < kCount && met[index].load(std::memory_order_relaxed);
}

#endif
