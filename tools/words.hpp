// SPDX-License-Identifier: Apache-2.0
// What reading a command line needs, whichever command it is of.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command.hpp"

namespace holdfast::tools {

inline constexpr std::uint64_t kMostThreads = 1024;
inline constexpr std::uint64_t kMostOperations = 1'000'000'000'000;

/// Options that several commands have.
void add_geometry(CLI::App& command, Words& words);
void add_seed(CLI::App& command, Words& words, std::string const& otherwise);
void add_no_compare(CLI::App& command, Words& words);
void add_mutant(CLI::App& command, Words& words);
void add_system(CLI::App& command, Words& words);
void add_target(CLI::App& command, Words& words);
void add_programs(CLI::App& command, Words& words);

/// What a command does on an engine other than ours, when --target was given. Throws InputError.
[[nodiscard]] Options read_with_target(CLI::App const& command, Words const& words);

[[nodiscard]] bool was_given(CLI::App const& command, std::string const& option);

[[nodiscard]] std::optional<std::string> text_if_given(CLI::App const& command,
                                                       std::string const& option,
                                                       std::string const& text);

[[nodiscard]] std::uint64_t seed_of(CLI::App const& command, Words const& words);

/// The values that an option or argument ("TOPIC") of a command may have, where there is a list of them;
/// else nothing.
[[nodiscard]] std::vector<std::string> known_values(std::string_view command,
                                                    std::string_view option);

/// Throws InputError for a word that is not known.
void check_known(std::string const& option,
                 std::string const& what,
                 std::string const& word,
                 std::vector<std::string> const& known);

/// Throws InputError for a device that is not known, or not to the command, and EnvironmentError for one
/// that is not there.
void check_device(std::string const& device, std::string_view command);

/// The system that was asked for, checked; none for the library. Throws InputError.
[[nodiscard]] std::optional<std::string> system_of(CLI::App const& command, Words const& words);

/// Throws InputError for a mutant that does not exist, of a system or of any; none at all is fine.
void check_mutant(std::string const& option,
                  std::optional<std::string> const& name,
                  std::optional<std::string> const& system = std::nullopt);

}  // namespace holdfast::tools
