// SPDX-License-Identifier: Apache-2.0
// What each command was asked to do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::tools {

inline constexpr std::uint64_t kDefaultSeed = 1;
inline constexpr double kDefaultSeconds = 10;
inline constexpr double kDefaultFuzzSeconds = 60;
inline constexpr double kDefaultTimeOut = 25;
inline constexpr double kDefaultMergeEvery = 24.0 * 3600;
inline constexpr double kDefaultGateBudget = 300;
inline constexpr char const* kDefaultCorpus = "corpus";
inline constexpr std::uint64_t kDefaultBudget = 2'000'000;

/// The text that --help or --version asks for.
struct HelpOptions {
  std::string text;
};

struct RunOptions {
  std::vector<std::string> geometries;  ///< empty: the default ones
  std::uint64_t seed = kDefaultSeed;
  std::uint64_t operations = 0;  ///< 0: by time
  double seconds = kDefaultSeconds;
  std::uint32_t threads = 1;
  std::optional<std::string> system;  ///< none: the library
  std::string device = "host";
  bool check_order = true;  ///< on simulated devices
  bool faults = false;      ///< device calls fail
  std::optional<std::string> mutant;
  std::optional<std::string> save;
  std::optional<std::string> coverage;  ///< file that what was seen is added to
  std::optional<std::string> flavor;    ///< none: all take turns
  bool sometimes = false;               ///< say which points were never met
  bool compare = true;
  bool json = false;
};

struct ReplayOptions {
  std::vector<std::string> paths;     ///< files and folders
  std::optional<std::string> device;  ///< or a system; none: what each trace names
  std::optional<std::string> mutant;
  std::optional<std::string> promote;  ///< name of the regression trace to make
  std::optional<std::string> row;      ///< what it shows; none: it is of our own
  std::optional<std::string> corpus;   ///< where to; none: ./corpus
  bool why = false;                    ///< say which order is missing between accesses
  bool compare = true;
  bool json = false;
};

struct MinimizeOptions {
  std::string path;
  std::optional<std::string> device;  ///< or a system; none: what the trace names
  std::optional<std::string> output;  ///< none: standard output
  std::optional<std::string> mutant;
  bool compare = true;
  bool json = false;
};

struct ExplainOptions {
  std::string path;
  std::optional<std::string> system;  ///< none: what the trace names
  std::optional<std::string> output;  ///< none: the name of the file, with .html, right here
  std::optional<std::string> mutant;
  bool text = false;  ///< for a terminal, instead of a page
  bool compare = true;
  bool json = false;
};

/// What a campaign can fuzz with, in order.
inline constexpr std::array<char const*, 5> kFuzzTargets = {
    "swarm", "fuzz_interleave", "fuzz_async", "fuzz_trace_text", "fuzz_entry_bytes"};

struct FuzzOptions {
  std::string folder = "campaign";
  double seconds = kDefaultFuzzSeconds;
  std::uint32_t workers = 1;
  std::vector<std::string> targets;  ///< empty: those that are built
  std::vector<std::string> collect;  ///< finished campaigns to merge; empty: run one
  std::optional<std::uint64_t> seed;
  std::optional<std::string> mutant;
  std::optional<std::string> sanitized;
  std::optional<std::string> seeds;
  std::optional<std::string> exchange;
  double time_out = kDefaultTimeOut;
  double merge_every = kDefaultMergeEvery;
  bool resume = false;
  bool mute_canary = false;
  bool json = false;
};

struct FuzzWorkerOptions {
  std::string path;  ///< of the job
};

inline constexpr std::array<char const*, 9> kGateParts = {"canary",
                                                          "corpus",
                                                          "geometries",
                                                          "forms",
                                                          "mutants",
                                                          "sometimes",
                                                          "determinism",
                                                          "exhaustive",
                                                          "random"};

struct GateOptions {
  double budget = kDefaultGateBudget;
  std::optional<std::uint64_t> seed;  ///< none: the commit that is checked out
  std::string corpus = kDefaultCorpus;
  std::vector<std::string> only;  ///< parts; empty: all
  std::optional<std::string> junit;
  std::optional<std::string> mutant;
  bool mute_canary = false;
  bool json = false;
};

struct CoverageOptions {
  std::vector<std::string> files;      ///< that are added up
  std::vector<std::string> replay;     ///< traces and folders that are run
  std::uint32_t exhaustive = 0;        ///< operations of the programs that are all run; 0: none
  std::optional<std::string> against;  ///< what might have been reached
  std::optional<std::string> output;
  std::optional<std::string> seeds;  ///< where programs that go on go
  std::uint64_t seed = kDefaultSeed;
  bool json = false;
};

struct DoctorOptions {
  bool json = false;
};

inline constexpr std::array<char const*, 8> kListTopics = {"geometries",
                                                           "operations",
                                                           "flavors",
                                                           "invariants",
                                                           "mutants",
                                                           "order",
                                                           "sometimes",
                                                           "systems"};

struct ListOptions {
  std::string topic;  ///< empty: all
  bool json = false;
  bool markdown = false;  ///< the page of docs/ on the topic
};

/// The page of man(1), and what completes command lines in bash.
inline constexpr std::array<char const*, 2> kManualTopics = {"page", "completion"};

struct ManualOptions {
  std::string topic;  ///< empty: the page
  bool json = false;
};

inline constexpr char const* kSearchLibfuzzer = "libfuzzer";
inline constexpr char const* kSearchRapidcheck = "rapidcheck";
/// Of a mutant, for searches that are not ours.
inline constexpr std::uint64_t kDefaultOtherBudget = 500'000;

struct MutantsOptions {
  std::optional<std::string> system;    ///< none: the library
  std::string device = "host";          ///< sim: all mutants there
  std::vector<std::string> geometries;  ///< empty: the default ones
  std::vector<std::string> only;        ///< empty: all mutants
  std::uint64_t seed = kDefaultSeed;
  std::uint64_t budget = kDefaultBudget;
  std::string search = "swarm";  ///< that, a flavor, kSearchLibfuzzer or kSearchRapidcheck
  std::uint32_t repeat = 1;      ///< searches of each, with a seed of their own
  bool markdown = false;         ///< docs/MUTANTS.md
  bool compare = true;
  bool json = false;
};

/// A command on an engine other than ours.
struct TargetOptions {
  std::string command;              ///< run, replay, minimize, explain, fuzz, gate, list or check
  std::optional<std::string> file;  ///< target file; none: a command line
  std::vector<std::string> engine;  ///< that command line
  std::vector<std::string> paths;   ///< traces and folders of them; of check: the target file
  std::uint64_t seed = kDefaultSeed;
  std::uint64_t programs = 0;  ///< 0: by time
  std::string knobs;           ///< values to draw from: "architecture=llama,lfm2 unified=0"
  double seconds = kDefaultSeconds;
  std::uint32_t workers = 1;
  std::optional<std::string> save;
  std::optional<std::string> output;
  std::optional<std::string> folder;
  std::optional<std::string> corpus;
  std::optional<std::string> junit;
  bool text = false;
  bool json = false;
};

using Options = std::variant<HelpOptions,
                             RunOptions,
                             ReplayOptions,
                             MinimizeOptions,
                             ExplainOptions,
                             FuzzOptions,
                             FuzzWorkerOptions,
                             GateOptions,
                             CoverageOptions,
                             DoctorOptions,
                             ListOptions,
                             ManualOptions,
                             MutantsOptions,
                             TargetOptions>;

}  // namespace holdfast::tools
