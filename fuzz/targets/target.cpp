// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/target.hpp"

#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"

namespace holdfast::fuzz {
namespace {

struct Options {
  std::string mutant;
  std::string findings;
};

Options& options() {
  static Options known;
  return known;
}

void (*finding_hook)(std::string const& text) = nullptr;

bool read_option(std::string_view word, std::string_view name, std::string& value) {
  if (word.substr(0, name.size()) != name) {
    return false;
  }
  value = word.substr(name.size());
  return true;
}

/// Where the trace was written; empty when that was not asked for.
std::string save_finding(std::string const& trace, std::string const& ids) {
  if (options().findings.empty()) {
    return {};
  }
  char name[32];
  std::snprintf(name,
                sizeof name,
                "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(trace.data(), trace.size())));
  std::string const path = options().findings + "/" + ids + "-" + name + ".trace";
  std::ofstream file{path, std::ios::binary};
  file << trace;
  return file.flush() ? path : "";
}

}  // namespace

void set_finding_hook(void (*hook)(std::string const& text)) {
  finding_hook = hook;
}

void report_finding(std::string const& text) {
  if (finding_hook != nullptr) {
    finding_hook(text);
  }
  std::fprintf(stderr, "%s", text.c_str());
  std::fflush(stderr);
  std::abort();
}

std::size_t run_program(Runner& runner, std::vector<model::AnyOp> const& ops) {
  if (!runner.run_ops(ops).failure) {
    return runner.ops().size();
  }
  FailedProgram failed = explain_failure(runner.geometry(), runner.ops(), true);
  std::string ids;
  for (invariant::Violation const& violation : failed.failure.violations) {
    if (ids.find(violation.id) == std::string::npos) {
      ids += (ids.empty() ? "" : "+") + std::string{violation.id};
    }
  }
  failed.trace.comments.push_back(
      " violates " + ids + "; mutant: " + (options().mutant.empty() ? "none" : options().mutant));
  std::string const trace = model::print_trace(failed.trace);
  std::string text = trace;
  if (failed.failure.violations.empty()) {
    text += "the program failed once, and held when it was run again\n";
  } else {
    text += describe_failure(failed.failure, failed.trace.ops);
  }
  std::string const saved = save_finding(trace, ids.empty() ? "unstable" : ids);
  text += "reproduce with:\nholdfast replay " + (saved.empty() ? "UNIT" : saved);
  text += options().mutant.empty() ? "" : " --mutant " + options().mutant;
  text += saved.empty() ? "  (UNIT is the file that the engine writes)\n" : "\n";
  report_finding(text);
}

}  // namespace holdfast::fuzz

extern "C" {

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace holdfast::fuzz;  // NOLINT(google-build-using-namespace): outside any namespace
  for (int i = 1; i < *argc; ++i) {
    std::string_view const word = (*argv)[i];
    static_cast<void>(read_option(word, "--findings=", options().findings));
    static_cast<void>(read_option(word, "--mutant=", options().mutant));
  }
  if (!options().mutant.empty() && !select_mutant(options().mutant)) {
    std::fprintf(stderr,
                 "%s: there is no mutant '%s' in this program%s\n",
                 (*argv)[0],
                 options().mutant.c_str(),
                 has_mutants() ? "" : "; its twin with -mutants in its name has them");
    std::exit(2);  // NOLINT(concurrency-mt-unsafe): before any thread
  }
  return 0;
}

/// Small quarantines: programs are short, and their memory is one arena.
char const* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): the sanitizer's
  return "quarantine_size_mb=16:malloc_context_size=8:detect_stack_use_after_return=0:"
         "protect_shadow_gap=0";
}

char const* __ubsan_default_options() {  // NOLINT(bugprone-reserved-identifier): the sanitizer's
  return "print_stacktrace=1";
}
}
