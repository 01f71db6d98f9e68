// SPDX-License-Identifier: Apache-2.0
// Assertions for our own bugs; no well-typed public call can reach one.
#pragma once

#include <holdfast/result.hpp>

/// O(1) check that is always on.
#define HOLDFAST_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::holdfast::contract_failed(#condition, __FILE__, __LINE__))

#ifdef HOLDFAST_VERIFY
/// O(n) check that is on in test and fuzz builds.
#define HOLDFAST_VERIFY_THAT(condition) HOLDFAST_ASSERT(condition)
#else
#define HOLDFAST_VERIFY_THAT(condition) static_cast<void>(0)
#endif
