// SPDX-License-Identifier: Apache-2.0
// The one exception of the harness that is about its user rather than about itself.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::model {

/// Input of a user that cannot be used; `what()` is one line that says what and where. Exit code 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string line) : std::runtime_error{on_one_line(std::move(line))} {}

 private:
  // File names and texts of users may hold line ends.
  static std::string on_one_line(std::string line) {
    for (char& c : line) {
      auto const code = static_cast<unsigned char>(c);
      c = code < 0x20 || code == 0x7f ? '?' : c;
    }
    return line;
  }
};

/// Somebody's bytes as a message shows them: what is not printable ASCII as \xNN.
inline std::string escaped(std::string_view input) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (char const byte : input) {
    auto const code = static_cast<unsigned char>(byte);
    if (code >= 0x20 && code < 0x7F) {
      text += byte;
    } else {
      text += "\\x";
      text += kHex[code >> 4U];
      text += kHex[code & 0xFU];
    }
  }
  return text;
}

/// A piece of somebody's input in quotes, cut after 60 bytes, so that a message stays readable.
inline std::string quoted(std::string_view input) {
  constexpr std::size_t kLongest = 60;
  return "'" + escaped(input.substr(0, kLongest)) + (input.size() > kLongest ? "...'" : "'");
}

}  // namespace holdfast::model
