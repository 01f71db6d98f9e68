// SPDX-License-Identifier: Apache-2.0
// Makes a failing program of an engine small, and finds the operation to blame: the first after which a probe shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/target/engine_runner.hpp"

namespace holdfast::fuzz {

/// What makes two findings the same.
struct EngineBucket {
  std::string oracle;
  std::string blamed;  ///< kind of the blamed operation
  std::string kinds;   ///< kinds in the minimal program: "copy+decode+load"

  /// "LOGITS load copy+decode+load"
  [[nodiscard]] std::string text() const { return oracle + " " + blamed + " " + kinds; }
};

struct EngineFinding {
  EngineProgram program;   ///< the smallest that was found
  EngineVerdict verdict;   ///< of that program
  std::size_t blamed = 0;  ///< its operation
  EngineBucket bucket;
  std::uint64_t candidates = 0;
  bool reproduced = true;  ///< false: it did not fail in a process of its own, and is as it was
};

struct EngineMinimizePlan {
  EngineProgram program;
  std::uint64_t most_candidates = 600;
  std::uint64_t most_hangs = UINT64_MAX;  ///< candidates without an answer, which take their time
  std::function<bool()> should_stop;
};

/// Keeps the oracle that reports, at an operation of the same kind.
[[nodiscard]] EngineFinding minimize(EngineRunner& runner, EngineMinimizePlan const& plan);

/// Runs every prefix with probes, each in a process of its own; the operation after which the first fails.
[[nodiscard]] std::size_t blame(EngineRunner& runner,
                                EngineProgram const& program,
                                EngineVerdict const& verdict);

[[nodiscard]] EngineBucket bucket_of(EngineProgram const& program,
                                     EngineVerdict const& verdict,
                                     std::size_t blamed);

}  // namespace holdfast::fuzz
