// SPDX-License-Identifier: Apache-2.0
// Campaigns that ran side by side become one.
#include <algorithm>
#include <set>
#include <system_error>

#include "fuzz/campaign/opening.hpp"
#include "fuzz/campaign/programs.hpp"
#include "fuzz/campaign/supervisor.hpp"
#include "fuzz/files.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

void add(TargetState& sum, TargetState const& one) {
  sum.jobs += one.jobs;
  sum.seconds += one.seconds;
  sum.programs += one.programs;
  sum.operations += one.operations;
  sum.coverage = std::max(sum.coverage, one.coverage);
  sum.crashes += one.crashes;
  sum.time_outs += one.time_outs;
  sum.memory_kills += one.memory_kills;
}

/// The history of all, at the times of the longest.
void add_history(std::vector<HistoryPoint>& sum, std::vector<HistoryPoint> const& one) {
  for (HistoryPoint const& point : one) {
    auto const at = std::find_if(sum.begin(), sum.end(), [&](HistoryPoint const& known) {
      return known.seconds >= point.seconds;
    });
    if (at == sum.end()) {
      sum.push_back(point);
      continue;
    }
    at->programs += point.programs;
    at->transitions = std::max(at->transitions, point.transitions);
    at->units = std::max(at->units, point.units);
    at->findings = std::max(at->findings, point.findings);
  }
}

/// One of them, read whole.
struct Campaign {
  CampaignFolder folder;
  CampaignState state;
  std::vector<std::uint64_t> transitions;
  Findings findings;
};

std::vector<Campaign> read_all(std::vector<fs::path> const& folders) {
  std::vector<Campaign> campaigns;
  std::set<fs::path> seen;
  for (fs::path const& path : folders) {
    CampaignFolder const folder{path};
    std::error_code error;
    if (fs::exists(path, error) && !seen.insert(fs::canonical(path, error)).second) {
      throw model::InputError{path.string() + ": is named twice"};
    }
    campaigns.push_back({.folder = folder,
                         .state = read_state(folder.state()),
                         .transitions = read_transitions(folder.coverage()),
                         .findings = Findings{folder.findings()}});
  }
  return campaigns;
}

}  // namespace

CampaignResult collect_campaigns(std::vector<fs::path> const& folders, fs::path const& into) {
  CampaignFolder const target{into};
  std::error_code error;
  for (fs::path const& path : {target.state(), target.findings(), target.root / "corpus"}) {
    if (fs::exists(path, error)) {
      throw model::InputError{into.string() + ": has " +
                              (path == target.state() ? "a campaign" : path.filename().string()) +
                              "; campaigns are merged into a new folder"};
    }
  }
  std::vector<Campaign> const campaigns = read_all(folders);
  make_folder(into);
  CampaignResult sum{.canary_reported = true};
  std::set<std::uint64_t> transitions;
  Findings findings{target.findings()};
  for (auto const& [folder, state, keys, found] : campaigns) {
    sum.state.seed = sum.state.starts == 0 ? state.seed : sum.state.seed;
    sum.state.commit = state.commit;
    sum.state.mutant = sum.state.mutant.empty() ? state.mutant : sum.state.mutant;
    sum.state.elapsed = std::max(sum.state.elapsed, state.elapsed);
    sum.state.starts += state.starts;
    sum.state.canaries += state.canaries;
    sum.canary_reported = sum.canary_reported && state.canaries != 0;
    add_history(sum.state.history, state.history);
    for (auto const& [name, one] : state.targets) {
      add(sum.state.targets[name], one);
      if (fs::exists(folder.corpus(name), error)) {
        make_folder(target.corpus(name));
        copy_units(folder.corpus(name), target.corpus(name), name, [](std::string const&) {});
      }
    }
    transitions.insert(keys.begin(), keys.end());
    findings.merge(found);
  }
  sum.canary_is_silent = !sum.canary_reported;
  sum.transitions = {transitions.begin(), transitions.end()};
  write_whole(target.coverage(), print_transitions(sum.transitions));
  write_whole(target.state(), print_state(sum.state));  // last: now it is a campaign
  return sum;
}

}  // namespace holdfast::fuzz
