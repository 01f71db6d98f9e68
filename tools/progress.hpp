// SPDX-License-Identifier: Apache-2.0
// Progress on standard error: one line that is rewritten on a terminal, else a line now and then.
#pragma once

#include <chrono>
#include <string>

namespace holdfast::tools {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// Shows a line; without a terminal, only every 5 seconds.
  void show(std::string const& line);
  /// Takes the line off a terminal.
  void clear();
  [[nodiscard]] double seconds() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double next_;
  bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace holdfast::tools
