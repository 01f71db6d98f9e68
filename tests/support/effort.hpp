// SPDX-License-Identifier: Apache-2.0
// How much of a long test is run.
#pragma once

#include <cstdint>

namespace holdfast::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

/// `full` repetitions, or a tenth of them with sanitizers, which make each up to ten times as long.
constexpr std::uint64_t effort(std::uint64_t full) {
  return kIsSanitized ? full / 10 : full;
}

/// Seconds in which a campaign must have got somewhere.
constexpr int patience(int seconds) {
  return kIsSanitized ? 5 * seconds : seconds;
}

}  // namespace holdfast::test
