// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/target.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <holdfast/cuda.hpp>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "fuzz/flight_recorder.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/run.hpp"

namespace holdfast::fuzz {
namespace {

#ifdef HOLDFAST_CUDA_TARGET
constexpr char const* kUsualDevice = "cuda";
constexpr bool kHasCuda = true;
#else
constexpr char const* kUsualDevice = "";
constexpr bool kHasCuda = false;
#endif

struct Options {
  std::string mutant;
  std::string findings;
  std::string device = kUsualDevice;
  std::string flight;
  std::uint64_t budget = UINT64_MAX;  // operations
};

/// What --tally keeps; in memory alone when nobody asked.
struct Tally {
  std::uint64_t operations = 0;
  std::uint64_t reached = 0;
};

Options& options() {
  static Options known;
  return known;
}

Tally own_tally;
Tally* tally = &own_tally;

void (*finding_hook)(std::string const& text) = nullptr;

FlightRecorder& flight() {
  static auto& known = *new FlightRecorder{options().flight};  // its file stays
  return known;
}

[[noreturn]] void refuse(std::string const& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);  // NOLINT(concurrency-mt-unsafe): before any thread
}

/// Keeps the tally in a file that outlives whatever ends this process.
void keep_tally(std::string const& path) {
  constexpr mode_t kMode = 0644;
  int const file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  void* const memory =
      file >= 0 && ftruncate(file, sizeof(Tally)) == 0
          ? mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
          : MAP_FAILED;
  if (memory == MAP_FAILED) {
    refuse(path + ": cannot be written: " + std::generic_category().message(errno));
  }
  close(file);
  tally = ::new (memory) Tally;
}

/// libFuzzer takes an exception of its target for a crash.
void open_flight() {
  try {
    static_cast<void>(flight());
  } catch (std::runtime_error const& error) {
    refuse(std::string{"--flight="} + error.what());
  }
}

/// Adds what a program did; ends the process when that was enough.
void note_operations(ProgramResult const& result) {
  tally->operations += result.counts.operations;
  if (tally->reached == 0 && mutant_reached() != 0) {
    tally->reached = tally->operations;
  }
  if (!result.failure && tally->operations >= options().budget) {
    std::fflush(stderr);
    _exit(0);  // libFuzzer takes an exit() of its target for a crash
  }
}

/// Ends the process where there is none.
void need_cuda_device() {
  auto const count = cuda_device_count();
  if (!count || *count == 0) {
    std::fprintf(stderr,
                 "SKIPPED: no CUDA device: %s\n",
                 count ? "there is none" : describe(count.error()).c_str());
    _exit(3);  // libFuzzer takes an exit() of its target for a crash
  }
}

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
  std::fwrite(text.data(), 1, text.size(), stderr);  // it may have zeros
  std::fflush(stderr);
  std::abort();
}

model::DeviceChoice chosen_device() {
  return {.is_simulated = options().device == "sim", .is_cuda = options().device == "cuda"};
}

void keep_flights(RunnerOptions& made) {
  if (!options().flight.empty()) {
    made.on_begin = [](model::AnyOp const& op) { flight().note(op); };
  }
}

std::size_t run_program(Runner& runner,
                        std::vector<model::AnyOp> const& ops,
                        model::DeviceChoice const& devices) {
  if (!options().flight.empty()) {
    flight().start({.geometry = model::geometry_reference(runner.geometry()),
                    .device = model::text_of(devices)});
  }
  ProgramResult const ran = runner.run_ops(ops, devices.seed);
  note_operations(ran);
  if (!ran.failure) {
    return runner.ops().size();
  }
  // A failed CUDA device ends what runs on it, so that nothing is run again in this process.
  FailedProgram failed =
      devices.is_cuda ? failed_program(runner.geometry(), *ran.failure, runner.ops(), devices)
                      : explain_failure(runner.geometry(), runner.ops(), true, devices);
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
  std::string budget;
  std::string tally_path;
  for (int i = 1; i < *argc; ++i) {
    std::string_view const word = (*argv)[i];
    static_cast<void>(read_option(word, "--findings=", options().findings));
    static_cast<void>(read_option(word, "--mutant=", options().mutant));
    static_cast<void>(read_option(word, "--device=", options().device));
    static_cast<void>(read_option(word, "--flight=", options().flight));
    static_cast<void>(read_option(word, "--tally=", tally_path));
    static_cast<void>(read_option(word, "--budget=", budget));
  }
  char const* const end = budget.data() + budget.size();
  if (auto const [stop, error] = std::from_chars(budget.data(), end, options().budget);
      !budget.empty() && (error != std::errc{} || stop != end)) {
    refuse("--budget=" + budget + ": is not followed by a number");
  }
  if (std::string const& device = options().device;
      device != kUsualDevice && !device.empty() && device != "sim") {
    refuse("--device=" + device + ": is not known; known: sim" + (kHasCuda ? ", cuda" : ""));
  }
  if (options().device == "cuda") {
    need_cuda_device();
  }
  if (!tally_path.empty()) {
    keep_tally(tally_path);
  }
  if (!options().flight.empty()) {
    open_flight();
  }
  if (!options().mutant.empty() && !select_mutant(options().mutant)) {
    refuse((*argv)[0] + std::string{": there is no mutant '"} + options().mutant +
           "' in this program" +
           (has_mutants() ? "" : "; its twin with -mutants in its name has them"));
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
