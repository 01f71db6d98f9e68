// SPDX-License-Identifier: Apache-2.0
#include "fuzz/libfuzzer_search.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "fuzz/campaign/libfuzzer.hpp"
#include "fuzz/campaign/workers.hpp"
#include "fuzz/child.hpp"
#include "fuzz/files.hpp"
#include "models/source.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(MutantInfo const& info,
                                  MutantPlan const& plan,
                                  std::string const& target,
                                  fs::path const& work) {
  std::vector<std::string> words = target_words(target);
  words.push_back(fmt::format("-timeout={}", kHangSeconds));
  words.push_back(fmt::format("-seed={}", libfuzzer_seed(plan.seed, 0)));
  words.push_back("-artifact_prefix=" + work.string() + "/");
  words.push_back("--findings=" + work.string());
  words.push_back(fmt::format("--mutant={}", info.name));
  words.push_back(fmt::format("--budget={}", plan.budget));
  words.push_back("--tally=" + (work / "tally").string());
  if (plan.simulated || info.needs_streams) {
    words.emplace_back("--device=sim");
  }
  return words;
}

/// What the target wrote of itself (fuzz/targets/target.hpp).
void read_tally(fs::path const& path, MutantOutcome& outcome) {
  std::ifstream file{path, std::ios::binary};
  std::uint64_t numbers[2] = {0, 0};
  if (file.read(reinterpret_cast<char*>(numbers), sizeof numbers)) {
    outcome.operations = numbers[0];
    outcome.reached = numbers[1];
  }
}

/// The ids in the name of a finding, "IMMUT+OWNER-0123456789abcdef.trace"; of another input, how it
/// ended the process.
std::vector<std::string> killers_of(FuzzEnd const& end) {
  fs::path const input = end.input;
  if (input.extension() != ".trace") {
    return {end.death == "HANG" ? kHang : kCrash};
  }
  std::string const name = input.stem().string();
  std::istringstream words{name.substr(0, name.rfind('-'))};
  std::vector<std::string> ids;
  for (std::string id; std::getline(words, id, '+');) {
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

MutantSearch libfuzzer_search(MutantPlan const& plan,
                              std::string const& target,
                              fs::path const& work) {
  return [&plan, target, work](MutantInfo const& info, OperationCount& counted) {
    fs::path const own = work / info.name;
    make_folder(own);
    int const status = wait_for_child(start_worker(words_of(info, plan, target, own), own));
    Job const job{.target = "fuzz_interleave", .work = own.string()};
    FuzzEnd const end = read_end(job, status, end_of_log(own));
    MutantOutcome outcome{.info = info};
    read_tally(own / "tally", outcome);
    counted = outcome.operations;
    if (!end.refusal.empty()) {
      throw std::runtime_error{target + ": " + end.refusal};
    }
    if (!end.input.empty()) {
      outcome.killed = true;
      outcome.invariants = killers_of(end);
    }
    remove_whole(own);
    return outcome;
  };
}

}  // namespace holdfast::fuzz
