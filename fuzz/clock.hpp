// SPDX-License-Identifier: Apache-2.0
// Time that passes, for budgets and figures.
#pragma once

#include <chrono>

namespace holdfast::fuzz {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace holdfast::fuzz
