// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/libfuzzer.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "fuzz/campaign/workers.hpp"
#include "fuzz/files.hpp"
#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

/// Words that libFuzzer has in it. In two parts, since this file may be part of a target that it does
/// not drive.
std::string engine_words() {
  std::string words{"stat::number"};
  words += "_of_executed_units";
  return words;
}

// libFuzzer's exit codes.
constexpr int kTimedOut = 70;
constexpr int kOutOfMemory = 71;
constexpr int kInterrupted = 72;

/// "key = value" lines as "-key=value".
void append_options(fs::path const& path, std::vector<std::string>& words) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    if (line.find('=') != std::string::npos &&
        std::islower(static_cast<unsigned char>(line[0])) != 0) {
      words.push_back("-" + line);
    }
  }
}

/// The number behind the last `mark` of a log.
std::uint64_t number_after(std::string_view log, std::string_view mark) {
  std::size_t const at = log.rfind(mark);
  if (at == std::string_view::npos) {
    return 0;
  }
  std::string_view rest = log.substr(at + mark.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::uint64_t number = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

/// The input that killed it: the program that it wrote itself, or what libFuzzer kept.
std::string input_in(fs::path const& work) {
  std::string kept;
  for (fs::path const& path : entries_of(work)) {
    std::string const name = path.filename().string();
    if (path.extension() == ".trace") {
      return path.string();
    }
    for (char const* begin : {"crash-", "timeout-", "leak-"}) {
      kept = name.rfind(begin, 0) == 0 ? path.string() : kept;
    }
  }
  return kept;
}

}  // namespace

std::vector<std::string> target_words(std::string const& program) {
  std::vector<std::string> words = {program};
  append_options(program + ".options", words);
  return words;
}

std::uint64_t libfuzzer_seed(std::uint64_t seed, std::uint64_t number) noexcept {
  constexpr std::uint64_t kSeedMask = 0x7FFFFFFF;
  return std::max(model::mix(seed, number) & kSeedMask, std::uint64_t{1});
}

std::vector<std::string> fuzz_words(std::string const& program, Job const& job, double time_out) {
  CampaignFolder const folder{job.root};
  std::vector<std::string> words = target_words(program);
  std::error_code error;
  if (fs::exists(program + ".dict", error)) {
    words.push_back("-dict=" + program + ".dict");
  }
  words.push_back(fmt::format("-max_total_time={:.0f}", std::max(1.0, std::floor(job.seconds))));
  words.push_back(fmt::format("-timeout={:.0f}", time_out));
  words.push_back(fmt::format("-seed={}", libfuzzer_seed(job.seed, job.lease)));
  words.push_back("-artifact_prefix=" + job.work + "/");
  words.emplace_back("-print_final_stats=1");
  words.push_back("--findings=" + job.work);
  if (!job.mutant.empty()) {
    words.push_back("--mutant=" + job.mutant);
  }
  words.push_back(folder.corpus(job.target).string());
  // Programs of our own search are inputs of the target that takes programs.
  if (job.target == "fuzz_interleave" && fs::is_directory(folder.corpus(kSwarmTarget), error)) {
    words.push_back(folder.corpus(kSwarmTarget).string());
  }
  return words;
}

std::vector<std::string> merge_words(std::string const& program,
                                     fs::path const& merged,
                                     fs::path const& corpus) {
  return {program, "-set_cover_merge=1", merged.string(), corpus.string()};
}

FuzzEnd read_end(Job const& job, int status, std::string const& log) {
  FuzzEnd end{.executed = number_after(log, engine_words() + ":"),
              .features = number_after(log, " ft: ")};
  int const code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 0 || code == kInterrupted) {
    return end;
  }
  if (code == kOutOfMemory) {
    end.memory = true;
    return end;
  }
  end.input = input_in(job.work);
  end.death = code == kTimedOut ? "HANG" : death_of(status);
  if (end.input.empty()) {
    std::size_t const last = log.find_last_not_of('\n');
    std::size_t const begin = last == std::string::npos ? 0 : log.rfind('\n', last) + 1;
    end.refusal = "ended with " + end.death + " and left no input: " +
                  (last == std::string::npos ? "" : log.substr(begin, last + 1 - begin));
  }
  return end;
}

bool is_driven(fs::path const& program) {
  // The engine's own words are in the file, which is large where sanitizers are.
  std::string const words = engine_words();
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  std::ifstream file{program, std::ios::binary};
  std::string block(kBlock, '\0');
  std::string window;
  while (file.read(block.data(), kBlock) || file.gcount() != 0) {
    window.append(block, 0, static_cast<std::size_t>(file.gcount()));
    if (window.find(words) != std::string::npos) {
      return true;
    }
    window.erase(0, window.size() - std::min(window.size(), words.size()));
  }
  return false;
}

}  // namespace holdfast::fuzz
