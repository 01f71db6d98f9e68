// SPDX-License-Identifier: Apache-2.0
// A search in one child process, as fast as programs run; when a candidate takes it down, or the
// program itself does, the same search with a child for each candidate.
#include "fuzz/minimize.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "fuzz/child.hpp"
#include "fuzz/minimize_search.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {
namespace {

using model::AnyOp;
using model::Geometry;

RunnerOptions options_of(MinimizePlan const& plan, std::uint32_t deep_every) {
  RunnerOptions options{
      .compare = plan.compare, .deep_every = deep_every, .watch_one_in = 1, .device = plan.device};
  if (plan.on_operation) {
    options.on_step = [&plan](std::uint32_t, AnyOp const& op, auto const&, auto const&) {
      plan.on_operation(op);
    };
  }
  return options;
}

/// Judges in this process; keeps a runner for each geometry.
class HereJudge {
 public:
  HereJudge(RunnerOptions options, unsigned hang_seconds)
      : options_{std::move(options)}, hang_seconds_{hang_seconds} {}

  Verdict operator()(Geometry const& geometry, std::span<AnyOp const> ops) {
    auto& runner = runners_[geometry.text];
    if (!runner) {
      runner = std::make_unique<Runner>(geometry, options_);
    }
    alarm(hang_seconds_);
    Verdict verdict = judge(*runner, ops);
    alarm(0);
    return verdict;
  }

 private:
  RunnerOptions options_;
  unsigned hang_seconds_;
  std::map<std::string, std::unique_ptr<Runner>> runners_;
};

/// What the searching child and its parent share.
struct Control {
  std::atomic<std::uint64_t> candidates;
  std::atomic<std::uint64_t> operations;
  std::atomic<bool> stop;
};

/// One line of numbers, then the trace.
std::string text_of(MinimizeSearch const& search) {
  return std::to_string(search.candidates()) + "\n" +
         model::print_trace(
             {.geometry = model::geometry_reference(search.geometry()), .ops = search.ops()});
}

void write_all(int pipe, std::string_view text) {
  while (!text.empty()) {
    ssize_t const written = write(pipe, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), "pipe"};
    }
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

void watch(MinimizePlan const& plan, Control& control) {
  if (plan.on_progress) {
    plan.on_progress(control.candidates.load(), static_cast<std::size_t>(control.operations));
  }
  if (plan.should_stop && plan.should_stop()) {
    control.stop = true;
  }
}

/// What the child says until it closes its end; looks after the callbacks meanwhile.
std::string listen(int pipe, MinimizePlan const& plan, Control& control) {
  constexpr int kMilliseconds = 500;
  std::string said;
  for (;;) {
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kMilliseconds) <= 0) {
      watch(plan, control);
      continue;
    }
    char buffer[4096];
    ssize_t const got = read(pipe, buffer, sizeof buffer);
    if (got > 0) {
      said.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return said;
    }
  }
}

/// The search in a child; false when the child did not survive it.
bool search_here(MinimizePlan const& plan,
                 Wanted const& wanted,
                 std::uint32_t deep_every,
                 Minimized& found) {
  SharedMemory const memory{sizeof(Control)};
  Control& control = *::new (memory.base()) Control{};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe"};
  }
  pid_t const child = start_child([&] {
    close(ends[0]);
    auto judge_here = std::make_shared<HereJudge>(options_of(plan, deep_every), plan.hang_seconds);
    MinimizeSearch search{found.geometry,
                          found.ops,
                          wanted,
                          [judge_here](Geometry const& geometry, std::span<AnyOp const> ops) {
                            return (*judge_here)(geometry, ops);
                          },
                          [&](std::uint64_t candidates, std::size_t operations) {
                            control.candidates = candidates;
                            control.operations = operations;
                            return !control.stop.load();
                          }};
    search.run();
    write_all(ends[1], text_of(search));
    return 0;
  });
  close(ends[1]);
  std::string const said = listen(ends[0], plan, control);
  close(ends[0]);
  int const status = wait_for_child(child);
  found.candidates += control.candidates.load();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return false;
  }
  std::size_t const line = said.find('\n');
  model::Trace const trace = model::parse_trace(said.substr(line + 1), "minimized");
  found.geometry = model::geometry_from_reference(trace.geometry);
  found.ops = trace.ops;
  return true;
}

/// The search with a child for each candidate.
void search_in_children(MinimizePlan const& plan,
                        Wanted const& wanted,
                        std::uint32_t deep_every,
                        Minimized& found) {
  constexpr std::uint64_t kShowEvery = 64;
  MinimizeSearch search{found.geometry,
                        found.ops,
                        wanted,
                        [&](Geometry const& geometry, std::span<AnyOp const> ops) {
                          return judge_in_child(
                              geometry, options_of(plan, deep_every), ops, plan.hang_seconds);
                        },
                        [&](std::uint64_t candidates, std::size_t operations) {
                          if (plan.on_progress && candidates % kShowEvery == 0) {
                            plan.on_progress(found.candidates + candidates, operations);
                          }
                          return !plan.should_stop || !plan.should_stop();
                        }};
  search.run();
  found.candidates += search.candidates();
  found.geometry = search.geometry();
  found.ops = search.ops();
}

}  // namespace

Minimized minimize(MinimizePlan const& plan) {
  std::uint32_t const usual = RunnerOptions{}.deep_every;
  auto const run = [&](Geometry const& geometry, std::span<AnyOp const> ops, std::uint32_t deep) {
    return judge_in_child(geometry, options_of(plan, deep), ops, plan.hang_seconds);
  };
  Verdict const first = run(plan.geometry, plan.ops, usual);
  Minimized found{.failed = first.failed,
                  .died = first.died,
                  .at_end = first.at_end,
                  .ids = first.ids,
                  .geometry = plan.geometry,
                  .ops = first.ops,
                  .candidates = 1};
  if (!first.failed || first.ops.empty()) {
    return found;
  }
  auto const search = [&](Wanted const& wanted, std::uint32_t deep_every, Minimized from) {
    if (first.died || !search_here(plan, wanted, deep_every, from)) {
      search_in_children(plan, wanted, deep_every, from);
    }
    return from;
  };
  if (plan.keep != Keep::kViolation) {
    Wanted wanted = Wanted::of(first);
    wanted.keep = plan.keep;
    Minimized small = search(wanted, 1, found);
    small.ids = run(small.geometry, small.ops, 1).ids;
    return small;
  }
  // What a check of everything found may have been there for long: the operation after which it
  // shows first is the one that did it.
  bool const found_late = first.at_end || first.ops.size() % usual == 0;
  if (found_late && !first.died) {
    Verdict sharp = run(plan.geometry, plan.ops, 1);
    sharp.ids = common_ids(first.ids, sharp.ids);
    if (sharp.failed && !sharp.died && !sharp.ids.empty()) {
      Minimized from = found;
      from.ops = sharp.ops;
      Minimized small = search(Wanted::of(sharp), 1, from);
      Verdict const last = run(small.geometry, small.ops, usual);
      small.ids = common_ids(sharp.ids, last.ids);
      small.at_end = last.at_end;
      if (last.failed && !small.ids.empty()) {
        return small;
      }
    }
  }
  Minimized small = search(Wanted::of(first), usual, found);
  small.ids = common_ids(first.ids, run(small.geometry, small.ops, usual).ids);
  return small;
}

}  // namespace holdfast::fuzz
