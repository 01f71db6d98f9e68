// SPDX-License-Identifier: Apache-2.0
// The checks of a merge gate, each part in a process of its own: one that crashes or hangs fails as
// the case that it was at, and the others go on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::fuzz {

/// Outcome of one case.
struct GateCase {
  std::string part;
  std::string name;
  std::string failure;    ///< what broke, in lines; "" when it held
  std::string reproduce;  ///< the command that shows it again
  std::string skipped;    ///< why it was not run; "" when it was
  double seconds = 0;
};

/// How a part says what it is at, from its process.
class GateVoice {
 public:
  GateVoice(int pipe, unsigned hang_seconds) : pipe_{pipe}, hang_seconds_{hang_seconds} {}

  /// A case begins. One that does not end in time, or kills the process, fails.
  void begin(std::string const& name, std::string const& reproduce);
  /// It is alive: its time begins again.
  void go_on() const;
  /// It is over; "" says that it held. What is known now may make a better command.
  void end(std::string const& failure, std::string const& reproduce = "");

 private:
  void say(std::string const& line) const;

  int pipe_;
  unsigned hang_seconds_;
};

/// Some cases.
struct GatePart {
  std::string name;
  std::function<void(GateVoice& voice)> check;
};

/// What to run.
struct GatePlan {
  std::vector<GatePart> parts;
  std::uint32_t jobs = 1;       ///< processes at a time
  unsigned hang_seconds = 120;  ///< most time of one case
  std::function<double()> now;  ///< seconds since some moment
  /// Called for each case that is over, and about every half second with none.
  std::function<void(GateCase const* done)> on_progress;
  /// When it says so, the parts that run are ended where they are, and no other begins; a case that is
  /// not over is skipped.
  std::function<bool()> should_stop;
};

/// Runs all parts; the cases are in the order of parts. The calling process must have one thread.
/// Throws std::system_error.
[[nodiscard]] std::vector<GateCase> run_gate(GatePlan const& plan);

/// The cases as JUnit XML, which continuous integration shows.
[[nodiscard]] std::string junit_of(std::vector<GateCase> const& cases, double seconds);

}  // namespace holdfast::fuzz
