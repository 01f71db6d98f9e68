// SPDX-License-Identifier: Apache-2.0
// Worker threads over program indices.
#include "fuzz/run.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "fuzz/clock.hpp"
#include "fuzz/flight_recorder.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

/// Programs in the least prefix that reaches the wanted operations.
std::uint64_t programs_for(RunPlan const& plan) {
  if (plan.operations == 0) {
    return kNone;
  }
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  while (operations < plan.operations) {
    operations += program_length(program_seed(plan.seed, programs++));
  }
  return programs;
}

/// What the threads share.
struct Shared {
  RunPlan const& plan;
  Swarm const& swarm;
  std::uint64_t programs;
  Clock::time_point start = Clock::now();
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint32_t> next_thread{0};
  std::atomic<std::uint64_t> first_failed{kNone};
  std::atomic<bool> is_broken{false};
  std::mutex mutex;
  Counts counts;                        // under mutex
  std::uint64_t digest = 0;             // under mutex
  double next_progress = 0.5;           // under mutex
  std::optional<FailedProgram> lost{};  // under mutex; the first that failed on CUDA devices
  std::exception_ptr error{};           // under mutex
};

bool is_over(Shared const& shared) {
  return (shared.plan.operations == 0 && seconds_since(shared.start) >= shared.plan.seconds) ||
         (shared.plan.should_stop && shared.plan.should_stop());
}

void merge(Shared& shared, Counts& counts, std::uint64_t& digest) {
  std::scoped_lock const lock{shared.mutex};
  shared.counts.add(counts);
  shared.digest += digest;
  counts = {};
  digest = 0;
  double const now = seconds_since(shared.start);
  if (shared.plan.on_progress && now >= shared.next_progress) {
    shared.next_progress = now + 0.5;
    shared.plan.on_progress(shared.counts, now);
  }
}

/// On CUDA devices the first failure in time stands: when it ended the devices' context, nothing runs
/// again in this process, and all that fails later fails of that.
void keep_failed(Shared& shared,
                 SwarmProgram const& program,
                 std::uint64_t index,
                 Failure const& failure,
                 std::vector<model::AnyOp> const& ops) {
  std::scoped_lock const lock{shared.mutex};
  if (shared.lost) {
    return;
  }
  shared.lost =
      failed_program(shared.swarm.settings()[program.setting], failure, ops, {.is_cuda = true});
  shared.lost->index = index;
  shared.lost->seed = program.seed;
  shared.lost->flavor = program.flavor;
}

void work(Shared& shared) {
  model::Coverage coverage;
  std::vector<std::string> references;  // of the settings
  SwarmProgram program;
  std::optional<SwarmRunner> runner;
  RunnerOptions options{.compare = shared.plan.compare,
                        .device = {.system = shared.plan.system,
                                   .is_simulated = shared.plan.simulated,
                                   .is_cuda = shared.plan.cuda},
                        .check_order = shared.plan.check_order,
                        .faults = shared.plan.faults};
  if (shared.plan.coverage != nullptr) {
    for (model::Geometry const& geometry : shared.swarm.settings()) {
      references.push_back(model::geometry_reference(geometry));
    }
    options.on_transition = [&](model::Transition const& transition) {
      coverage.note(transition, references[program.setting], runner->runner(program).ops());
    };
  }
  std::optional<FlightRecorder> flight;
  bool has_begun = false;
  if (!shared.plan.flights.empty()) {
    flight.emplace(shared.plan.flights + "." + std::to_string(shared.next_thread.fetch_add(1)));
    options.on_begin = [&](model::AnyOp const& op) {
      if (!has_begun) {
        flight->start(
            {.geometry = model::geometry_reference(shared.swarm.settings()[program.setting]),
             .device = model::text_of({.is_simulated = shared.plan.simulated,
                                       .is_cuda = shared.plan.cuda,
                                       .seed = program.seed})});
        has_begun = true;
      }
      flight->note(op);
    };
  }
  // One operation of a large geometry may take a second.
  bool is_stopped = false;
  options.should_stop = [&] { return is_stopped = is_stopped || is_over(shared); };
  runner.emplace(shared.swarm, std::move(options));
  constexpr std::uint32_t kMergeEvery = 64;  // programs
  Counts counts;
  std::uint64_t digest = 0;
  for (std::uint32_t done = 1;; ++done) {
    std::uint64_t const index = shared.next.fetch_add(1);
    std::uint64_t const failed = shared.first_failed.load();
    if (index >= shared.programs || index > failed || shared.is_broken ||
        (shared.plan.cuda && failed != kNone)) {
      break;
    }
    program = shared.swarm.program(index);
    has_begun = false;
    ProgramResult const result = runner->run(program);
    counts.add(result.counts);
    digest += model::mix(index, result.digest);
    coverage.note_program();
    if (result.failure && shared.plan.cuda) {
      keep_failed(shared, program, index, *result.failure, runner->runner(program).ops());
    }
    if (result.failure) {
      std::uint64_t known = shared.first_failed.load();
      while (index < known && !shared.first_failed.compare_exchange_weak(known, index)) {
      }
    }
    if (done % kMergeEvery == 0) {
      merge(shared, counts, digest);
    }
    if (is_stopped) {
      break;
    }
  }
  merge(shared, counts, digest);
  if (shared.plan.coverage != nullptr) {
    std::scoped_lock const lock{shared.mutex};
    shared.plan.coverage->add(coverage);
  }
}

