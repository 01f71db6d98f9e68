// SPDX-License-Identifier: Apache-2.0
// Lines of a text, and words of a line: complaints say where they stand.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/input_error.hpp"

namespace holdfast::model {

/// One line that is being read; every complaint says where.
class LineReader {
 public:
  LineReader(std::string_view line, std::string const& origin, std::size_t number)
      : line_{line}, origin_{origin}, number_{number} {}

  [[noreturn]] void fail(std::size_t column, std::string const& what) const {
    throw InputError(origin_ + ":" + std::to_string(number_) + ":" + std::to_string(column + 1) +
                     ": " + what);
  }
  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') {
      ++at_;
    }
  }
  std::string_view word() {
    skip_spaces();
    start_ = at_;
    while (at_ < line_.size() && line_[at_] != ' ') {
      ++at_;
    }
    return line_.substr(start_, at_ - start_);
  }
  std::string_view rest() {
    skip_spaces();
    start_ = at_;
    return line_.substr(std::exchange(at_, line_.size()));
  }
  void expect_end() {
    if (std::string_view const extra = word(); !extra.empty()) {
      fail(start_, "unexpected " + quoted(extra) + "");
    }
  }
  [[nodiscard]] std::size_t start() const { return start_; }
  /// Whether the next word starts like this; takes nothing.
  [[nodiscard]] bool next_is(std::string_view start) {
    skip_spaces();
    return line_.substr(at_, start.size()) == start;
  }
  std::uint32_t number(std::string_view text, std::size_t column, char const* field) const {
    std::uint32_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
      fail(column, quoted(text) + " is no number for '" + field + "'");
    }
    return value;
  }

 private:
  std::string_view line_;
  std::string const& origin_;
  std::size_t number_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
};

/// Splits a text into lines and numbers them.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_{text} {}
  bool next(std::string_view& line) {
    if (text_.empty()) {
      return false;
    }
    std::size_t const end = text_.find('\n');
    line = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view{} : text_.substr(end + 1);
    // All of them: what is printed with one of two left reads as something else.
    while (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    ++number_;
    return true;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view text_;
  std::size_t number_ = 0;
};

}  // namespace holdfast::model
