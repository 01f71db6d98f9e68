// SPDX-License-Identifier: Apache-2.0
// What becomes of a program on an engine: the first operation at which an oracle reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/target/session.hpp"

namespace holdfast::fuzz {

struct EngineVerdict {
  std::string oracle;  ///< empty: all held
  std::size_t at = 0;  ///< the operation
  std::string text;    ///< what is wrong
  bool refused_knobs = false;
  std::size_t skipped = 0;        ///< operations that made no sense after what the engine answered
  std::vector<EngineStep> steps;  ///< that were answered or skipped

  [[nodiscard]] bool failed() const noexcept { return !oracle.empty(); }
};

/// How far logits of one history are apart, and of histories that differ by one token.
struct Calibration {
  double noise = 0;
  double signal = 0;
  double tolerance = 0;
};

class EngineRunner {
 public:
  /// Starts the engine, and calibrates unless the target has a tolerance. Throws InputError when noise and
  /// signal are less than ten times apart.
  explicit EngineRunner(Target const& target);
  EngineRunner(Target const& target, Calibration const& known);

  /// Runs a program. When the process dies, the program is run again, one operation after the other.
  EngineVerdict run(EngineProgram const& program);
  /// The same in a process that ran nothing else.
  EngineVerdict run_fresh(EngineProgram const& program);
  [[nodiscard]] Calibration const& calibration() const noexcept { return calibration_; }
  [[nodiscard]] Session& session() noexcept { return session_; }

 private:
  EngineVerdict judge(EngineRun run, std::size_t operations) const;

  Session session_;
  Calibration calibration_;
};

/// Measures noise and signal under all values of all knobs. Throws InputError when they are less than ten
/// times apart.
[[nodiscard]] Calibration calibrate(Session& session);

}  // namespace holdfast::fuzz
