// SPDX-License-Identifier: Apache-2.0
// What becomes of one program, in this process or in a child that may die of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

/// Outcome of one program, as a minimizer compares it.
struct Verdict {
  bool failed = false;
  bool at_end = false;  ///< found when the program was over
  std::vector<std::string>
      ids;  ///< what reported it; "SIGNAL 11", "EXIT 1" or "HANG" of a dead child
  std::vector<std::string> specs;  ///< of the planes that it is about; none: it is about no plane
  bool died = false;               ///< the child did not survive it
  std::vector<model::AnyOp> ops;   ///< that ran, up to the failing one
};

/// Runs a program here.
[[nodiscard]] Verdict judge(Runner& runner, std::span<model::AnyOp const> ops);

/// Runs a program in a child process, which is taken down after `seconds`. The calling process must
/// have one thread. Throws std::system_error.
[[nodiscard]] Verdict judge_in_child(model::Geometry const& geometry,
                                     RunnerOptions const& options,
                                     std::span<model::AnyOp const> ops,
                                     unsigned seconds);

}  // namespace holdfast::fuzz
