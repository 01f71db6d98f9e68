// SPDX-License-Identifier: Apache-2.0
// What a sub-command is to the command line: its words, what they mean, and lines to learn it from.
// The parser, --help, the manual page, the completion of shells and the tests read the same list.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/options.hpp"

namespace holdfast::tools {

/// The words of all commands as they stand on the command line.
struct Words {
  std::vector<std::string> collect;
  std::vector<std::string> geometries;
  std::vector<std::string> only;
  std::vector<std::string> paths;
  std::vector<std::string> replay;
  std::string against;
  std::string budget;
  std::string corpus;
  std::string coverage;
  std::string device;
  std::string exchange;
  std::string exhaustive;
  std::string flavor;
  std::string folder;
  std::string junit;
  std::string merge_every;
  std::string mutant;
  std::string operations;
  std::string output;
  std::string programs;
  std::string knobs;
  std::string promote;
  std::string repeat;
  std::string row;
  std::string sanitized;
  std::string save;
  std::string search;
  std::string seconds;
  std::string seed;
  std::string seeds;
  std::string system;
  std::string target;
  std::string targets;
  std::string threads;
  std::string time_out;
  std::string topic;
  std::string workers;
  bool faults = false;
  bool json = false;
  bool markdown = false;
  bool mute_canary = false;
  bool no_compare = false;
  bool no_order_check = false;
  bool resume = false;
  bool sometimes = false;
  bool text = false;
  bool why = false;
};

/// A command line to learn from. It can be run as it stands, after those before it, where corpus/ is.
struct Example {
  char const* line;
  char const* what;
};

struct Command {
  char const* name;
  char const* purpose;            ///< one line
  std::vector<Example> examples;  ///< none: not for people
  /// Adds options and arguments.
  void (*define)(CLI::App& command, Words& words);
  /// Checks all words. Throws InputError with one line that says what is wrong, and EnvironmentError.
  Options (*read)(CLI::App const& command, Words const& words);
};

/// The lists that all_commands() is made of.
[[nodiscard]] std::vector<Command> search_commands();    ///< run, mutants
[[nodiscard]] std::vector<Command> trace_commands();     ///< replay, minimize, explain
[[nodiscard]] std::vector<Command> campaign_commands();  ///< fuzz, gate, and what fuzz starts
[[nodiscard]] std::vector<Command> study_commands();     ///< coverage, list, doctor, manual
[[nodiscard]] std::vector<Command> target_commands();    ///< target

/// Every sub-command, in the order of --help.
[[nodiscard]] std::vector<Command> all_commands();

/// The parser of these commands. The words must outlive it.
void define_commands(CLI::App& app, Words& words, std::vector<Command> const& commands);

}  // namespace holdfast::tools
