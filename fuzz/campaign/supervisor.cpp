// SPDX-License-Identifier: Apache-2.0
// The loop over workers. Every step of it may be the last: what counts is on disk before what it was
// made from goes.
#include "fuzz/campaign/supervisor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <system_error>
#include <utility>

#include "fuzz/campaign/job_process.hpp"
#include "fuzz/campaign/job_queue.hpp"
#include "fuzz/campaign/libfuzzer.hpp"
#include "fuzz/campaign/opening.hpp"
#include "fuzz/campaign/programs.hpp"
#include "fuzz/campaign/recover.hpp"
#include "fuzz/campaign/workers.hpp"
#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;
using model::InputError;

constexpr int kExitOfMemory = 3;         // of a worker; it says so
constexpr std::uint64_t kMostTries = 3;  // of a recovery that is killed
constexpr double kHistoryPoints = 300;

class Supervisor {
 public:
  explicit Supervisor(CampaignPlan const& plan)
      : plan_{plan},
        folder_{plan.folder},
        findings_{open_findings(folder_.findings())},
        canary_{open_findings(folder_.canary())},
        jobs_{plan, state_} {}

  CampaignResult run() {
    open_state();
    for (CampaignTarget const& target : plan_.targets) {
      open_corpus(folder_, target.name, plan_.seeds);
    }
    findings_.age();
    replay_known(findings_);
    exchange();  // before the clock runs: others may have thousands of units
    begin();
    while (!is_over() || !running_.empty()) {
      reap();
      take_spool();
      watch_beats();
      if (is_over()) {
        stop_workers();
      } else {
        fill();
      }
      note_time();
      usleep(kPause);
    }
    take_spool();
    note_history(true);
    save();
    return {.state = state_,
            .transitions = {transitions_.begin(), transitions_.end()},
            .canary_reported = canary_seen_ || (!started_any_ && state_.canaries != 0),
            .canary_is_silent = !canary_seen_ && (canary_ended_ || elapsed() >= plan_.seconds) &&
                                (started_any_ || state_.canaries == 0)};
  }

 private:
  static constexpr useconds_t kPause = 50'000;

  void open_state() {
    std::error_code error;
    bool const is_there = fs::exists(folder_.state(), error);
    if (is_there && !plan_.resume) {
      throw InputError{folder_.root.string() + ": has a campaign; --resume goes on with it"};
    }
    if (!is_there && plan_.resume) {
      throw InputError{folder_.root.string() + ": has no campaign to go on with"};
    }
    state_ = {.seed = plan_.seed, .commit = plan_.commit, .mutant = plan_.mutant};
    if (is_there) {
      state_ = read_state(folder_.state());
      if (state_.mutant != plan_.mutant) {
        throw InputError{folder_.root.string() + ": is of " +
                         (state_.mutant.empty() ? "no mutant" : "mutant " + state_.mutant)};
      }
    }
    if (plan_.is_seed_given && state_.seed != plan_.seed) {
      throw InputError{folder_.root.string() + ": is of seed " + std::to_string(state_.seed)};
    }
    for (fs::path const& path :
         {folder_.spool(), folder_.artifacts(), folder_.root / "corpus", folder_.root / "work"}) {
      make_folder(path);
      remove_unfinished(path);
    }
    aliases_ = read_aliases(folder_.aliases());
    // A failure counts as known where its finding is: somebody may have taken that away.
    if (std::erase_if(aliases_, [&](auto const& alias) {
          return findings_.buckets().count(alias.second) == 0;
        }) != 0) {
      write_whole(folder_.aliases(), print_aliases(aliases_));
    }
    for (auto const key : read_transitions(folder_.coverage())) {
      transitions_.insert(key);
    }
  }

  void begin() {
    started_ = seconds_now();
    before_ = state_.elapsed;
    ++state_.starts;
    jobs_.begin(before_);
    for (CampaignTarget const& target : plan_.targets) {
      state_.targets.try_emplace(target.name);
    }
    save();
  }

  [[nodiscard]] double elapsed() const { return before_ + seconds_now() - started_; }
  [[nodiscard]] bool is_over() const {
    return elapsed() >= plan_.seconds || (plan_.should_stop && plan_.should_stop());
  }

