// SPDX-License-Identifier: Apache-2.0
// The command lines of fuzz and gate.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/options.hpp"

namespace holdfast::tools {

/// Their words as they stand on the command line.
struct CampaignWords {
  std::vector<std::string> collect;
  std::vector<std::string> only;
  std::string budget;
  std::string corpus;
  std::string exchange;
  std::string folder;
  std::string junit;
  std::string merge_every;
  std::string mutant;
  std::string sanitized;
  std::string seed;
  std::string seeds;
  std::string targets;
  std::string time_out;
  std::string workers;
  bool mute_canary = false;
  bool resume = false;
};

void define_fuzz(CLI::App& command, CampaignWords& words);
void define_gate(CLI::App& command, CampaignWords& words);

/// Both throw InputError.
FuzzOptions read_fuzz(CLI::App const& command, CampaignWords const& words, bool json);
GateOptions read_gate(CLI::App const& command, CampaignWords const& words, bool json);

}  // namespace holdfast::tools
