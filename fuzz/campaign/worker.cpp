// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "fuzz/campaign/job_process.hpp"
#include "fuzz/campaign/programs.hpp"
#include "fuzz/campaign/recover.hpp"
#include "fuzz/canary.hpp"
#include "fuzz/clock.hpp"
#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/frontier.hpp"
#include "fuzz/minimize.hpp"
#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

/// The beat of a work folder, mapped.
class BeatFile {
 public:
  explicit BeatFile(std::filesystem::path const& path) {
    constexpr mode_t kMode = 0644;
    int const file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
    if (file < 0 || ftruncate(file, sizeof(Beat)) != 0) {
      int const code = errno;
      close(file);
      throw FileError{path.string() +
                      ": cannot be written: " + std::generic_category().message(code)};
    }
    base_ = mmap(nullptr, sizeof(Beat), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (base_ == MAP_FAILED) {
      throw std::system_error{errno, std::generic_category(), "shared memory"};
    }
    ::new (base_) Beat;
  }
  ~BeatFile() { munmap(base_, sizeof(Beat)); }
  BeatFile(BeatFile const&) = delete;
  BeatFile& operator=(BeatFile const&) = delete;

  Beat& operator*() const noexcept { return *static_cast<Beat*>(base_); }

 private:
  void* base_ = nullptr;
};

/// The first violation of a report for people, in one line.
std::string first_violation(Failure const& failure) {
  if (failure.violations.empty()) {
    return "failed once, and held when it was run again";
  }
  invariant::Violation const& violation = failure.violations.front();
  return violation.holder.empty() ? violation.text : violation.holder + ": " + violation.text;
}

class Worker {
 public:
  Worker(Job const& job, std::function<bool()> const& should_stop)
      : job_{job},
        folder_{job.root},
        should_stop_{should_stop},
        findings_{folder_.findings()},
        aliases_{read_aliases(folder_.aliases())} {}

  void run() {
    switch (job_.kind) {
      case JobKind::kRun:
        run_programs();
        break;
      case JobKind::kCanary:
        run_canary();
        break;
      case JobKind::kRecover:
        recover();
        break;
      case JobKind::kFrontier:
        push();
        break;
      case JobKind::kCheck:
      case JobKind::kMerge:
        throw model::InputError{job_.work + ": is no job of a worker"};
    }
    write_whole(std::filesystem::path{job_.work} / "result.json", print_result(result_));
  }

 private:
  void run_programs() {
    BeatFile const beat{std::filesystem::path{job_.work} / "beat"};
    auto const covered = read_transitions(folder_.coverage());
    std::set<std::uint64_t> transitions{covered.begin(), covered.end()};
    bool is_fresh = false;
    Programs programs{job_.seed, {.on_transition = [&](model::Transition const& transition) {
                        if (transitions.insert(transition_key(transition)).second) {
                          result_.transitions.push_back(transition_key(transition));
                          is_fresh = true;
                        }
                      }}};
    auto const start = Clock::now();
    for (std::uint64_t i = 0; seconds_since(start) < job_.seconds && !should_stop_(); ++i) {
      std::uint64_t const index = job_.lease * kLeasePrograms + i;
      (*beat).program = index;
      is_fresh = false;
      ProgramResult const ran = programs.run(index);
      ++result_.programs;
      result_.operations += ran.counts.operations;
      if (ran.failure) {
        note_failure(programs.runner(index), *ran.failure);
      } else if (is_fresh) {
        Runner const& runner = programs.runner(index);
        keep_unit({.geometry = model::geometry_reference(runner.geometry()), .ops = runner.ops()});
      }
      (*beat).programs = result_.programs;
    }
  }

  /// From where all units lead, on to what was never seen.
  void push() {
    constexpr std::uint32_t kTries = 24;  // ways to take an unseen edge
    model::Coverage coverage = coverage_of_units(folder_.corpus(job_.target));
    FrontierResult const frontier =
        push_frontier(coverage, model::mix(job_.seed, job_.lease), kTries);
    for (model::Trace const& seed : frontier.seeds) {
      keep_unit(seed);
    }
    for (model::Trace const& failed : frontier.failed) {
      static_cast<void>(
          hand_over_small({model::geometry_from_reference(failed.geometry), {}, failed.ops}));
    }
    auto const covered = read_transitions(folder_.coverage());
    std::set<std::uint64_t> const known{covered.begin(), covered.end()};
    for (auto const& [edge, ends] : coverage.edges()) {
      if (known.count(transition_key(edge)) == 0) {
        result_.transitions.push_back(transition_key(edge));
      }
    }
    result_.programs = frontier.aimed_at;
  }

