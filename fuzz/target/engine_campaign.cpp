// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/engine_campaign.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "fuzz/clock.hpp"
#include "fuzz/target/engine_generator.hpp"

namespace holdfast::fuzz {
namespace {

/// One in so many programs does not avoid one of the known findings.
constexpr std::uint64_t kTryAgainRate = 16;
/// Findings with the same oracle at the same operation that are all made small, and as many again for each bucket that they came
/// to: wrong logits of many causes show at the next decode. Of more, one in kThen. Of those that hang, the first alone
/// that hangs again.
constexpr std::uint64_t kMadeSmall = 6;
constexpr std::uint64_t kThen = 16;
constexpr std::uint64_t kMostHangs = 24;  // while one is made small

/// Findings with the same oracle at the same operation.
struct Alike {
  std::uint64_t count = 0;
  std::set<std::string> buckets;  // of those that were made small

  [[nodiscard]] bool is_made_small(std::uint64_t index, bool slow) const {
    bool const early = index < kMadeSmall * (1 + buckets.size());
    return slow ? early && buckets.empty() : early || index % kThen == 0;
  }
};

/// What all workers share.
struct Shared {
  EnginePlan const& plan;
  EngineResult& result;
  Clock::time_point start = Clock::now();
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> end{UINT64_MAX};  // programs from here on are not run
  std::mutex mutex;
  std::map<std::string, Alike> seen;  // by oracle and operation
  std::exception_ptr error;

  [[nodiscard]] bool is_over() const {
    return (plan.programs == 0 && seconds_since(start) >= plan.seconds) ||
           (plan.should_stop && plan.should_stop());
  }
};

class Worker {
 public:
  Worker(Shared& shared, EngineRunner& runner) : shared_{shared}, runner_{runner} {}

  void run() {
    constexpr std::uint64_t kReportEvery = 64;
    EnginePlan const& plan = shared_.plan;
    for (std::uint64_t ran = 1; !shared_.is_over(); ++ran) {
      std::uint64_t const index = shared_.next.fetch_add(1);
      if (index >= shared_.end.load() || (plan.programs != 0 && index >= plan.programs)) {
        break;
      }
      run_program(index);
      if (ran % kReportEvery == 0) {
        report();
      }
    }
    report();
  }

 private:
  void run_program(std::uint64_t index) {
    Target const& target = shared_.plan.target;
    bool const again =
        !shared_.plan.until_first && !target.known.empty() && index % kTryAgainRate == 0;
    std::string const tried =
        again ? target.known[(index / kTryAgainRate) % target.known.size()].name : "";
    EngineGenerator const generator{runner_.session().hello(), target, tried};
    std::uint64_t const seed = model::mix(shared_.plan.seed, index);
    EngineProgram program = generator.program(seed);
    EngineVerdict verdict = runner_.run(program);
    // Knobs that do not go together: another program, since what is left out of one depends on its knobs.
    for (std::uint64_t attempt = 1; attempt <= 8 && verdict.refused_knobs; ++attempt) {
      program = generator.program(model::mix(seed, attempt));
      verdict = runner_.run(program);
    }
    note(program, verdict);
    if (verdict.failed()) {
      found(index, program, verdict, tried);
    }
  }

  void note(EngineProgram const& program, EngineVerdict const& verdict) {
    ++counts_.programs;
    counts_.operations += verdict.steps.size() - verdict.skipped;
    counts_.skipped += verdict.skipped;
    counts_.left_out += program.left_out;
    counts_.failed += verdict.failed() ? 1U : 0U;
    std::vector<std::uint64_t> knob_keys;
    for (auto const& [knob, value] : program.knobs) {
      knob_keys.push_back(std::hash<std::string>{}(knob + "=" + value));
    }
    char const* before = "nothing";
    for (EngineStep const& step : verdict.steps) {
      if (step.skipped) {
        continue;
      }
      counts_.compared += step.compared;
      counts_.refused += step.answer.reply == model::Reply::kRefused ? 1U : 0U;
      counts_.weak += step.answer.reply == model::Reply::kWeak ? 1U : 0U;
      char const* const name = model::name_of(step.op);
      char const* const reply = model::kReplyNames[static_cast<std::size_t>(step.answer.reply)];
      std::uint64_t const pair =
          model::mix(model::mix(last_kind_, static_cast<std::uint64_t>(step.op.kind)),
                     static_cast<std::uint64_t>(step.answer.reply));
      std::size_t at = 0;
      for (auto const& [knob, value] : program.knobs) {
        if (covered_keys_.insert(model::mix(pair, knob_keys[at++])).second) {
          covered_.insert(std::string{before} + " > " + name + " " + knob + "=" + value + " " +
                          reply);
        }
      }
      if (program.knobs.empty() && covered_keys_.insert(pair).second) {
        covered_.insert(std::string{before} + " > " + name + " " + reply);
      }
      last_kind_ = static_cast<std::uint64_t>(step.op.kind);
      before = name;
    }
    last_kind_ = UINT64_MAX;
  }

