// SPDX-License-Identifier: Apache-2.0
// Makes a failing program as small as it gets with the same violation: fewer operations, simpler
// fields, a smaller geometry, and one way to write it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/device_choice.hpp"
#include "models/geometry/geometry.hpp"
#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// What a smaller program must have in common with the program.
enum class Keep : std::uint8_t {
  kViolation,  ///< one of the ids that it reports, at an operation of the same kind
  kFailure,    ///< any violation
  /// Any violation that is about planes of one of the same specs, or when either is about none; then
  /// an operation may become one of a plainer kind, and another larger for one that is left out.
  kCause,
};

/// What to make smaller.
struct MinimizePlan {
  model::Geometry geometry;
  std::vector<model::AnyOp> ops;
  model::DeviceChoice device;
  bool compare = true;  ///< compare the answers of library and model
  /// What is kept. With all but the violation itself everything is checked after every operation, and
  /// failures of one bug come to one program more often than not.
  Keep keep = Keep::kViolation;
  /// A program that runs longer hangs.
  unsigned hang_seconds = 10;
  /// Called about every half second.
  std::function<void(std::uint64_t candidates, std::size_t operations)> on_progress;
  /// Asked between candidates; true ends the search with what there is.
  std::function<bool()> should_stop;
  /// Called for each operation that ran, in whatever process it ran.
  std::function<void(model::AnyOp const& op)> on_operation;
};

/// The smallest program that was found.
struct Minimized {
  bool failed = false;           ///< whether the program fails at all
  bool died = false;             ///< the process crashed or hung
  bool at_end = false;           ///< found when the program was over
  std::vector<std::string> ids;  ///< of the violation that was kept: invariants, or how it died
  model::Geometry geometry;
  std::vector<model::AnyOp> ops;  ///< the last one is the failing one
  std::uint64_t candidates = 0;   ///< programs that were run
};

/// Keeps the violation: one of the ids that the program reports first, at an operation of the same
/// kind; what only a check of everything finds is looked for after every operation. A crash or a hang
/// is kept in the same way, each candidate in a process of its own. The outcome depends on the plan
/// alone. The calling process must have one thread. Throws std::system_error.
[[nodiscard]] Minimized minimize(MinimizePlan const& plan);

}  // namespace holdfast::fuzz
