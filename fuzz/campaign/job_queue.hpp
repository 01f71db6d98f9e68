// SPDX-License-Identifier: Apache-2.0
// What a campaign's workers do next.
#pragma once

#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fuzz/campaign/supervisor.hpp"
#include "fuzz/campaign/workers.hpp"

namespace holdfast::fuzz {

/// Jobs that wait for a worker, and those that are made when one is free: what waits comes first, then
/// what is due, then a run of the target that had the least time so far.
class JobQueue {
 public:
  /// Both must outlive this.
  JobQueue(CampaignPlan const& plan, CampaignState& state) : plan_{plan}, state_{state} {}

  /// Takes over the jobs that the state has, behind a canary.
  void begin(double elapsed);
  void push_front(Job job) { waiting_.push_front(std::move(job)); }
  void push_back(Job job) { waiting_.push_back(std::move(job)); }
  /// A unit of our own programs that no sanitizer has seen.
  void add_unit(std::string path) { fresh_units_.push_back(std::move(path)); }
  [[nodiscard]] std::vector<Job> waiting() const { return {waiting_.begin(), waiting_.end()}; }
  [[nodiscard]] Job fresh(JobKind kind, std::string const& target) const;

  /// The next job beside those that are running; false when there is none.
  [[nodiscard]] bool next(std::span<WorkerProcess const> running, double elapsed, Job& job);
  /// The next one that waits, if it is a recovery.
  [[nodiscard]] bool next_recovery(Job& job);

 private:
  /// What is known when a worker is free.
  struct Moment {
    std::span<WorkerProcess const> running;
    double elapsed;
  };
  [[nodiscard]] bool take_over(Job& job);
  void recover_left_over();
  void drop_looked_at();
  [[nodiscard]] CampaignTarget const* neediest(Moment const& now) const;
  [[nodiscard]] bool is_merge_due(CampaignTarget const& target, Moment const& now) const;
  bool merge_due(Moment const& now, Job& job);
  bool check_due(Job& job);
  bool frontier_due(Moment const& now, Job& job);

  CampaignPlan const& plan_;
  CampaignState& state_;
  std::deque<Job> waiting_;
  std::deque<std::string> fresh_units_;
  std::set<std::string> merged_;  // targets, in the round of merges that goes on
  double next_frontier_ = 0;
};

}  // namespace holdfast::fuzz
