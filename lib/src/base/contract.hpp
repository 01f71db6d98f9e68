// SPDX-License-Identifier: Apache-2.0
// Assertions for our own bugs; no well-typed public call can reach one.
#pragma once

#include <holdfast/result.hpp>

/// O(1) check that is always on.
#define HOLDFAST_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::holdfast::contract_failed(#condition, __FILE__, __LINE__))

// HOLDFAST_VERIFY_THAT is a check that costs more. It is on in test and fuzz builds (HOLDFAST_VERIFY). The
// build with mutants asks at run time, so that a seeded bug can be shown to an invariant, which must find it
// by itself, and to an assertion.
#if defined(HOLDFAST_MUTANTS)

namespace holdfast::internal::base {
/// Whether costly checks are on. Written before any cache exists, only read afterwards.
extern bool is_verifying;
}  // namespace holdfast::internal::base

#define HOLDFAST_VERIFY_THAT(condition) \
  (::holdfast::internal::base::is_verifying ? HOLDFAST_ASSERT(condition) : static_cast<void>(0))

#elif defined(HOLDFAST_VERIFY)

#define HOLDFAST_VERIFY_THAT(condition) HOLDFAST_ASSERT(condition)

#else

#define HOLDFAST_VERIFY_THAT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))

#endif
