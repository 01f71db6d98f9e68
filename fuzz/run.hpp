// SPDX-License-Identifier: Apache-2.0
// Many random programs over some geometries, on some threads. The outcome depends on the seed and
// the number of programs only, never on threads or time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"
#include "fuzz/swarm.hpp"
#include "models/lineage/coverage.hpp"

namespace holdfast::fuzz {

/// What to run.
struct RunPlan {
  std::vector<model::Geometry> geometries;
  std::uint64_t seed = 0;
  std::optional<Flavor> flavor;  ///< none: all take turns
  std::uint64_t operations =
      0;               ///< run the least prefix of programs that reaches so many; 0: by time
  double seconds = 0;  ///< used when operations is 0
  std::uint32_t threads = 1;
  model::SystemInfo const* system = nullptr;  ///< another than the library
  bool simulated = false;                     ///< on simulated devices
  bool cuda = false;                          ///< on the host, with a shadow on CUDA devices
  bool check_order = true;                    ///< as RunnerOptions has it
  bool faults = false;                        ///< likewise
  bool compare = true;
  /// Called about every half second from one of the threads, with what is done so far.
  std::function<void(Counts const& counts, double seconds)> on_progress;
  /// Each thread keeps its program in a file of this name and its number, each operation before it
  /// runs, until the run ends; empty: none does.
  std::string flights;
  model::Coverage* coverage = nullptr;  ///< what all programs saw is added to it
  /// Asked between operations; true ends the run early.
  std::function<bool()> should_stop;
};

/// The first failing program of a run.
struct FailedProgram {
  std::uint64_t index = 0;
  std::uint64_t seed = 0;  ///< of the program
  Flavor flavor = Flavor::kMix;
  std::string geometry;  ///< name, and what was changed of it
  Failure failure;       ///< of the replay that kept a log, so that rows have names
  model::Trace trace;    ///< up to the failing operation
};

/// Outcome of a run.
struct RunResult {
  Counts counts;
  std::uint64_t digest = 0;
  double seconds = 0;
  std::optional<FailedProgram> failed;
};

[[nodiscard]] RunResult run_many(RunPlan const& plan);

/// What a failed program says of itself, without running it again.
[[nodiscard]] FailedProgram failed_program(model::Geometry const& geometry,
                                           Failure const& failure,
                                           std::vector<model::AnyOp> const& ops,
                                           model::DeviceChoice const& device);

/// Operations of the least prefix of programs that holds program `index`.
[[nodiscard]] std::uint64_t operations_through(std::uint64_t seed, std::uint64_t index);

/// Runs a failing program again, with names for every row.
[[nodiscard]] FailedProgram explain_failure(model::Geometry const& geometry,
                                            std::vector<model::AnyOp> const& ops,
                                            bool compare,
                                            model::DeviceChoice device = {});

/// The lines that a person reads: operation, violations, and why, when that is known.
[[nodiscard]] std::string describe_failure(Failure const& failure,
                                           std::vector<model::AnyOp> const& ops);

}  // namespace holdfast::fuzz
