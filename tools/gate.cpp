// SPDX-License-Identifier: Apache-2.0
// holdfast gate: whether a change may be merged.
#include "fuzz/gate.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "fuzz/gate_checks.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/points.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/subprocess.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using fuzz::GateCase;

constexpr std::uint32_t kFormPrograms = 2000;         // of each geometry
constexpr std::uint32_t kDeterminismPrograms = 1000;  // of each geometry
constexpr std::uint32_t kExhaustiveDepth = 3;
constexpr std::uint64_t kPointOperations = 2'000'000;
// Of the budget; the rest is for machines that are slower than they seem.
constexpr double kShare = 0.85;
constexpr double kLeastRandom = 1;  // seconds, however little the fixed parts left

/// A gate that runs, with what its reports need.
struct Gate {
  GateOptions const& options;
  fuzz::GateContext context;
  std::vector<GateCase> cases;
  double seconds = 0;

  [[nodiscard]] std::uint64_t skipped() const {
    return static_cast<std::uint64_t>(std::count_if(
        cases.begin(), cases.end(), [](GateCase const& one) { return !one.skipped.empty(); }));
  }
  [[nodiscard]] std::uint64_t failed() const {
    return static_cast<std::uint64_t>(std::count_if(
        cases.begin(), cases.end(), [](GateCase const& one) { return !one.failure.empty(); }));
  }
};

std::string command_for(GateOptions const& options, std::vector<std::string> words) {
  words.insert(words.begin(), invoked_name());
  append_judging(words, options.mutant, true);
  if (options.corpus != kDefaultCorpus && words[1] == "gate") {
    words.insert(words.end(), {"--corpus", options.corpus});
  }
  return command_of(words);
}

bool is_wanted(GateOptions const& options, std::string const& part) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), part) != options.only.end();
}

std::vector<fuzz::GateTrace> load_corpus(std::string const& folder) {
  std::vector<fuzz::GateTrace> traces;
  TraceLoader loader;
  for (std::string const& path : traces_below(folder)) {
    LoadedTrace loaded = loader.load(path);
    traces.push_back({path,
                      *loaded.geometry,
                      std::move(loaded.trace.ops),
                      model::device_from(loaded.trace.device)});
  }
  return traces;
}

/// Every mutant dies: asked of the program that has them.
void check_mutants(fuzz::GateVoice& voice, fuzz::GateContext const& context) {
  std::string const program = beside("holdfast-mutants");
  voice.begin("program", context.command({"mutants"}));
  Captured const captured = run_program({program, "mutants", "--json"});
  bool const is_told = WIFEXITED(captured.status) && WEXITSTATUS(captured.status) <= kExitViolation;
  voice.end(is_told ? "" : program + " mutants --json: " + captured.err);
  if (!is_told) {
    return;
  }
  Json const json = Json::parse(captured.out);
  for (Json const& kill : json.at("kills")) {
    auto const name = kill.at("mutant").get<std::string>();
    voice.begin(name, context.command({"mutants", "--only", name}));
    voice.end("");
  }
  for (Json const& survivor : json.at("survivors")) {
    auto const name = survivor.get<std::string>();
    voice.begin(name, context.command({"mutants", "--only", name}));
    voice.end(fmt::format("survived {} operations", json.at("budget").get<std::uint64_t>()));
  }
}

/// Every point that some run must meet is met: asked of the program that has them all.
void check_points(fuzz::GateVoice& voice, fuzz::GateContext const& context) {
  // With one seed, so that a point that goes cold says something of the change, not of the commit.
  std::vector<std::string> words = {"run",
                                    "--sometimes",
                                    "--seed",
                                    std::to_string(kDefaultSeed),
                                    "--ops",
                                    std::to_string(kPointOperations)};
  std::string const command = context.command(words);
  voice.begin("program", command);
  words.insert(words.begin(), beside("holdfast-mutants"));
  words.insert(words.end(), {"--threads", "1", "--json"});
  Captured const captured = run_program(words);
  bool const is_well = WIFEXITED(captured.status) && WEXITSTATUS(captured.status) == kExitHeld;
  voice.end(is_well ? "" : command + ": " + captured.out + captured.err);
  if (!is_well) {
    return;
  }
  auto const never = Json::parse(captured.out).at("sometimes").at("never");
  for (fuzz::PointInfo const& point : fuzz::all_points()) {
    bool const is_met = std::find(never.begin(), never.end(), point.name) == never.end();
    voice.begin(point.name, command);
    voice.end(is_met ? ""
                     : fmt::format("never met in {} operations: {}", kPointOperations, point.text));
  }
}

