// SPDX-License-Identifier: Apache-2.0
#include "fuzz/campaign/recover.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "fuzz/campaign/programs.hpp"
#include "fuzz/child.hpp"
#include "fuzz/clock.hpp"
#include "fuzz/codec.hpp"
#include "fuzz/files.hpp"
#include "fuzz/minimize.hpp"
#include "fuzz/verdict.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

constexpr unsigned kMostSeconds = 10;
constexpr double kMinimizeSeconds = 20;

/// A program of the swarm, written down by a child before each operation runs; none when it died
/// before the first.
std::optional<FoundProgram> record(std::uint64_t seed, std::uint64_t index) {
  constexpr std::size_t kMost = std::size_t{1} << 16U;
  SharedMemory const memory{kMost};
  auto* const text = static_cast<char*>(memory.base());
  std::size_t used = 0;
  static_cast<void>(wait_for_child(start_child([&] {
    alarm(kMostSeconds);
    Programs programs{seed, {.on_begin = [&](model::AnyOp const& op) {
                        std::string const line = model::text_of(op) + "\n";
                        if (used + line.size() < kMost) {
                          std::memcpy(text + used, line.data(), line.size());
                          used += line.size();
                        }
                      }}};
    static_cast<void>(programs.run(index));
    return 0;
  })));
  if (*text == '\0') {
    return std::nullopt;
  }
  Programs programs{seed, {}};
  model::Geometry const& geometry = programs.runner(index).geometry();
  model::Trace trace{.geometry = model::geometry_reference(geometry), .ops = {}};
  std::string const whole = model::print_trace(trace) + text;
  return FoundProgram{.geometry = geometry,
                      .device = {},
                      .ops = model::parse_trace(whole, "a recorded program").ops};
}

/// The program of the job; none when its input is not one.
std::optional<FoundProgram> program_of(Job const& job) {
  if (job.program) {
    return record(job.seed, *job.program);
  }
  try {
    model::Trace trace = load_program(job.input);
    return FoundProgram{.geometry = model::geometry_from_reference(trace.geometry),
                        .device = model::device_from(trace.device),
                        .ops = std::move(trace.ops)};
  } catch (model::InputError const&) {
    return std::nullopt;
  }
}

/// The last line of a log that says something of the failure itself. Before libFuzzer's word of a
/// signal stands what the target said.
std::string last_words(std::string const& log) {
  constexpr std::size_t kLongest = 200;
  std::string words;
  std::string before;
  std::istringstream lines{log};
  for (std::string line; std::getline(lines, line);) {
    bool const is_signal = line.find("ERROR: libFuzzer: deadly signal") != std::string::npos;
    bool const tells = line.find("ERROR: ") != std::string::npos ||
                       line.find("runtime error: ") != std::string::npos ||
                       line.find("contract broken") != std::string::npos;
    if (tells) {
      words = is_signal && !before.empty() ? before : line;
    }
    before = line.empty() || line.front() == '#' ? before : line;
  }
  return words.substr(0, kLongest);
}

std::string id_of(Job const& job, std::string const& death) {
  std::string const said = sanitizer_id(job.log);
  return said.empty() ? death : said;
}

/// The input that a target was at, or the words for a program that nothing is known of.
Reproducer as_it_stands(Job const& job) {
  std::string bytes = job.program ? "program " + std::to_string(*job.program) + " of seed " +
                                        std::to_string(job.seed) + "\n"
                                  : model::read_file(job.input);
  std::size_t const size = bytes.size();
  return {.bytes = std::move(bytes), .is_trace = false, .operations = size};
}

/// Nothing was seen a second time: all that is known is how the process ended.
Finding unseen(Job const& job, Reproducer reproducer) {
  std::string const words = last_words(job.log);
  return {
      .signature = {.id = id_of(job, job.death), .operation = "", .frames = frames_of(job.log)},
      .text = words.empty() ? "ended with " + job.death + ", and not when it was run again" : words,
      .reproducer = std::move(reproducer)};
}

/// Makes the program small that ends its process; a hang is left as it is: each look takes its time.
Finding finding_of(Job const& job, FoundProgram program, Verdict const& verdict) {
  program.ops = verdict.ops;
  if (verdict.ids.front() != "HANG") {
    auto const start = Clock::now();
    Minimized small =
        minimize({.geometry = program.geometry,
                  .ops = program.ops,
                  .device = program.device,
                  .hang_seconds = kMostSeconds,
                  .should_stop = [&] { return seconds_since(start) > kMinimizeSeconds; }});
    if (small.failed && !small.ops.empty()) {
      program.geometry = std::move(small.geometry);
      program.ops = std::move(small.ops);
    }
  }
  std::string const operation =
      program.ops.empty() ? "" : std::string{model::name_of(program.ops.back())};
  std::string const words = last_words(job.log);
  return {.signature = {.id = id_of(job, verdict.ids.front()),
                        .operation = operation,
                        .frames = frames_of(job.log)},
          .text = words.empty() ? "the process ended with " + verdict.ids.front() : words,
          .reproducer = trace_reproducer(program, 0)};
}

}  // namespace

Recovered recover(Job const& job) {
  std::optional<FoundProgram> program = program_of(job);
  if (!program) {
    return {.finding = unseen(job, as_it_stands(job))};
  }
  Verdict const verdict =
      judge_in_child(program->geometry, {.device = program->device}, program->ops, kMostSeconds);
  if (!verdict.failed) {
    // Of a text, what failed is perhaps not what the operations do, but how it says them.
    bool const is_text = !job.program && !is_program(model::read_file(job.input));
    return {.finding = unseen(job, is_text ? as_it_stands(job) : trace_reproducer(*program, 0))};
  }
  if (!verdict.died) {
    program->ops = verdict.ops;
    return {.lives = true, .program = std::move(*program), .finding = {}};
  }
  return {.finding = finding_of(job, std::move(*program), verdict)};
}

std::string sanitizer_id(std::string_view log) {
  struct Known {
    std::string_view mark;
    char const* name;
  };
  constexpr Known kKnown[] = {{"ERROR: AddressSanitizer: ", "ASAN "},
                              {"ERROR: LeakSanitizer: ", "LSAN "},
                              {"WARNING: ThreadSanitizer: ", "TSAN "},
                              {"ERROR: ThreadSanitizer: ", "TSAN "}};  // a deadly signal
  for (Known const& known : kKnown) {
    if (std::size_t const at = log.find(known.mark); at != std::string_view::npos) {
      std::string_view const rest = log.substr(at + known.mark.size());
      return known.name + std::string{rest.substr(0, rest.find_first_of(" \n("))};
    }
  }
  return log.find(": runtime error: ") == std::string_view::npos ? "" : "UBSAN";
}

Reproducer trace_reproducer(FoundProgram const& program, double seconds) {
  return {.bytes = model::print_trace({.geometry = model::geometry_reference(program.geometry),
                                       .device = model::text_of(program.device),
                                       .ops = program.ops}),
          .operations = program.ops.size(),
          .seconds = seconds};
}

}  // namespace holdfast::fuzz
