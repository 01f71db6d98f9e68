// SPDX-License-Identifier: Apache-2.0
// What killed a process: run again where it can do no harm, and made small.
#pragma once

#include <string>
#include <vector>

#include "fuzz/campaign/job.hpp"
#include "fuzz/findings.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {

/// A program, and what it ran on.
struct FoundProgram {
  model::Geometry geometry;
  model::DeviceChoice device;
  std::vector<model::AnyOp> ops;
};

struct Recovered {
  bool lives = false;    ///< it breaks a statement, and the process lives: a failure like others
  FoundProgram program;  ///< when it lives
  Finding finding;       ///< when it does not
};

/// Looks at the program or input of a kRecover job, in child processes. The calling process must
/// have one thread. Throws model::InputError when the input is gone.
[[nodiscard]] Recovered recover(Job const& job);

/// What a sanitizer calls the failure, "ASAN heap-use-after-free"; "" when none said anything.
[[nodiscard]] std::string sanitizer_id(std::string_view log);

[[nodiscard]] Reproducer trace_reproducer(FoundProgram const& program, double seconds);

}  // namespace holdfast::fuzz