/// The parts whose work does not depend on the time that is left.
std::vector<fuzz::GatePart> fixed_parts(Gate const& gate) {
  GateOptions const& options = gate.options;
  std::vector<fuzz::GatePart> parts;
  auto const add = [&](fuzz::GatePart part) {
    if (is_wanted(options, part.name)) {
      parts.push_back(std::move(part));
    }
  };
  add(fuzz::canary_part(gate.context, options.mute_canary));
  if (is_wanted(options, "corpus")) {
    add(fuzz::corpus_part(gate.context, load_corpus(options.corpus)));
  }
  add(fuzz::geometry_part(gate.context));
  add(fuzz::forms_part(gate.context, kFormPrograms));
  if (!options.mutant) {  // they exclude each other
    add({"mutants", [&gate](fuzz::GateVoice& voice) { check_mutants(voice, gate.context); }});
  }
  if (!options.mutant) {
    add({"sometimes", [&gate](fuzz::GateVoice& voice) { check_points(voice, gate.context); }});
  }
  add(fuzz::determinism_part(gate.context, kDeterminismPrograms));
  add(fuzz::exhaustive_part(gate.context, kExhaustiveDepth));
  return parts;
}

std::string progress_line(std::vector<GateCase> const& cases, double seconds, double budget) {
  std::map<std::string, int> counts;
  for (GateCase const& one : cases) {
    ++counts[one.failure.empty() ? "hold" : "FAILED"];
  }
  std::string text = duration_text(seconds) + ":";
  for (auto const& [what, count] : counts) {
    text += fmt::format(" {} {}", count, what);
  }
  text += fmt::format(" ({:.0f}/s)", rate_of(cases.size(), seconds));
  if (!cases.empty()) {
    text += ", last " + cases.back().part + " " + cases.back().name;
  }
  return text + (seconds < budget ? "; " + duration_text(budget - seconds) + " left of the budget"
                                  : "; past the budget of " + duration_text(budget));
}

void run_parts(Gate& gate, std::vector<fuzz::GatePart> parts, std::uint32_t jobs) {
  Progress progress;
  double const before = gate.seconds;
  std::vector<GateCase> done;
  std::vector<GateCase> cases = fuzz::run_gate(
      {.parts = std::move(parts),
       .jobs = jobs,
       .now = [&] { return progress.seconds(); },
       .on_progress =
           [&](GateCase const* one) {
             if (one != nullptr) {
               done.push_back(*one);
             }
             progress.show(progress_line(done, before + progress.seconds(), gate.options.budget));
           },
       .should_stop = was_interrupted});
  gate.seconds += progress.seconds();
  gate.cases.insert(gate.cases.end(), cases.begin(), cases.end());
}

std::string part_line(std::vector<GateCase> const& cases, std::string const& part) {
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  double seconds = 0;
  for (GateCase const& one : cases) {
    if (one.part == part && one.skipped.empty()) {
      ++count;
      failed += one.failure.empty() ? 0U : 1U;
      seconds += one.seconds;
    }
  }
  if (count == 0) {
    return "";  // an interrupt came first
  }
  return fmt::format("{:<12} {:<10} {:>7.1f} s  {}\n",
                     part,
                     counted(count, "case"),
                     seconds,
                     failed == 0 ? in_colour(Colour::kGood, "holds")
                                 : in_colour(Colour::kBad, fmt::format("{} FAILED", failed)));
}

