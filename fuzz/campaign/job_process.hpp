// SPDX-License-Identifier: Apache-2.0
// From a job to the words of its process, and from what the process said to what it means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/campaign/supervisor.hpp"

namespace holdfast::fuzz {

/// The words that start a job. Says whether it is a program of others, which does not beat.
[[nodiscard]] std::vector<std::string> job_words(CampaignPlan const& plan,
                                                 Job const& job,
                                                 bool& is_of_others);

/// Where an input that killed a target is kept; and the target of such a file.
[[nodiscard]] std::filesystem::path artifact_path(Job const& job,
                                                  std::filesystem::path const& input,
                                                  std::string const& bytes);
[[nodiscard]] std::string target_of_artifact(std::filesystem::path const& path);

/// Paths of the units of a kCheck job.
[[nodiscard]] std::vector<std::string> units_of(Job const& job);

/// The job, for these units.
[[nodiscard]] Job with_units(Job job, std::vector<std::string> const& units);

/// A unit that holds here and failed in the build with sanitizers.
[[nodiscard]] Finding unit_finding(Job const& job,
                                   std::string const& unit,
                                   int status,
                                   std::string const& log);

/// The last line of a log, without the program's own name.
[[nodiscard]] std::string last_line_of(std::string const& log);

/// Seconds since some moment.
[[nodiscard]] double seconds_now();

/// Seconds since 1970.
[[nodiscard]] std::int64_t unix_seconds();

}  // namespace holdfast::fuzz
