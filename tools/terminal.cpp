// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace holdfast::tools {
namespace {

constexpr double kRewriteEvery = 0.1;  // seconds
constexpr double kPlainLineEvery = 60;

void say(std::string const& text) {
  static_cast<void>(std::fputs(text.c_str(), stderr));
  static_cast<void>(std::fflush(stderr));
}

bool is_set(char const* name) {
  char const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return value != nullptr && *value != '\0';
}

}  // namespace

bool is_terminal(int stream) {
  char const* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return is_set("TERM") && std::string_view{kind} != "dumb" && isatty(stream) == 1;
}

std::string in_colour(int stream, Colour colour, std::string_view text) {
  if (!is_terminal(stream) || is_set("NO_COLOR")) {
    return std::string{text};
  }
  char const* const code = colour == Colour::kGood ? "32" : colour == Colour::kBad ? "1;31" : "1";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string in_colour(Colour colour, std::string_view text) {
  return in_colour(STDOUT_FILENO, colour, text);
}

std::string duration_text(double seconds) {
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 3600;
  auto const whole = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole >= kHour) {
    return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
  }
  // Up to two minutes every second counts.
  return whole >= 2 * kMinute ? fmt::format("{} min", whole / kMinute) : fmt::format("{} s", whole);
}

Progress::Progress()
    : is_terminal_{is_terminal(STDERR_FILENO)},
      every_{is_terminal_ ? kRewriteEvery : kPlainLineEvery},
      next_{every_} {}

bool Progress::is_due() const {
  return seconds() >= next_;
}

void Progress::show(std::string const& line) {
  if (!is_due()) {
    return;
  }
  next_ = seconds() + every_;
  if (is_terminal_) {
    say("\r" + line + "\x1b[K");
    is_shown_ = true;
  } else {
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

std::string time_left(double seconds, std::uint64_t done, std::uint64_t total) {
  if (done == 0 || total <= done) {
    return "";
  }
  double const each = seconds / static_cast<double>(done);
  return "; about " + duration_text(each * static_cast<double>(total - done)) + " left";
}

}  // namespace holdfast::tools
