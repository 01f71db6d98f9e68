// SPDX-License-Identifier: Apache-2.0
// holdfast doctor: what this machine and this build have, and what is left out for want of it.
#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <holdfast/cuda.hpp>
#include <thread>

#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/subprocess.hpp"
#include "tools/targets.hpp"
#include "tools/terminal.hpp"

namespace holdfast::tools {
namespace {

/// One thing that may be there.
struct Finding {
  char const* name;
  std::string found;     // what it is; empty: it is not there
  std::string missing;   // why not, where that is known
  char const* left_out;  // what is left out without it
};

/// The first line that a program says of its version.
Finding program(char const* name, char const* left_out) {
  auto const said = output_of({name, "--version"});
  std::string const line = said ? said->substr(0, said->find('\n')) : "";
  return {name, line.empty() && said ? "here" : line, "not in PATH", left_out};
}

Finding file(char const* name, std::string const& path, char const* left_out) {
  bool const is_there = !path.empty() && access(path.c_str(), X_OK) == 0;
  return {name, is_there ? path : "", "not built", left_out};
}

Finding devices() {
  constexpr char const* kLeftOut = "tests and runs on GPUs are skipped";
  auto const count = cuda_device_count();
  if (!count) {
    return {"CUDA devices", "", describe(count.error()), kLeftOut};
  }
  return {"CUDA devices", *count == 0 ? "" : std::to_string(*count), "no device", kLeftOut};
}

std::vector<Finding> all_findings() {
  return {
      file("seeded bugs", beside("holdfast-mutants"), "--mutant, mutants and gate do not run"),
      file("libFuzzer targets",
           driven_target("fuzz_interleave", false),
           "campaigns have swarm alone; ./dev campaign builds them"),
      file("sanitizer build",
           in_preset("asan", "holdfast"),
           "campaigns do not run new units with sanitizers; ./dev build asan makes it"),
      devices(),
      program("g++", "./dev installs it where it can"),
      program("clang++", "no sanitizers, no libFuzzer; ./dev installs it where it can"),
      program("cmake", "./dev installs it where it can"),
      program("nvcc", "the library is built without CUDA, unless it is in /usr/local/cuda/bin"),
      program("compute-sanitizer", "memory checks on GPUs are skipped"),
      program("llvm-symbolizer", "sanitizers report addresses instead of names"),
      program("sbatch", "campaigns run on this machine alone, and the Slurm test is skipped"),
      program("git", "the seed of gate must be given"),
  };
}

}  // namespace

int execute(DoctorOptions const& options) {
  std::vector<Finding> const findings = all_findings();
  std::string const sanitizers = HOLDFAST_SANITIZERS;
  unsigned const threads = std::thread::hardware_concurrency();
  if (options.json) {
    Json json = {{"version", HOLDFAST_VERSION},
                 {"compiler", HOLDFAST_COMPILER},
                 {"build", HOLDFAST_BUILD},
                 {"sanitizers", sanitizers.empty() ? Json() : Json(sanitizers)},
                 {"threads", threads},
                 {"findings", Json::array()}};
    for (Finding const& one : findings) {
      bool const is_there = !one.found.empty();
      json["findings"].push_back({{"name", one.name},
                                  {"found", is_there ? Json(one.found) : Json()},
                                  {"missing", is_there ? Json() : Json(one.missing)},
                                  {"left_out", is_there ? Json() : Json(one.left_out)}});
    }
    print(text_of(json));
    return kExitHeld;
  }
  std::string text = fmt::format("holdfast {}, {}, {}{}, {} threads\n",
                                 HOLDFAST_VERSION,
                                 HOLDFAST_COMPILER,
                                 HOLDFAST_BUILD,
                                 sanitizers.empty() ? "" : " with " + sanitizers,
                                 threads);
  for (Finding const& one : findings) {
    text +=
        one.found.empty()
            ? fmt::format("  -   {:<18} {}: {}\n", one.name, one.missing, one.left_out)
            : fmt::format("  {}  {:<18} {}\n", in_colour(Colour::kGood, "ok"), one.name, one.found);
  }
  print(text);
  return kExitHeld;
}

}  // namespace holdfast::tools
