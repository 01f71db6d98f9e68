// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/job_queue.hpp"

#include <algorithm>

#include "fuzz/campaign/job_process.hpp"
#include "fuzz/files.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kCheckUnits = 200;

bool is_running(std::span<WorkerProcess const> running, std::string const& target, JobKind kind) {
  return std::any_of(running.begin(), running.end(), [&](WorkerProcess const& one) {
    return one.job.target == target && one.job.kind == kind;
  });
}

/// Whether what a job is to look at was looked at: it goes when that is known.
bool is_looked_at(Job const& job) {
  std::error_code error;
  return job.kind == JobKind::kRecover && !job.input.empty() &&
         !std::filesystem::exists(job.input, error);
}

}  // namespace

void JobQueue::begin(double elapsed) {
  next_frontier_ = elapsed + plan_.seconds / 10;
  for (Job& job : state_.jobs) {
    if (take_over(job)) {
      waiting_.push_back(std::move(job));
    }
  }
  recover_left_over();
  Job canary = fresh(JobKind::kCanary, kCanaryTarget);
  canary.mute_canary = plan_.mute_canary;
  waiting_.push_front(canary);
}

/// Whether a job of a supervisor that ended is one of this. The folder may lie elsewhere by now, and
/// another choice of targets and programs may hold.
bool JobQueue::take_over(Job& job) {
  namespace fs = std::filesystem;
  CampaignFolder const folder{plan_.folder};
  std::error_code error;
  job.root = plan_.folder.string();
  switch (job.kind) {
    case JobKind::kRun:
      return std::any_of(plan_.targets.begin(), plan_.targets.end(), [&](auto const& target) {
        return target.name == job.target;
      });
    case JobKind::kRecover:
      if (!job.input.empty()) {
        job.input = (folder.artifacts() / fs::path{job.input}.filename()).string();
      }
      return !is_looked_at(job);
    case JobKind::kCheck:
      for (std::string const& unit : units_of(job)) {
        fs::path const path = folder.corpus(job.target) / fs::path{unit}.filename();
        if (fs::exists(path, error)) {
          add_unit(path.string());
        }
      }
      return false;  // a new one is made of them
    case JobKind::kCanary:
    case JobKind::kFrontier:
    case JobKind::kMerge:
      break;
  }
  return false;
}

/// Inputs that killed a target, and that no job is about: the supervisor was killed in between.
void JobQueue::recover_left_over() {
  for (std::filesystem::path const& path : entries_of(CampaignFolder{plan_.folder}.artifacts())) {
    bool const is_known = std::any_of(waiting_.begin(), waiting_.end(), [&](Job const& job) {
      return job.kind == JobKind::kRecover && job.input == path.string();
    });
    if (!is_known) {
      Job job = fresh(JobKind::kRecover, target_of_artifact(path));
      job.input = path.string();
      job.death = "DIED";
      waiting_.push_front(std::move(job));
    }
  }
}

Job JobQueue::fresh(JobKind kind, std::string const& target) const {
  return {.kind = kind,
          .target = target,
          .seed = state_.seed,
          .root = plan_.folder.string(),
          .commit = state_.commit,
          .mutant = state_.mutant};
}

/// Fair shares: whoever had the least time of workers so far. One that merges waits.
CampaignTarget const* JobQueue::neediest(Moment const& now) const {
  CampaignTarget const* chosen = nullptr;
  double least = 0;
  for (CampaignTarget const& target : plan_.targets) {
    if (is_running(now.running, target.name, JobKind::kMerge) || is_merge_due(target, now)) {
      continue;
    }
    double seconds = state_.targets.at(target.name).seconds;
    for (WorkerProcess const& one : now.running) {
      seconds += one.job.target == target.name ? one.job.seconds : 0;
    }
    if (chosen == nullptr || seconds < least) {
      chosen = &target;
      least = seconds;
    }
  }
  return chosen;
}

bool JobQueue::is_merge_due(CampaignTarget const& target, Moment const& now) const {
  return !target.program.empty() && merged_.count(target.name) == 0 &&
         now.elapsed >= state_.merged + plan_.merge_every;
}

/// Two targets may have died of one input.
void JobQueue::drop_looked_at() {
  while (!waiting_.empty() && is_looked_at(waiting_.front())) {
    waiting_.pop_front();
  }
}

bool JobQueue::next(std::span<WorkerProcess const> running, double elapsed, Job& job) {
  drop_looked_at();
  if (!waiting_.empty()) {
    job = waiting_.front();
    waiting_.pop_front();
    return true;
  }
  Moment const now{running, elapsed};
  if (merge_due(now, job) || check_due(job) || frontier_due(now, job)) {
    return true;
  }
  CampaignTarget const* const target = neediest(now);
  if (target == nullptr) {
    return false;
  }
  constexpr double kShare = 0.05;
  constexpr double kMost = 60;
  double const left = std::max(0.1, plan_.seconds - elapsed);
  job = fresh(JobKind::kRun, target->name);
  job.lease = state_.targets.at(target->name).next_lease++;
  job.seconds = std::min(std::clamp(plan_.seconds * kShare, 1.0, kMost), left);
  return true;
}

bool JobQueue::next_recovery(Job& job) {
  drop_looked_at();
  return !waiting_.empty() && waiting_.front().kind == JobKind::kRecover && next({}, 0, job);
}

bool JobQueue::merge_due(Moment const& now, Job& job) {
  bool all_done = true;
  for (CampaignTarget const& target : plan_.targets) {
    if (!is_merge_due(target, now)) {
      continue;
    }
    all_done = false;
    if (!is_running(now.running, target.name, JobKind::kRun)) {
      merged_.insert(target.name);
      job = fresh(JobKind::kMerge, target.name);
      return true;
    }
  }
  if (all_done && now.elapsed >= state_.merged + plan_.merge_every) {
    state_.merged = now.elapsed;
    merged_.clear();
  }
  return false;
}

bool JobQueue::frontier_due(Moment const& now, Job& job) {
  constexpr double kShares = 5;  // of the campaign's time
  constexpr double kLeast = 10;  // seconds; it takes some itself
  bool const has_swarm =
      std::any_of(plan_.targets.begin(), plan_.targets.end(), [](CampaignTarget const& known) {
        return known.name == kSwarmTarget;
      });
  if (!has_swarm || plan_.seconds < kLeast || now.elapsed < next_frontier_) {
    return false;
  }
  next_frontier_ = now.elapsed + plan_.seconds / kShares;
  job = fresh(JobKind::kFrontier, kSwarmTarget);
  job.lease = static_cast<std::uint64_t>(now.elapsed);
  return true;
}

bool JobQueue::check_due(Job& job) {
  if (plan_.sanitized.empty() || fresh_units_.empty()) {
    return false;
  }
  std::size_t const count = std::min(kCheckUnits, fresh_units_.size());
  auto const end = fresh_units_.begin() + static_cast<std::ptrdiff_t>(count);
  job = with_units(fresh(JobKind::kCheck, kSwarmTarget), {fresh_units_.begin(), end});
  fresh_units_.erase(fresh_units_.begin(), end);
  return true;
}

}  // namespace holdfast::fuzz