/// Errors of any thread are told when all have ended.
void work_guarded(Shared& shared) {
  try {
    work(shared);
  } catch (...) {
    std::scoped_lock const lock{shared.mutex};
    shared.error = std::current_exception();
    shared.is_broken = true;  // nobody begins another program
  }
}

FailedProgram report_failed(RunPlan const& plan, Swarm const& swarm, std::uint64_t index) {
  SwarmProgram const program = swarm.program(index);
  model::DeviceChoice const device{.system = plan.system,
                                   .is_simulated = plan.simulated,
                                   .is_cuda = plan.cuda,
                                   .seed = program.seed};
  SwarmRunner runner{swarm, {.compare = plan.compare, .device = device, .faults = plan.faults}};
  static_cast<void>(runner.run(program));
  FailedProgram failed = explain_failure(
      swarm.settings()[program.setting], runner.runner(program).ops(), plan.compare, device);
  failed.index = index;
  failed.seed = program.seed;
  failed.flavor = program.flavor;
  return failed;
}

}  // namespace

FailedProgram failed_program(model::Geometry const& geometry,
                             Failure const& failure,
                             std::vector<model::AnyOp> const& ops,
                             model::DeviceChoice const& device) {
  FailedProgram failed{.geometry = model::label(geometry), .failure = failure};
  failed.trace.geometry = model::geometry_reference(geometry);
  failed.trace.device = model::text_of(device);
  failed.trace.ops = ops;
  return failed;
}

RunResult run_many(RunPlan const& plan) {
  Swarm const swarm{plan.geometries, plan.seed, plan.flavor};
  Shared shared{.plan = plan, .swarm = swarm, .programs = programs_for(plan)};
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 1; i < plan.threads; ++i) {
    threads.emplace_back([&] { work_guarded(shared); });
  }
  work_guarded(shared);
  threads.clear();
  if (shared.error && !shared.lost) {
    std::rethrow_exception(shared.error);
  }
  RunResult result{
      .counts = shared.counts, .digest = shared.digest, .seconds = seconds_since(shared.start)};
  if (shared.lost) {
    result.failed = std::move(shared.lost);
  } else if (std::uint64_t const index = shared.first_failed.load(); index != kNone) {
    result.failed = report_failed(plan, swarm, index);
  }
  return result;
}

std::uint64_t operations_through(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t operations = 0;
  for (std::uint64_t program = 0; program <= index; ++program) {
    operations += program_length(program_seed(seed, program));
  }
  return operations;
}

FailedProgram explain_failure(model::Geometry const& geometry,
                              std::vector<model::AnyOp> const& ops,
                              bool compare,
                              model::DeviceChoice device) {
  Runner runner{geometry,
                {.compare = compare,
                 .keep_log = true,
                 .watch_one_in = 1,
                 .device = device,
                 .explain_order = true}};
  ProgramResult const result = runner.run_ops(ops);
  return failed_program(geometry, result.failure.value_or(Failure{}), runner.ops(), device);
}

std::string describe_failure(Failure const& failure, std::vector<model::AnyOp> const& ops) {
  std::string text = "violated at operation " + std::to_string(failure.op_index) + ": " +
                     model::text_of(ops[failure.op_index]) + "\n";
  for (invariant::Violation const& violation : failure.violations) {
    text += "  ";
    text += violation.id;
    std::string where;
    if (!violation.holder.empty()) {
      where += " " + violation.holder;
    }
    if (violation.plane[0] != '\0') {
      where += " plane " + std::string{violation.plane};
    }
    if (violation.layer >= 0) {
      where += " layer " + std::to_string(violation.layer);
    }
    if (violation.position >= 0) {
      where += " position " + std::to_string(violation.position);
    }
    text += (where.empty() ? "" : ":" + where) + ": " + violation.text + "\n";
  }
  return failure.why.empty() ? text : text + "why they are not ordered:\n" + failure.why;
}

}  // namespace holdfast::fuzz
