// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/opening.hpp"

#include <system_error>
#include <vector>

#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "fuzz/verdict.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

/// Whether the bytes of a file are a unit of the target: of our own, only those that it wrote itself.
bool is_unit(fs::path const& path, std::string const& bytes, std::string const& target) {
  return target != kSwarmTarget || (is_program(bytes) && path.filename() == name_of_bytes(bytes));
}

std::string damaged(fs::path const& unit, std::string const& target) {
  return unit.string() + ": is a damaged unit of " + target;
}

}  // namespace

Findings open_findings(fs::path const& path) {
  remove_unfinished(path);
  return Findings{path};
}

void open_corpus(CampaignFolder const& folder,
                 std::string const& target,
                 std::string const& seeds) {
  fs::path const corpus = folder.corpus(target);
  std::error_code error;
  if (!fs::exists(corpus, error) && fs::exists(folder.before_merge(target), error)) {
    move_whole(folder.before_merge(target), corpus);
  }
  remove_whole(folder.before_merge(target));
  if (!fs::exists(corpus, error)) {
    make_folder(corpus);
  }
  remove_unfinished(corpus);
  if (!seeds.empty() && fs::exists(fs::path{seeds} / target, error)) {
    copy_units(fs::path{seeds} / target, corpus, target, [](std::string const& line) {
      throw model::InputError{line};
    });
  }
  for (fs::path const& unit : entries_of(corpus)) {
    if (!is_unit(unit, model::read_file(unit), target)) {
      throw model::InputError{damaged(unit, target)};
    }
  }
}

void replay_known(Findings& findings) {
  constexpr unsigned kSeconds = 10;
  std::vector<std::string> names;
  for (auto const& [name, bucket] : findings.buckets()) {
    Signature const& signature = bucket.first.signature;
    if (bucket.shortest.is_trace && signature.id != "HANG" && !signature.operation.empty()) {
      names.push_back(name);
    }
  }
  for (std::string const& name : names) {
    std::string const& text = findings.buckets().at(name).shortest.bytes;
    model::Trace const trace = model::parse_trace(text, name);
    Verdict const verdict = judge_in_child(model::geometry_from_reference(trace.geometry),
                                           {.device = model::device_from(trace.device)},
                                           trace.ops,
                                           kSeconds);
    findings.note_replay(name, verdict.failed);
  }
}

void take_merged(CampaignFolder const& folder, Job const& job) {
  fs::path const corpus = folder.corpus(job.target);
  move_whole(corpus, folder.before_merge(job.target));
  move_whole(fs::path{job.work} / "merged", corpus);
  remove_whole(folder.before_merge(job.target));
}

void exchange_units(CampaignFolder const& folder,
                    CampaignPlan const& plan,
                    OnBadUnit const& on_bad) {
  if (plan.exchange.empty()) {
    return;
  }
  for (CampaignTarget const& target : plan.targets) {
    fs::path const shared = fs::path{plan.exchange} / target.name;
    make_folder(shared);
    copy_units(folder.corpus(target.name), shared, target.name, on_bad);
    copy_units(shared, folder.corpus(target.name), target.name, on_bad);
  }
}

void copy_units(fs::path const& from,
                fs::path const& to,
                std::string const& target,
                OnBadUnit const& on_bad) {
  std::error_code error;
  for (fs::path const& unit : entries_of(from)) {
    if (fs::exists(to / unit.filename(), error) || !fs::is_regular_file(unit, error)) {
      continue;
    }
    std::string const bytes = model::read_file(unit);
    if (is_unit(unit, bytes, target)) {
      write_whole(to / unit.filename(), bytes, Outlives::kProcess);
    } else {
      on_bad(damaged(unit, target));
    }
  }
}

std::uint64_t count_units(CampaignFolder const& folder) {
  std::uint64_t count = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry{folder.root / "corpus", error}, end;
       !error && entry != end;
       entry.increment(error)) {
    count += entry->is_regular_file(error) ? 1U : 0U;
  }
  return count;
}

}  // namespace holdfast::fuzz
