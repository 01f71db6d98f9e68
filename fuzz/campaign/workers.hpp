// SPDX-License-Identifier: Apache-2.0
// The processes of a campaign.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/campaign/job.hpp"

namespace holdfast::fuzz {

/// A process that works on a job.
struct WorkerProcess {
  Job job;
  std::uint32_t place = 0;  ///< number of its work folder
  pid_t process = -1;
  double started = 0;
  double last_beat = 0;         ///< when a program ended last
  std::uint64_t programs = 0;   ///< that had ended then
  bool timed_out = false;       ///< and was killed for it
  bool is_fuzz_target = false;  ///< libFuzzer looks after its own time
};

/// Starts a program with its output in work/log, in a process group of its own that dies with this
/// process. Throws std::system_error.
[[nodiscard]] pid_t start_worker(std::vector<std::string> const& words,
                                 std::filesystem::path const& work);

/// The beat of a work folder: the program that it is at, and how many ended. False when there is
/// none yet.
bool read_beat(std::filesystem::path const& work, std::uint64_t& program, std::uint64_t& programs);

/// The end of a work folder's log.
[[nodiscard]] std::string end_of_log(std::filesystem::path const& work);

/// "SIGNAL 11", "EXIT 77".
[[nodiscard]] std::string death_of(int status);

}  // namespace holdfast::fuzz
