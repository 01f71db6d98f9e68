// SPDX-License-Identifier: Apache-2.0
// What is for eyes alone: colour, and progress on standard error. Neither is ever in a file or a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::tools {

/// Whether a stream is a terminal that understands more than lines: TERM is set, and not "dumb".
[[nodiscard]] bool is_terminal(int stream);

enum class Colour {
  kGood,    ///< held
  kBad,     ///< was violated
  kNotice,  ///< what to do next
};

/// The text in a colour, on a terminal where NO_COLOR is not set; elsewhere the text.
[[nodiscard]] std::string in_colour(int stream, Colour colour, std::string_view text);
/// The same for standard output.
[[nodiscard]] std::string in_colour(Colour colour, std::string_view text);

/// "1 h 5 min", "12 min", "40 s".
[[nodiscard]] std::string duration_text(double seconds);

/// One line that is rewritten; without a terminal, a line a minute, so that a log shows that work goes on.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// Whether a line would be shown now; to be asked where making one costs something.
  [[nodiscard]] bool is_due() const;
  void show(std::string const& line);
  /// Takes the line off a terminal.
  void clear();
  [[nodiscard]] double seconds() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool is_terminal_;
  double every_;  // seconds
  double next_;
  bool is_shown_ = false;
};

/// "; about 40 s left" when `done` of `total` took so long; "" while nobody can know.
[[nodiscard]] std::string time_left(double seconds, std::uint64_t done, std::uint64_t total);

}  // namespace holdfast::tools
