// SPDX-License-Identifier: Apache-2.0
// What a supervisor remembers, so that another can go on where it was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fuzz/campaign/job.hpp"

namespace holdfast::fuzz {

/// What one target did so far.
struct TargetState {
  std::uint64_t next_lease = 0;
  std::uint64_t jobs = 0;  ///< that ended
  double seconds = 0;      ///< of workers
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::uint64_t coverage = 0;  ///< features, of a fuzz target
  std::uint64_t crashes = 0;
  std::uint64_t time_outs = 0;
  std::uint64_t memory_kills = 0;
};

/// One moment of a campaign.
struct HistoryPoint {
  double seconds = 0;
  std::uint64_t programs = 0;
  std::uint64_t transitions = 0;
  std::uint64_t units = 0;
  std::uint64_t findings = 0;
};

struct CampaignState {
  std::uint64_t seed = 0;
  std::string commit;
  std::string mutant;
  double elapsed = 0;        ///< seconds that supervisors ran
  double merged = 0;         ///< at which corpora were merged last
  std::uint64_t starts = 0;  ///< of supervisors
  std::uint64_t canaries = 0;
  std::map<std::string, TargetState> targets;
  std::vector<Job> jobs;  ///< that were begun or wait, and have not ended
  std::vector<HistoryPoint> history;
};

[[nodiscard]] std::string print_state(CampaignState const& state);
/// Throws model::InputError that names the file.
[[nodiscard]] CampaignState read_state(std::filesystem::path const& path);

}  // namespace holdfast::fuzz
