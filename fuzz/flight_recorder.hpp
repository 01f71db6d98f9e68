// SPDX-License-Identifier: Apache-2.0
// The program that is going on, as a trace in a file, each operation before it runs: what ends the
// process, a device's error or a watchdog among others, leaves what reproduces it.
#pragma once

#include <string>

#include "models/trace.hpp"

namespace holdfast::fuzz {

/// One file, of one thread. Every write is there for other processes as soon as the call returns. A
/// recorder that is destroyed removes its file: nothing was lost.
class FlightRecorder {
 public:
  /// Throws std::runtime_error when the file cannot be written.
  explicit FlightRecorder(std::string const& path);
  FlightRecorder(FlightRecorder const&) = delete;
  FlightRecorder& operator=(FlightRecorder const&) = delete;
  ~FlightRecorder();

  /// Begins a program: forgets the last one. Operations of `head` are written too.
  void start(model::Trace const& head);
  /// An operation that runs next.
  void note(model::AnyOp const& op);

 private:
  void append(std::string const& text);

  std::string path_;
  int file_ = -1;
};

}  // namespace holdfast::fuzz
