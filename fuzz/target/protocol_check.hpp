// SPDX-License-Identifier: Apache-2.0
// Where an adapter's answers break the protocol, line by line, and whether the same lines twice give the same answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/target/target.hpp"

namespace holdfast::fuzz {

struct ProtocolFault {
  std::string line;    ///< that was sent; empty: it is about several
  std::string answer;  ///< what came back
  std::string what;
};

struct ProtocolReport {
  model::Hello hello;
  std::vector<ProtocolFault> faults;  ///< at most a few of each program
  std::uint64_t lines = 0;            ///< that were sent
  std::uint64_t programs = 0;
  std::vector<std::string> never_done;  ///< operations that are declared and were never done
};

/// Runs `programs` random programs, each twice. Throws InputError when the adapter cannot be started.
[[nodiscard]] ProtocolReport check_protocol(Target const& target,
                                            std::uint32_t programs,
                                            std::function<bool()> const& should_stop);

}  // namespace holdfast::fuzz