  void note_time() {
    state_.elapsed = elapsed();
    note_history(false);
    if (plan_.on_view && seconds_now() >= next_view_) {
      constexpr double kEvery = 0.5;
      next_view_ = seconds_now() + kEvery;
      plan_.on_view(state_, findings_);
    }
  }

  void note_history(bool is_last) {
    double const every = std::max(1.0, plan_.seconds / kHistoryPoints);
    if (!is_last && !state_.history.empty() &&
        state_.elapsed < state_.history.back().seconds + every) {
      return;
    }
    HistoryPoint point{.seconds = state_.elapsed,
                       .transitions = transitions_.size(),
                       .units = count_units(folder_),
                       .findings = findings_.buckets().size()};
    for (auto const& [name, target] : state_.targets) {
      point.programs += target.programs;
    }
    state_.history.push_back(point);
    save();
  }

  void save() {
    state_.jobs = jobs_.waiting();
    for (WorkerProcess const& one : running_) {
      state_.jobs.push_back(one.job);
    }
    write_whole(folder_.state(), print_state(state_));
  }

  void fill() {
    Job job;
    while (running_.size() < plan_.workers && jobs_.next(running_, elapsed(), job)) {
      start(job);
    }
  }

  void start(Job job) {
    std::uint32_t place = 0;
    while (std::any_of(running_.begin(), running_.end(), [&](WorkerProcess const& one) {
      return one.place == place;
    })) {
      ++place;
    }
    fs::path const work = folder_.work(place);
    remove_whole(work);
    make_folder(work);
    job.work = work.string();
    write_whole(work / "job.json", print_job(job));
    WorkerProcess one{.job = job, .place = place, .started = seconds_now()};
    one.last_beat = one.started;
    std::vector<std::string> const words = job_words(plan_, job, one.is_fuzz_target);
    running_.push_back(one);
    started_any_ = true;
    save();  // before it can find anything
    running_.back().process = start_worker(words, work);
  }

  void reap() {
    for (std::size_t i = running_.size(); i-- > 0;) {
      int status = 0;
      pid_t const ended = waitpid(running_[i].process, &status, WNOHANG);
      if (ended == running_[i].process) {
        WorkerProcess const one = running_[i];
        take_spool();  // what it handed over is known before it is forgotten
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
        finish(one, status);
        save();
        // Only now is it known without them.
        for (fs::path const& input : spent_) {
          remove_whole(input);
        }
        spent_.clear();
        exchange();
      }
    }
  }

  void exchange() {
    exchange_units(folder_, plan_, [&](std::string const& line) {
      if (said_.insert(line).second && plan_.on_word) {
        plan_.on_word(line + ", and is passed over");
      }
    });
  }

  void finish(WorkerProcess const& one, int status) {
    TargetState& target = state_.targets[one.job.target];
    ++target.jobs;
    target.seconds += seconds_now() - one.started;
    std::string const log = end_of_log(one.job.work);
    bool const killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    // By the signal, or with the exit code that says so.
    int const end = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    bool const told_to_end = is_stopping() && end == SIGINT;
    if (one.timed_out) {
      ++target.time_outs;
      recover_program(one, "HANG", log);
    } else if (killed && !stopping_) {
      ++target.memory_kills;  // nobody else kills so
      try_again(one.job);
    } else if (killed || told_to_end) {
      try_again(one.job);
    } else if (one.job.kind == JobKind::kMerge) {
      finish_merge(one, status, log);
    } else if (one.job.kind == JobKind::kCheck) {
      finish_check(one, status, log);
    } else if (one.is_fuzz_target) {
      finish_fuzz(one, status, log, target);
    } else {
      canary_ended_ = canary_ended_ || one.job.kind == JobKind::kCanary;
      finish_own(one, status, log, target);
    }
  }

