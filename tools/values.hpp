// SPDX-License-Identifier: Apache-2.0
// Values of options from text, and text for a shell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::tools {

/// A whole number in [1, most]. Throws InputError that begins with the option's name.
std::uint64_t read_count(std::string const& option, std::string const& text, std::uint64_t most);

/// Seconds above 0, decimals allowed. Throws InputError that begins with the option's name.
double read_seconds(std::string const& option, std::string const& text);

/// A duration: a number of seconds, or one with the unit s, m or h. Throws InputError that begins
/// with the option's name.
double read_duration(std::string const& option, std::string const& text);

/// Up to 20 decimal digits are that number. Else 7 to 40 hexadecimal digits are a git hash; the
/// seed is the number that its first 16 digits spell. Throws InputError.
std::uint64_t read_seed(std::string const& text);

/// "a,b" as its parts.
[[nodiscard]] std::vector<std::string> split_list(std::string const& text);

/// Words as a command line of a shell, quoted where needed.
std::string command_of(std::vector<std::string> const& words);

}  // namespace holdfast::tools
