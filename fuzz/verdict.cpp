// SPDX-License-Identifier: Apache-2.0
// A child says its verdict in shared memory: what it wrote before it died is there.
#include "fuzz/verdict.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>
#include <variant>

#include "fuzz/child.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::uint32_t kMostIds = 16;
constexpr std::size_t kLongestId = 32;  // and name of a spec

/// What child and parent share; behind it one byte for each operation, set before it runs.
struct Said {
  bool done;
  bool failed;
  bool at_end;
  struct Names {
    std::uint32_t count;
    char names[kMostIds][kLongestId];

    void take(std::vector<std::string> const& all) noexcept {
      for (std::string const& name : all) {
        if (count < kMostIds) {
          std::strncpy(names[count++], name.c_str(), kLongestId - 1);
        }
      }
    }
    [[nodiscard]] std::vector<std::string> all() const { return {names, names + count}; }
  };
  Names ids;
  Names specs;

  [[nodiscard]] std::uint8_t* ran() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

void say(Verdict const& verdict, Said& shared) {
  shared.failed = verdict.failed;
  shared.at_end = verdict.at_end;
  shared.ids.take(verdict.ids);
  shared.specs.take(verdict.specs);
  shared.done = true;
}

/// Name of the spec that makes a plane; "" for none.
char const* spec_of(std::string_view plane) {
  char const* name = "";
  auto const look = [&]<typename Spec>(Spec const* /*of*/) {
    for (PlaneTrait const& trait : Spec::kPlanes) {
      name = trait.name == plane ? Spec::kName : name;
    }
  };
  [&]<typename... Specs>(std::variant<Specs...> const* /*of*/) {
    (look(static_cast<Specs const*>(nullptr)), ...);
  }(static_cast<PlaneSpec const*>(nullptr));
  return name;
}

void add_once(char const* name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.emplace_back(name);
  }
}

Verdict verdict_of(Runner const& runner, ProgramResult const& result) {
  Verdict verdict{.ops = runner.ops()};
  if (result.failure) {
    verdict.failed = true;
    verdict.at_end = result.failure->at_end;
    for (invariant::Violation const& violation : result.failure->violations) {
      add_once(violation.id, verdict.ids);
      if (char const* const spec = spec_of(violation.plane); *spec != '\0') {
        add_once(spec, verdict.specs);
      }
    }
  }
  return verdict;
}

std::string killer_of(int status) {
  if (!WIFSIGNALED(status)) {
    return "EXIT " + std::to_string(WEXITSTATUS(status));
  }
  return WTERMSIG(status) == SIGALRM ? "HANG" : "SIGNAL " + std::to_string(WTERMSIG(status));
}

}  // namespace

Verdict judge(Runner& runner, std::span<model::AnyOp const> ops) {
  return verdict_of(runner, runner.run_ops(ops));
}

Verdict judge_in_child(model::Geometry const& geometry,
                       RunnerOptions const& options,
                       std::span<model::AnyOp const> ops,
                       unsigned seconds) {
  SharedMemory const memory{sizeof(Said) + ops.size()};
  auto* const shared = static_cast<Said*>(memory.base());
  int const status = wait_for_child(start_child([&] {
    alarm(seconds);
    Runner runner{geometry, options};
    std::size_t next = 0;
    ProgramResult const result = runner.run([&](model::AnyOp& op) {
      while (next < ops.size()) {
        op = ops[next++];
        if (std::visit([&](auto const& known) { return known.precondition(runner.model()); }, op)) {
          shared->ran()[next - 1] = 1;
          return true;
        }
      }
      return false;
    });
    say(verdict_of(runner, result), *shared);
    return 0;
  }));
  Verdict verdict{.failed = shared->failed,
                  .at_end = shared->at_end,
                  .ids = shared->ids.all(),
                  .specs = shared->specs.all()};
  if (!shared->done) {
    verdict.failed = true;
    verdict.died = true;
    verdict.ids = {killer_of(status)};
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (shared->ran()[i] != 0) {
      verdict.ops.push_back(ops[i]);
    }
  }
  return verdict;
}

}  // namespace holdfast::fuzz
