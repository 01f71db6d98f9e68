// SPDX-License-Identifier: Apache-2.0
// What a supervisor asks of a worker, and what it gets back. Both are files, so that a worker is a
// process that anybody can start again.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

/// Folders and files of a campaign.
struct CampaignFolder {
  std::filesystem::path root;

  [[nodiscard]] std::filesystem::path corpus(std::string const& target) const {
    return root / "corpus" / target;
  }
  /// Of a corpus that is being merged: what it was.
  [[nodiscard]] std::filesystem::path before_merge(std::string const& target) const {
    return root / "corpus" / ("before-merge-" + target);
  }
  [[nodiscard]] std::filesystem::path findings() const { return root / "findings"; }
  [[nodiscard]] std::filesystem::path canary() const { return root / "canary"; }
  /// What workers hand over.
  [[nodiscard]] std::filesystem::path spool() const { return root / "spool"; }
  /// Inputs that killed a fuzz target, until they are looked at.
  [[nodiscard]] std::filesystem::path artifacts() const { return root / "artifacts"; }
  /// Of one worker.
  [[nodiscard]] std::filesystem::path work(std::uint32_t worker) const {
    return root / "work" / std::to_string(worker);
  }
  [[nodiscard]] std::filesystem::path state() const { return root / "state.json"; }
  [[nodiscard]] std::filesystem::path coverage() const { return root / "coverage.txt"; }
  /// Which failures, as they were drawn, came to which bucket.
  [[nodiscard]] std::filesystem::path aliases() const { return root / "aliases.json"; }
};

inline constexpr char const* kSwarmTarget = "swarm";
inline constexpr char const* kCanaryTarget = "canary";

/// Whether it can be the name of a target, and so of its folder.
[[nodiscard]] bool is_target_name(std::string_view name) noexcept;

enum class JobKind : std::uint8_t {
  kRun,       ///< random programs for some seconds
  kCanary,    ///< programs that fail on schedule
  kRecover,   ///< what killed a worker: is it a failure, and how small does it get
  kCheck,     ///< new units, run again by a program with sanitizers
  kFrontier,  ///< programs that take an operation where it was never taken
  kMerge,     ///< of the corpus of a fuzz target, to as few units as cover the same
};

struct Job {
  JobKind kind = JobKind::kRun;
  std::string target;
  std::uint64_t seed = 0;   ///< of the campaign
  std::uint64_t lease = 0;  ///< which programs; no two jobs of a target have the same
  double seconds = 0;
  std::string root;  ///< of the campaign
  std::string work;  ///< folder of this job alone
  std::string commit;
  std::string mutant;        ///< "" for none
  bool mute_canary = false;  ///< for the test of the canary
  // Of kRecover: a program of the swarm or an input of a fuzz target, and how its process ended.
  std::optional<std::uint64_t> program;
  std::string input;  ///< of kCheck: paths, one a line
  std::string death;
  std::string log;  ///< the end of what the process said
};

struct JobResult {
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::map<std::string, std::uint64_t> met;  ///< buckets, and how often beyond what was handed over
  std::map<std::string, std::string> aliases;  ///< new ones: buckets by that of a program as drawn
  std::vector<std::uint64_t> transitions;      ///< that no job before had taken
  std::vector<std::string> units;              ///< new ones of the corpus
};

/// What a worker is at, in memory that its supervisor sees.
struct Beat {
  std::atomic<std::uint64_t> program{0};
  std::atomic<std::uint64_t> programs{0};  ///< that ended
};

[[nodiscard]] std::string print_job(Job const& job);
/// Throws model::InputError that begins with `origin`.
[[nodiscard]] Job parse_job(std::string_view text, std::string const& origin);
[[nodiscard]] std::string print_result(JobResult const& result);
[[nodiscard]] JobResult parse_result(std::string_view text, std::string const& origin);

using Aliases = std::map<std::string, std::string>;
[[nodiscard]] std::string print_aliases(Aliases const& aliases);
/// None when there is no such file. Throws model::InputError.
[[nodiscard]] Aliases read_aliases(std::filesystem::path const& path);

/// Programs that one lease can have.
inline constexpr std::uint64_t kLeasePrograms = std::uint64_t{1} << 32U;

}  // namespace holdfast::fuzz