  void run_canary() {
    CanaryRunner canary{model::load_geometry(model::default_geometry_names().front()),
                        job_.mute_canary};
    for (std::uint64_t index = 0; index < 2 * kCanaryPeriod; ++index) {
      ProgramResult const ran = canary.run(job_.seed, index);
      if (is_canary_report(ran)) {
        std::vector<model::AnyOp> const& ops = canary.runner().ops();
        static_cast<void>(
            hand_over({.signature = signature_of(*ran.failure, ops),
                       .text = first_violation(*ran.failure),
                       .reproducer = trace_reproducer({canary.runner().geometry(), {}, ops}, 0)}));
      }
    }
  }

  /// A failure of a kind that is new here is made small and handed over; others are counted.
  void note_failure(Runner const& runner, Failure const& failure) {
    std::string const raw = bucket_name(signature_of(failure, runner.ops()));
    auto const known = aliases_.find(raw);
    if (known != aliases_.end()) {
      ++result_.met[known->second];
      return;
    }
    std::string const bucket = hand_over_small({runner.geometry(), {}, runner.ops()});
    aliases_[raw] = bucket;
    result_.aliases[raw] = bucket;
  }

  /// Makes a program small that fails here, and hands it over; returns its bucket.
  std::string hand_over_small(FoundProgram program) {
    // What the host shows as well needs no simulated device: there it shows at once, as for all who met it.
    if (program.device.is_simulated &&
        Runner{program.geometry, {.deep_every = 1}}.run_ops(program.ops).failure) {
      program.device = {};
    }
    Minimized const small = made_small(program, Keep::kViolation);
    return hand_over_program(small.failed && !small.died
                                 ? FoundProgram{small.geometry, program.device, small.ops}
                                 : program);
  }

  [[nodiscard]] static Minimized made_small(FoundProgram const& program, Keep keep) {
    constexpr double kMost = 5;  // seconds
    auto const start = Clock::now();
    return minimize({.geometry = program.geometry,
                     .ops = program.ops,
                     .device = program.device,
                     .keep = keep,
                     .should_stop = [&] { return seconds_since(start) > kMost; }});
  }

  /// Bucket names of what the program comes to when less than its violation is kept.
  [[nodiscard]] static std::vector<std::string> causes_of(FoundProgram const& program) {
    std::vector<std::string> causes;
    for (Keep const keep : {Keep::kCause, Keep::kFailure}) {
      Minimized const least = made_small(program, keep);
      if (!least.failed || least.died) {
        continue;
      }
      Runner runner{least.geometry, {.deep_every = 1, .device = program.device}};
      if (ProgramResult const ran = runner.run_ops(least.ops); ran.failure) {
        causes.push_back(bucket_name(signature_of(*ran.failure, runner.ops())));
      }
    }
    return causes;
  }

  /// Hands over a program that fails here; returns its bucket.
  std::string hand_over_program(FoundProgram const& program) {
    Runner runner{program.geometry, {.device = program.device}};
    auto const start = Clock::now();
    static_cast<void>(runner.run_ops(program.ops));
    double const seconds = seconds_since(start);
    FailedProgram const failed =
        explain_failure(program.geometry, program.ops, true, program.device);
    Finding finding{.signature = signature_of(failed.failure, failed.trace.ops),
                    .causes = causes_of(program),
                    .text = first_violation(failed.failure),
                    .reproducer = trace_reproducer(
                        {program.geometry, program.device, failed.trace.ops}, seconds)};
    if (failed.failure.violations.empty()) {
      finding.signature = {.id = "UNSTABLE", .operation = "", .frames = {}};
    }
    return hand_over(std::move(finding));
  }

  void recover() {
    Recovered const recovered = fuzz::recover(job_);
    if (recovered.lives) {  // it breaks a statement and does not die of it
      static_cast<void>(hand_over_small(recovered.program));
    } else {
      static_cast<void>(hand_over(recovered.finding));
    }
  }

  /// Leaves a finding for the supervisor; returns its bucket.
  std::string hand_over(Finding finding) {
    finding.target = job_.target;
    finding.seed = job_.seed;
    finding.commit = job_.commit;
    finding.mutant = job_.mutant;
    finding.seen = unix_seconds();
    std::string const text = print_finding(finding);
    write_whole(folder_.spool() / (name_of_bytes(text) + ".json"), text);
    std::string const known = findings_.find(finding);
    return known.empty() ? bucket_name(finding.signature) : known;
  }

  void keep_unit(model::Trace const& program) {
    std::vector<std::uint8_t> const bytes = encode_program(program);
    std::string const text{bytes.begin(), bytes.end()};
    std::string const name = name_of_bytes(text);
    write_whole(folder_.corpus(job_.target) / name, text, Outlives::kProcess);
    result_.units.push_back(name);
  }

  Job const& job_;
  CampaignFolder folder_;
  std::function<bool()> const& should_stop_;
  Findings findings_;  // as they were when the job began
  Aliases aliases_;
  JobResult result_;
};

}  // namespace

void run_job(Job const& job, std::function<bool()> const& should_stop) {
  Worker{job, should_stop}.run();
}

}  // namespace holdfast::fuzz
