// SPDX-License-Identifier: Apache-2.0
// One mutant in this process, and the pool of processes around it.
#include "fuzz/mutant_runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "fuzz/child.hpp"

namespace holdfast::fuzz {
namespace {

using Counter = OperationCount;

[[noreturn]] void fail(char const* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

/// Counters that parent and children share.
class SharedCounters {
 public:
  explicit SharedCounters(std::size_t count) : memory_{count * sizeof(Counter)} {
    auto* const first = static_cast<Counter*>(memory_.base());
    for (std::size_t i = 0; i < count; ++i) {
      ::new (first + i) Counter{0};
    }
    counters_ = {first, count};
  }

  Counter& operator[](std::size_t index) const { return counters_[index]; }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (Counter const& counter : counters_) {
      total += counter.load(std::memory_order_relaxed);
    }
    return total;
  }

 private:
  SharedMemory memory_;
  std::span<Counter> counters_;
};

/// A child process and what it has said so far.
struct Child {
  std::size_t mutant = 0;  // index in the plan
  pid_t process = -1;
  int pipe = -1;
  std::string said;
};

constexpr std::string_view kRefused = "refused ";

// One line: "1 350 IMMUT OWNER", "0 0", or "refused " and why. The line end says that it is whole.
std::string line_of(MutantOutcome const& outcome) {
  std::string line = outcome.killed ? "1 " : "0 ";
  line += std::to_string(outcome.reached);
  for (std::string const& id : outcome.invariants) {
    line += " " + id;
  }
  return line + "\n";
}

void read_line(std::string const& line, MutantOutcome& outcome) {
  if (line.rfind(kRefused, 0) == 0) {
    throw std::runtime_error{line.substr(kRefused.size(), line.size() - kRefused.size() - 1)};
  }
  std::istringstream words{line};
  int killed = 0;
  words >> killed >> outcome.reached;
  outcome.killed = killed != 0;
  for (std::string id; words >> id;) {
    outcome.invariants.push_back(id);
  }
}

Child start_mutant(std::size_t index,
                   MutantPlan const& plan,
                   MutantSearch const& search,
                   Counter& counted) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    fail("pipe");
  }
  pid_t const process = start_child([&] {
    close(ends[0]);
    std::string line;
    try {
      line = line_of(search(plan.mutants[index], counted));
    } catch (std::exception const& error) {
      line = std::string{kRefused} + error.what() + "\n";
    }
    return write(ends[1], line.data(), line.size()) < 0 ? 1 : 0;
  });
  close(ends[1]);
  return {.mutant = index, .process = process, .pipe = ends[0]};
}

/// False once the child has closed its end.
bool listen(Child& child) {
  char buffer[512];
  ssize_t const got = read(child.pipe, buffer, sizeof buffer);
  if (got > 0) {
    child.said.append(buffer, static_cast<std::size_t>(got));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

double seconds_of(timeval const& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
}

MutantOutcome bury(Child const& child, MutantPlan const& plan, Counter const& counted) {
  close(child.pipe);
  int status = 0;
  rusage used{};
  while (wait4(child.process, &status, 0, &used) < 0 && errno == EINTR) {
  }
  MutantOutcome outcome{.info = plan.mutants[child.mutant],
                        .operations = counted.load(),
                        .seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime)};
  if (!child.said.empty() && child.said.back() == '\n') {
    read_line(child.said, outcome);
    return outcome;
  }
  bool const hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  outcome.killed = true;
  outcome.invariants = {hung ? kHang : kCrash};
  ++outcome.operations;  // the one that it did not survive
  return outcome;
}

void note_killers(Failure const& failure, MutantOutcome& outcome) {
  outcome.killed = true;
  auto& ids = outcome.invariants;
  for (invariant::Violation const& violation : failure.violations) {
    if (std::find(ids.begin(), ids.end(), violation.id) == ids.end()) {
      ids.emplace_back(violation.id);
    }
  }
}

/// Waits up to half a second for any child to speak or end.
void wait_for(std::vector<Child> const& children, std::vector<pollfd>& ready) {
  constexpr int kMilliseconds = 500;
  ready.clear();
  for (Child const& child : children) {
    ready.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
  }
  if (poll(ready.data(), ready.size(), kMilliseconds) < 0) {
    for (pollfd& one : ready) {
      one.revents = 0;
    }
  }
}

/// Hears the children that are ready; those that have ended leave the list.
std::vector<Child> take_ended(std::vector<Child>& children, std::vector<pollfd> const& ready) {
  std::vector<Child> ended;
  for (std::size_t i = children.size(); i-- > 0;) {
    if (ready[i].revents != 0 && !listen(children[i])) {
      ended.push_back(children[i]);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return ended;
}

}  // namespace

MutantOutcome try_programs(MutantInfo const& info,
                           MutantPlan const& plan,
                           OperationCount& counted,
                           std::function<ProgramSource(RunnerOptions const& options)> const& make) {
  MutantOutcome outcome{.info = info};
  if (!select_mutant(info.name)) {
    return outcome;
  }
  ProgramSource const run =
      make({.compare = plan.compare,
            .device = {.system = plan.system, .is_simulated = plan.simulated || info.needs_streams},
            .faults = info.needs_faults,
            .on_step = [&](std::uint32_t, auto const&, auto const&, auto const&) { ++counted; }});
  for (std::uint64_t index = 0; !outcome.killed && outcome.operations < plan.budget; ++index) {
    alarm(kHangSeconds);
    ProgramResult const result = run(index);
    outcome.operations += result.counts.operations;
    if (outcome.reached == 0 && mutant_reached() != 0) {
      outcome.reached = outcome.operations;
    }
    if (result.failure) {
      note_killers(*result.failure, outcome);
    }
  }
  alarm(0);
  select_mutant("none");
  return outcome;
}

MutantSearch swarm_search(MutantPlan const& plan, std::optional<Flavor> flavor) {
  auto const swarm = std::make_shared<Swarm const>(plan.geometries, plan.seed, flavor);
  return [&plan, swarm](MutantInfo const& info, OperationCount& counted) {
    return try_programs(info, plan, counted, [&swarm](RunnerOptions const& options) {
      auto const runner = std::make_shared<SwarmRunner>(*swarm, options);
      return [&swarm, runner](std::uint64_t index) { return runner->run(swarm->program(index)); };
    });
  };
}

std::vector<MutantOutcome> run_mutants(MutantPlan const& plan, MutantSearch const& search) {
  SharedCounters const counters{plan.mutants.size()};
  std::vector<MutantOutcome> outcomes;
  for (MutantInfo const& info : plan.mutants) {
    outcomes.push_back({.info = info, .cut_short = true});
  }
  std::vector<Child> children;
  std::vector<pollfd> ready;
  std::size_t next = 0;
  while (next < plan.mutants.size() || !children.empty()) {
    if (plan.should_stop && plan.should_stop()) {
      for (Child const& child : children) {
        close(child.pipe);
        end_child(child.process);
      }
      break;
    }
    while (next < plan.mutants.size() && children.size() < std::max(plan.jobs, 1U)) {
      children.push_back(start_mutant(next, plan, search, counters[next]));
      ++next;
    }
    wait_for(children, ready);
    for (Child const& child : take_ended(children, ready)) {
      MutantOutcome& outcome = outcomes[child.mutant];
      outcome = bury(child, plan, counters[child.mutant]);
      if (plan.on_outcome) {
        plan.on_outcome(outcome);
      }
    }
    if (plan.on_progress) {
      plan.on_progress(counters.sum());
    }
  }
  return outcomes;
}

}  // namespace holdfast::fuzz
