// SPDX-License-Identifier: Apache-2.0
// Which device call fails, and how.
#pragma once

#include <cstdint>

namespace holdfast::model {

/// Which calls a fault counts, and what happens at the one that it is for.
enum class FaultKind : std::uint8_t {
  kAny,          // any call fails
  kAllocation,   // an allocation
  kCopy,         // a copy, a fill, a read or write of the host
  kLaunch,       // a launch
  kEvent,        // a record, a wait, a question whether an event is done, or waiting for one
  kSynchronize,  // a synchronize
  kLost,         // at any call: its device fails that call and every later one
  kStall,        // at any call that enqueues: its stream stands still until the host waits for it
};
inline constexpr std::uint32_t kFaultKindCount = 8;

/// A fault that is to come.
struct FaultPlan {
  FaultKind kind = FaultKind::kAny;
  std::uint32_t after = 0;  // calls of the kind that still work
  bool forever = false;     // later calls of the kind fail as well, until it is healed
  bool done = false;        // what was asked for is done all the same, only the answer is an error
};

}  // namespace holdfast::model
