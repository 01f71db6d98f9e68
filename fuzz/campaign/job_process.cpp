// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/job_process.hpp"

#include <chrono>
#include <sstream>
#include <string_view>

#include "fuzz/campaign/libfuzzer.hpp"
#include "fuzz/campaign/recover.hpp"
#include "fuzz/campaign/workers.hpp"
#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<std::string> job_words(CampaignPlan const& plan, Job const& job, bool& is_of_others) {
  CampaignFolder const folder{job.root};
  CampaignTarget const* target = nullptr;
  for (CampaignTarget const& known : plan.targets) {
    target = known.name == job.target ? &known : target;
  }
  bool const is_of_libfuzzer = target != nullptr && !target->program.empty();
  if (job.kind == JobKind::kMerge) {
    is_of_others = true;
    fs::path const merged = fs::path{job.work} / "merged";
    make_folder(merged);
    return merge_words(target->program, merged, folder.corpus(job.target));
  }
  if (job.kind == JobKind::kCheck) {
    is_of_others = true;
    std::vector<std::string> words = {plan.sanitized, "replay"};
    std::vector<std::string> const units = units_of(job);
    words.insert(words.end(), units.begin(), units.end());
    return words;
  }
  if (job.kind == JobKind::kRun && is_of_libfuzzer) {
    is_of_others = true;
    return fuzz_words(target->program, job, plan.time_out);
  }
  return {plan.worker, "fuzz-worker", (fs::path{job.work} / "job.json").string()};
}

fs::path artifact_path(Job const& job, fs::path const& input, std::string const& bytes) {
  return CampaignFolder{job.root}.artifacts() /
         (job.target + "-" + name_of_bytes(bytes) + input.extension().string());
}

std::string target_of_artifact(fs::path const& path) {
  std::string const name = path.filename().string();
  std::string const target = name.substr(0, name.rfind('-'));
  return is_target_name(target) ? target : kSwarmTarget;
}

std::vector<std::string> units_of(Job const& job) {
  std::istringstream lines{job.input};
  std::vector<std::string> units;
  for (std::string unit; std::getline(lines, unit);) {
    units.push_back(unit);
  }
  return units;
}

Job with_units(Job job, std::vector<std::string> const& units) {
  job.input.clear();
  for (std::string const& unit : units) {
    job.input += unit + "\n";
  }
  return job;
}

Finding unit_finding(Job const& job, std::string const& unit, int status, std::string const& log) {
  model::Trace const trace = load_program(unit);
  std::string const said = sanitizer_id(log);
  return {.signature = {.id = said.empty() ? death_of(status) : said,
                        .operation = "",
                        .frames = frames_of(log)},
          .causes = {},
          .text = "fails in the build with sanitizers: " + last_line_of(log),
          .target = job.target,
          .seed = job.seed,
          .commit = job.commit,
          .mutant = job.mutant,
          .seen = unix_seconds(),
          .reproducer = {.bytes = model::print_trace(trace), .operations = trace.ops.size()}};
}

std::string last_line_of(std::string const& log) {
  std::istringstream stream{log};
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    last = line.empty() ? last : line;
  }
  constexpr std::string_view kName = "holdfast: ";
  return last.rfind(kName, 0) == 0 ? last.substr(kName.size()) : last;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace holdfast::fuzz