  void finish_own(WorkerProcess const& one,
                  int status,
                  std::string const& log,
                  TargetState& target) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      take_result(one.job, target);
      return;
    }
    bool const has_own_code = WIFEXITED(status) && WEXITSTATUS(status) > 1;
    if (has_own_code && log.find("out of memory") != std::string::npos &&
        WEXITSTATUS(status) == kExitOfMemory) {
      ++target.memory_kills;
      return;
    }
    if (has_own_code && sanitizer_id(log).empty()) {
      throw CampaignError{said_by(one, status, log)};
    }
    ++target.crashes;
    recover_program(one, death_of(status), log);
  }

  void take_result(Job const& job, TargetState& target) {
    fs::path const path = fs::path{job.work} / "result.json";
    JobResult const result = parse_result(model::read_file(path), path.string());
    target.programs += result.programs;
    target.operations += result.operations;
    for (auto const& [drawn, bucket] : result.aliases) {
      note_alias(drawn, bucket);
    }
    for (auto const& [bucket, times] : result.met) {
      auto const alias = aliases_.find(bucket);
      std::string const& name = alias == aliases_.end() ? bucket : alias->second;
      if (findings_.buckets().count(name) != 0) {
        findings_.note_met(name, times, unix_seconds());
      }
    }
    bool is_fresh = false;
    for (std::uint64_t const key : result.transitions) {
      is_fresh = transitions_.insert(key).second || is_fresh;
    }
    if (is_fresh) {
      write_whole(folder_.coverage(),
                  print_transitions({transitions_.begin(), transitions_.end()}));
    }
    for (std::string const& unit : result.units) {
      jobs_.add_unit((folder_.corpus(job.target) / unit).string());
    }
    if (job.kind == JobKind::kRecover && !job.input.empty()) {
      spent_.emplace_back(job.input);
    }
  }

  void finish_fuzz(WorkerProcess const& one,
                   int status,
                   std::string const& log,
                   TargetState& target) {
    FuzzEnd const end = read_end(one.job, status, log);
    target.programs += end.executed;
    target.coverage = std::max(target.coverage, end.features);
    if (!end.refusal.empty() && !is_stopping()) {  // it was interrupted before it began
      throw CampaignError{one.job.target + ": " + end.refusal};
    }
    if (end.memory) {
      ++target.memory_kills;
    } else if (!end.input.empty()) {
      ++(end.death == "HANG" ? target.time_outs : target.crashes);
      std::string const bytes = model::read_file(end.input);
      fs::path const kept = artifact_path(one.job, end.input, bytes);
      std::error_code error;
      if (fs::exists(kept, error)) {
        return;  // another died of it just now, and a job is about it
      }
      write_whole(kept, bytes);
      Job job = jobs_.fresh(JobKind::kRecover, one.job.target);
      job.input = kept.string();
      job.death = end.death;
      job.log = log;
      jobs_.push_front(job);
    }
  }

  /// The program that a worker was at when it died.
  void recover_program(WorkerProcess const& one, std::string const& death, std::string const& log) {
    std::uint64_t program = 0;
    std::uint64_t programs = 0;
    if (one.job.kind == JobKind::kRecover) {
      try_again(one.job);
      return;
    }
    if (!read_beat(one.job.work, program, programs)) {
      throw CampaignError{"a worker died before its first program: " + death + ": " +
                          last_line_of(log)};
    }
    state_.targets[one.job.target].programs += programs;
    Job job = jobs_.fresh(JobKind::kRecover, one.job.target);
    job.program = program;
    job.death = death;
    job.log = log;
    jobs_.push_front(job);
  }

  /// What must not be lost is tried again, a few times.
  void try_again(Job job) {
    if (job.kind == JobKind::kRecover && ++job.lease < kMostTries) {
      jobs_.push_back(job);
    }
    if (stopping_ && job.kind == JobKind::kRun) {
      jobs_.push_back(job);  // for who resumes
    }
  }

  void finish_merge(WorkerProcess const& one, int status, std::string const& log) {
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      if (is_stopping()) {
        return;  // it was interrupted; the corpus is as it was
      }
      throw CampaignError{one.job.target +
                          ": the merge of its corpus failed: " + said_by(one, status, log)};
    }
    take_merged(folder_, one.job);
  }

  /// A unit that holds in the plain build and not with sanitizers.
  void finish_check(WorkerProcess const& one, int status, std::string const& log) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) > 1 && sanitizer_id(log).empty()) {
      throw CampaignError{"the build with sanitizers: " + said_by(one, status, log)};
    }
    std::vector<std::string> units = units_of(one.job);
    auto const bad = std::find_if(units.begin(), units.end(), [&](std::string const& unit) {
      return log.find(unit + ": ok") == std::string::npos;
    });
    if (bad == units.end()) {
      return;
    }
    Finding const finding = unit_finding(one.job, *bad, status, log);
    bool const is_known = !findings_.find(finding).empty();
    findings_.add(finding);
    if (is_known) {
      return;  // most of the rest would be the same
    }
    units.erase(units.begin(), bad + 1);
    if (!units.empty()) {
      jobs_.push_back(with_units(one.job, units));
    }
  }

  void take_spool() {
    for (fs::path const& path : entries_of(folder_.spool())) {
      Finding const finding = parse_finding(model::read_file(path), path.string());
      if (finding.target == kCanaryTarget) {
        canary_.add(finding);
        ++state_.canaries;
        canary_seen_ = true;
      } else {
        note_alias(bucket_name(finding.signature), findings_.add(finding));
      }
      remove_whole(path);
    }
  }

  /// From now on a failure like `name` is counted as one of `bucket`.
  void note_alias(std::string const& name, std::string const& bucket) {
    auto const further = aliases_.find(bucket);
    std::string const last = further == aliases_.end() ? bucket : further->second;
    if (findings_.buckets().count(last) != 0 && aliases_.try_emplace(name, last).second) {
      write_whole(folder_.aliases(), print_aliases(aliases_));
    }
  }

  void watch_beats() {
    double const now = seconds_now();
    for (WorkerProcess& one : running_) {
      std::uint64_t program = 0;
      std::uint64_t programs = 0;
      if (one.job.kind == JobKind::kRun && !one.is_fuzz_target &&
          read_beat(one.job.work, program, programs) && programs != one.programs) {
        one.programs = programs;
        one.last_beat = now;
      }
      constexpr double kPatience = 120;  // of what has its own time limits
      double const most = one.is_fuzz_target || one.job.kind != JobKind::kRun
                              ? one.job.seconds + plan_.time_out + kPatience
                              : plan_.time_out;
      if (!one.timed_out && now - one.last_beat > most) {
        one.timed_out = !one.is_fuzz_target && one.job.kind == JobKind::kRun;
        kill(-one.process, SIGKILL);
      }
    }
  }

  /// The last line of a worker; it may have been unable to write one.
  [[nodiscard]] static std::string said_by(WorkerProcess const& one,
                                           int status,
                                           std::string const& log) {
    std::string const line = last_line_of(log);
    return line.empty() ? one.job.work + ": a worker for " + one.job.target + " ended with " +
                              death_of(status) + " and could not say why; is the disk full?"
                        : line;
  }

  [[nodiscard]] bool is_stopping() const { return stop_at_ != 0; }

  /// The time is over: programs end by themselves; what goes on is ended.
  void stop_workers() {
    constexpr double kGrace = 10;
    bool const interrupted = elapsed() < plan_.seconds;
    if (!is_stopping()) {
      stop_at_ = seconds_now() + kGrace;
      for (WorkerProcess const& one : running_) {
        if (interrupted || one.is_fuzz_target) {
          kill(-one.process, SIGINT);
        }
      }
    }
    // A recovery in the last moment is worth its time.
    bool const has_recovery = std::any_of(running_.begin(), running_.end(), [](auto const& one) {
      return one.job.kind == JobKind::kRecover;
    });
    if (seconds_now() > stop_at_ + (has_recovery && !interrupted ? 60 : 0)) {
      stopping_ = true;
      for (WorkerProcess const& one : running_) {
        kill(-one.process, SIGKILL);
      }
      return;
    }
    Job job;
    while (!interrupted && running_.size() < plan_.workers && jobs_.next_recovery(job)) {
      start(job);
    }
  }

  CampaignPlan const& plan_;
  CampaignFolder folder_;
  Findings findings_;
  Findings canary_;
  CampaignState state_;
  std::set<std::uint64_t> transitions_;
  Aliases aliases_;
  JobQueue jobs_;
  std::vector<WorkerProcess> running_;
  std::vector<fs::path> spent_;  // inputs that were looked at; they go once the state says so
  std::set<std::string> said_;
  double started_ = 0;
  double before_ = 0;  // elapsed before this supervisor
  double next_view_ = 0;
  double stop_at_ = 0;
  bool stopping_ = false;  // workers are killed
  bool canary_seen_ = false;
  bool canary_ended_ = false;
  bool started_any_ = false;  // else there was no time left
};

}  // namespace

CampaignResult run_campaign(CampaignPlan const& plan) {
  return Supervisor{plan}.run();
}

}  // namespace holdfast::fuzz
