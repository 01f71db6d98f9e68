// SPDX-License-Identifier: Apache-2.0
// A campaign: workers over fuzz targets, for hours, that survives being killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/campaign/state.hpp"
#include "fuzz/findings.hpp"

namespace holdfast::fuzz {

/// One thing to fuzz with.
struct CampaignTarget {
  std::string name;
  std::string program;  ///< of libFuzzer; "" for our own programs
};

struct CampaignPlan {
  std::filesystem::path folder;
  double seconds = 0;  ///< of the whole campaign, all supervisors together
  std::uint32_t workers = 1;
  std::vector<CampaignTarget> targets;
  std::uint64_t seed = 0;
  bool is_seed_given = false;  ///< else a campaign that is resumed keeps its own
  std::string commit;
  std::string mutant;
  bool resume = false;
  double time_out = 25;   ///< seconds without a program that ends
  std::string worker;     ///< program of a worker; its words are: fuzz-worker JOB
  std::string sanitized;  ///< program that replays new units with sanitizers; "" for none
  std::string seeds;      ///< folder of inputs to begin with, by target; "" for none
  std::string exchange;   ///< folder of units that campaigns share; "" for none
  double merge_every = 24.0 * 3600;  ///< seconds between merges of corpora
  bool mute_canary = false;          ///< for the test of the canary
  std::function<bool()> should_stop;
  /// What went wrong beside the work, in one line: once each.
  std::function<void(std::string const& line)> on_word;
  /// Called about twice a second.
  std::function<void(CampaignState const& state, Findings const& findings)> on_view;
};

/// A campaign that ended.
struct CampaignResult {
  CampaignState state;
  std::vector<std::uint64_t> transitions;
  bool canary_reported = false;
  bool canary_is_silent = false;  ///< it ran to its end, and nothing was reported
};

/// A worker cannot work; `what()` is its own line.
class CampaignError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs until the time is over. Findings lie in the folder. Throws model::InputError for a folder
/// that is not what it should be, FileError when nothing can be written, CampaignError. The calling
/// process must have one thread and be the only supervisor of the folder.
[[nodiscard]] CampaignResult run_campaign(CampaignPlan const& plan);

/// Merges finished campaigns into a fresh folder: each finding once, each unit once. All are read before
/// anything is written. Throws model::InputError and FileError.
[[nodiscard]] CampaignResult collect_campaigns(std::vector<std::filesystem::path> const& folders,
                                               std::filesystem::path const& into);

/// Files in the corpora of a campaign.
[[nodiscard]] std::uint64_t count_units(CampaignFolder const& folder);

}  // namespace holdfast::fuzz