  void found(std::uint64_t index,
             EngineProgram const& program,
             EngineVerdict const& verdict,
             std::string const& tried) {
    if (shared_.plan.until_first) {
      std::scoped_lock const lock{shared_.mutex};
      if (!shared_.result.first_index || index < *shared_.result.first_index) {
        shared_.result.first_index = index;
        shared_.result.first = program;
        shared_.result.first_verdict = verdict;
        shared_.end = index;
      }
      return;
    }
    bool const slow = verdict.oracle == "HANG";
    std::string const raw = verdict.oracle + " " + model::name_of(program.ops[verdict.at]);
    {
      std::scoped_lock const lock{shared_.mutex};
      Alike& alike = shared_.seen[raw + tried];
      if (!alike.is_made_small(alike.count++, slow)) {
        ++shared_.result.not_minimized[raw];
        return;
      }
    }
    EngineFinding finding = minimize(
        runner_,
        {.program = program, .most_hangs = kMostHangs, .should_stop = shared_.plan.should_stop});
    std::scoped_lock const lock{shared_.mutex};
    if (!finding.reproduced) {
      ++shared_.result.not_reproduced;
      return;
    }
    std::string const bucket = finding.bucket.text();
    shared_.seen[raw + tried].buckets.insert(bucket);
    KnownFinding const* const known = known_of(finding);
    EngineGroup& group =
        shared_.result.groups[known == nullptr ? bucket : bucket + " " + known->name];
    bool const better =
        group.sight.count == 0 || finding.program.ops.size() < group.finding.program.ops.size();
    double const now = seconds_since(shared_.start);
    group.sight.add(index, now);
    group.knobs[model::text_of(finding.program.knobs)].add(index, now);
    if (known != nullptr) {
      group.known = known->name;
      group.is_variant = known->bucket != bucket;
    }
    if (better) {
      group.finding = std::move(finding);
    }
  }

  /// The known finding that leaves out an operation of this one; the one with its bucket before others.
  KnownFinding const* known_of(EngineFinding const& finding) {
    Target const& target = shared_.plan.target;
    EngineProgram const& program = finding.program;
    KnownFinding const* found = nullptr;
    for (std::size_t const place :
         known_in(target, runner_.session().hello(), program.knobs, program.ops)) {
      KnownFinding const& known = target.known[place];
      if (found == nullptr || known.bucket == finding.bucket.text()) {
        found = &known;
      }
    }
    return found;
  }

  void report() {
    std::scoped_lock const lock{shared_.mutex};
    EngineCounts added = counts_;
    SessionCounts const& now = runner_.session().counts();
    added.session = {now.starts - told_.starts,
                     now.cold_asked - told_.cold_asked,
                     now.cold_known - told_.cold_known};
    told_ = now;
    shared_.result.counts.add(added);
    counts_ = {};
    shared_.result.coverage.insert(covered_.begin(), covered_.end());
    covered_.clear();
    if (shared_.plan.on_progress) {
      shared_.plan.on_progress(
          shared_.result.counts, seconds_since(shared_.start), shared_.result.groups.size());
    }
  }

  Shared& shared_;
  EngineRunner& runner_;
  EngineCounts counts_;
  SessionCounts told_;
  std::set<std::uint64_t> covered_keys_;
  std::set<std::string> covered_;
  std::uint64_t last_kind_ = UINT64_MAX;
};

}  // namespace

void EngineSight::add(std::uint64_t program, double now) noexcept {
  index = count == 0 ? program : std::min(index, program);
  seconds = count == 0 ? now : seconds;
  ++count;
}

void EngineCounts::add(EngineCounts const& other) noexcept {
  programs += other.programs;
  operations += other.operations;
  compared += other.compared;
  refused += other.refused;
  weak += other.weak;
  skipped += other.skipped;
  left_out += other.left_out;
  failed += other.failed;
  session.starts += other.session.starts;
  session.cold_asked += other.session.cold_asked;
  session.cold_known += other.session.cold_known;
}

EngineResult run_engine(EnginePlan const& plan) {
  EngineResult result;
  EngineRunner first =
      plan.calibration ? EngineRunner{plan.target, *plan.calibration} : EngineRunner{plan.target};
  result.calibration = first.calibration();
  result.hello = first.session().hello();
  for (auto const& [name, values] : plan.target.knobs) {
    for (std::string const& value : values) {
      static_cast<void>(
          result.hello.completed({{name, value}}, "target " + plan.target.name));  // or throws
    }
  }
  Shared shared{.plan = plan, .result = result};
  std::vector<std::thread> threads;
  auto const work = [&](EngineRunner& runner) {
    try {
      Worker{shared, runner}.run();
    } catch (...) {
      std::scoped_lock const lock{shared.mutex};
      shared.error = std::current_exception();
      shared.end = 0;
    }
  };
  for (std::uint32_t i = 1; i < plan.workers; ++i) {
    threads.emplace_back([&] {
      EngineRunner runner{plan.target, result.calibration};
      work(runner);
    });
  }
  work(first);
  for (std::thread& thread : threads) {
    thread.join();
  }
  result.seconds = seconds_since(shared.start);
  if (shared.error) {
    std::rethrow_exception(shared.error);
  }
  return result;
}

}  // namespace holdfast::fuzz
