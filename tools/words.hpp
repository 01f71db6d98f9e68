// SPDX-License-Identifier: Apache-2.0
// What reading a command line needs, whichever command it is of.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

inline constexpr std::uint64_t kMostThreads = 1024;

[[nodiscard]] bool was_given(CLI::App const& command, std::string const& option);

[[nodiscard]] std::optional<std::string> text_if_given(CLI::App const& command,
                                                       std::string const& option,
                                                       std::string const& text);

/// Throws InputError for a word that is not known.
void check_known(std::string const& option,
                 std::string const& what,
                 std::string const& word,
                 std::vector<std::string> const& known);

/// Throws InputError for a device that is not known, or not to the command, and EnvironmentError for one
/// that is not there.
void check_device(std::string const& device, std::string_view command);

/// Throws InputError for a mutant that does not exist; none at all is fine.
void check_mutant(std::string const& option, std::optional<std::string> const& name);

}  // namespace holdfast::tools
