// SPDX-License-Identifier: Apache-2.0
// The one exception of the harness that is about its user rather than about itself.
#pragma once

#include <stdexcept>
#include <string>
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

}  // namespace holdfast::model