std::string summary(Gate const& gate) {
  std::string text;
  std::vector<std::string> parts;
  for (GateCase const& one : gate.cases) {
    if (std::find(parts.begin(), parts.end(), one.part) == parts.end()) {
      parts.push_back(one.part);
      text += part_line(gate.cases, one.part);
    }
  }
  text += fmt::format("seed         {}\n", gate.context.seed);
  if (gate.options.mutant) {
    text += fmt::format("mutant       {}\n", *gate.options.mutant);
  }
  if (gate.failed() == 0 && was_interrupted()) {
    return text + fmt::format("{}: {} held until then, in {:.1f} s\n",
                              in_colour(Colour::kNotice, "interrupted"),
                              counted(gate.cases.size() - gate.skipped(), "case"),
                              gate.seconds);
  }
  if (gate.seconds > gate.options.budget) {
    text += fmt::format("budget       {}, exceeded by what is never cut short\n",
                        duration_text(gate.options.budget));
  }
  text += fmt::format("{}: {} of {} in {:.1f} s\n",
                      gate.failed() == 0 ? in_colour(Colour::kGood, "gate holds")
                                         : in_colour(Colour::kBad, "gate FAILED"),
                      gate.failed() == 0 ? "all" : std::to_string(gate.failed()) + " cases",
                      counted(gate.cases.size(), "case"),
                      gate.seconds);
  return text;
}

std::string failures(Gate const& gate) {
  constexpr std::uint64_t kMost = 10;
  std::string text;
  std::uint64_t shown = 0;
  if (gate.failed() > kMost) {
    text = fmt::format("\nthe first {} of {} failures (--junit has all):\n", kMost, gate.failed());
  }
  for (GateCase const& one : gate.cases) {
    if (!one.failure.empty() && shown++ < kMost) {
      text += fmt::format("\n{}: {}\n{}{}",
                          one.part,
                          one.name,
                          one.failure,
                          one.failure.back() == '\n' ? "" : "\n") +
              reproduce_with(one.reproduce);
    }
  }
  return text;
}

Json gate_json(Gate const& gate) {
  Json cases = Json::array();
  for (GateCase const& one : gate.cases) {
    if (!one.skipped.empty()) {
      continue;
    }
    bool const holds = one.failure.empty();
    cases.push_back({{"part", one.part},
                     {"name", one.name},
                     {"holds", holds},
                     {"seconds", one.seconds},
                     {"failure", holds ? Json() : Json(one.failure)},
                     {"reproduce", holds ? Json() : Json(one.reproduce)}});
  }
  return {{"holds", gate.failed() == 0 && !was_interrupted()},
          {"interrupted", was_interrupted()},
          {"cases", cases.size()},
          {"failed", gate.failed()},
          {"seconds", gate.seconds},
          {"budget", gate.options.budget},
          {"seed", gate.context.seed},
          {"mutant", gate.options.mutant ? Json(*gate.options.mutant) : Json()},
          {"results", std::move(cases)}};
}

std::uint64_t seed_for(GateOptions const& options) {
  if (options.seed) {
    return *options.seed;
  }
  if (auto const commit = commit_here()) {
    return read_seed(*commit);
  }
  complain(fmt::format("no git commit here; the seed is {}", kDefaultSeed));
  return kDefaultSeed;
}

void check_twin() {
  std::error_code error;
  if (!fs::exists(beside("holdfast-mutants"), error)) {
    throw EnvironmentError{beside("holdfast-mutants") + ": is not there, and mutants need it"};
  }
}

}  // namespace

int execute(GateOptions const& options) {
  Gate gate{.options = options,
            .context = {.geometries = load_geometries({}), .seed = seed_for(options)}};
  gate.context.command = [&](std::vector<std::string> words) {
    return command_for(options, std::move(words));
  };
  if (options.junit) {
    check_writable(*options.junit);
    if (is_wanted(options, "corpus")) {
      check_spares(*options.junit, traces_below(options.corpus));
    }
  }
  if (!options.mutant && (is_wanted(options, "mutants") || is_wanted(options, "sometimes"))) {
    check_twin();
  }
  turn_on_mutant(options.mutant);
  catch_interrupts();
  std::uint32_t const jobs = std::max(1U, std::thread::hardware_concurrency());
  run_parts(gate, fixed_parts(gate), jobs);
  if (is_wanted(options, "random") && !was_interrupted()) {
    double const seconds = std::max(kLeastRandom, options.budget * kShare - gate.seconds);
    run_parts(gate, {fuzz::random_part(gate.context, seconds, jobs)}, 1);
  }
  if (options.junit) {
    write_file(*options.junit, fuzz::junit_of(gate.cases, gate.seconds));
  }
  print(options.json ? text_of(gate_json(gate)) : summary(gate) + failures(gate));
  return exit_code(gate.failed() != 0);
}

}  // namespace holdfast::tools
