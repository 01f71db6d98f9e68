// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace holdfast::tools {
namespace {

constexpr double kPlainLineEvery = 5;  // seconds

void say(std::string const& text) {
  static_cast<void>(std::fputs(text.c_str(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace

Progress::Progress() : next_{kPlainLineEvery}, is_terminal_{isatty(STDERR_FILENO) == 1} {}

void Progress::show(std::string const& line) {
  if (is_terminal_) {
    say("\r" + line + "\x1b[K");
    is_shown_ = true;
  } else if (double const now = seconds(); now >= next_) {
    next_ = now + kPlainLineEvery;
    say(line + "\n");
  }
}

void Progress::clear() {
  if (is_shown_) {
    say("\r\x1b[K");
    is_shown_ = false;
  }
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace holdfast::tools
