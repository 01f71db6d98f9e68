// SPDX-License-Identifier: Apache-2.0
// Commands on an engine other than ours: random programs, campaigns, lists, and the check of an adapter.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "fuzz/files.hpp"
#include "fuzz/target/engine_campaign.hpp"
#include "fuzz/target/engine_round_trip.hpp"
#include "fuzz/target/oracles/oracle.hpp"
#include "fuzz/target/protocol_check.hpp"
#include "models/input_error.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/setup.hpp"
#include "tools/target_setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

using fuzz::EngineGroup;
using fuzz::EngineResult;

std::string bounds_of(TargetOptions const& options) {
  return options.programs != 0 ? fmt::format("{} programs", options.programs)
                               : duration_text(options.seconds);
}

EngineResult run_programs(TargetOptions const& options,
                          fuzz::Target const& target,
                          bool until_first) {
  Progress progress;
  return fuzz::run_engine(
      {.target = target,
       .seed = options.seed,
       .programs = options.programs,
       .seconds = options.seconds,
       .workers = options.workers,
       .until_first = until_first,
       .calibration = {},
       .on_progress =
           [&](fuzz::EngineCounts const& counts, double seconds, std::size_t findings) {
             if (progress.is_due()) {
               progress.show(fmt::format("{}: {} programs ({:.0f}/s), {}, {}; {} in all",
                                         duration_text(seconds),
                                         counts.programs,
                                         rate_of(counts.programs, seconds),
                                         counted(counts.failed, "failure"),
                                         counted(findings, "finding"),
                                         bounds_of(options)));
             }
           },
       .should_stop = was_interrupted});
}

/// Part of the operations drawn that programs do not have since a known finding needs them.
double share_left_out(fuzz::EngineCounts const& counts) {
  std::uint64_t const drawn = counts.operations + counts.skipped + counts.left_out;
  return drawn == 0 ? 0 : static_cast<double>(counts.left_out) / static_cast<double>(drawn);
}

Json summary_json(EngineResult const& result) {
  fuzz::EngineCounts const& counts = result.counts;
  return {{"engine", result.hello.engine},
          {"version", result.hello.version},
          {"programs", counts.programs},
          {"operations", counts.operations},
          {"logits_compared", counts.compared},
          {"refused", counts.refused},
          {"weak", counts.weak},
          {"skipped", counts.skipped},
          {"left_out", counts.left_out},
          {"share_left_out", share_left_out(counts)},
          {"failed", counts.failed},
          {"seconds", result.seconds},
          {"programs_per_second", rate_of(counts.programs, result.seconds)},
          {"processes", counts.session.starts},
          {"cold_asked", counts.session.cold_asked},
          {"cold_known", counts.session.cold_known},
          {"covered", result.coverage.size()},
          {"calibration", json_of(result.calibration)}};
}

std::string summary(EngineResult const& result) {
  fuzz::EngineCounts const& counts = result.counts;
  return fmt::format(
      "engine      {} {}\nprograms    {} ({:.0f}/s)\noperations  {}, {} refused, {} weak; {} not "
      "sent; {:.1f} % of those drawn left out for known findings\n"
      "logits      {} compared; {} histories asked for, {} known\n"
      "tolerance   {:.1e}{}\ncovered     {} of (operation, operation, knob, answer)\ntime        "
      "{:.1f} s, {} processes\n",
      result.hello.engine,
      result.hello.version,
      counts.programs,
      rate_of(counts.programs, result.seconds),
      counts.operations,
      counts.refused,
      counts.weak,
      counts.skipped,
      100 * share_left_out(counts),
      counts.compared,
      counts.session.cold_asked,
      counts.session.cold_known,
      result.calibration.tolerance,
      result.calibration.signal == 0 ? "; given, noise and signal were not measured"
                                     : fmt::format("; noise {:.1e}, signal {:.1e}",
                                                   result.calibration.noise,
                                                   result.calibration.signal),
      result.coverage.size(),
      result.seconds,
      counts.session.starts);
}

std::string lines_of(fuzz::EngineProgram const& program, std::size_t at) {
  std::string text = "  knobs " + model::text_of(program.knobs) + "\n";
  for (std::size_t i = 0; i <= at && i < program.ops.size(); ++i) {
    text += fmt::format("  {:>3}  {}\n", i, model::text_of(program.ops[i]));
  }
  return text;
}

std::string shows(fuzz::EngineVerdict const& verdict, fuzz::EngineProgram const& program) {
  return fmt::format(
      "{} at operation {}, {}: {}",
      verdict.oracle,
      verdict.at,
      verdict.at < program.ops.size() ? model::name_of(program.ops[verdict.at]) : "none",
      verdict.text);
}

/// Findings of a campaign as files and a report.
Json write_findings(EngineResult const& result,
                    fuzz::Target const& target,
                    std::string const& folder) {
  Json findings = Json::array();
  std::string const engine = result.hello.engine + " " + result.hello.version;
  for (auto const& [key, group] : result.groups) {
    std::string name = key;
    std::replace_if(
        name.begin(),
        name.end(),
        [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '+';
        },
        '-');
    std::string const path = (std::filesystem::path{folder} / (name + ".trace")).string();
    fuzz::EngineFinding const& found = group.finding;
    fuzz::write_whole(path,
                      trace_of(target, engine, found.program, shows(found.verdict, found.program)));
    Json lines = Json::array();
    for (model::EngineOp const& op : found.program.ops) {
      lines.push_back(model::text_of(op));
    }
    Json seen = Json::object();
    for (auto const& [knobs, sight] : group.knobs) {
      seen[knobs] = {{"programs", sight.count},
                     {"first_program", sight.index},
                     {"first_seconds", sight.seconds}};
    }
    findings.push_back({{"bucket", found.bucket.text()},
                        {"oracle", found.bucket.oracle},
                        {"blamed", found.bucket.blamed},
                        {"known", group.known},
                        {"variant", group.is_variant},
                        {"programs", group.sight.count},
                        {"first_program", group.sight.index},
                        {"first_seconds", group.sight.seconds},
                        {"seen_with", seen},
                        {"text", found.verdict.text},
                        {"knobs", model::text_of(found.program.knobs)},
                        {"operations", lines},
                        {"trace", path}});
  }
  return findings;
}

}  // namespace

fuzz::Target load_target(TargetOptions const& options) {
  fuzz::Target target =
      options.file ? fuzz::load_target(*options.file) : fuzz::target_of_command(options.engine);
  for (auto const& [name, values] : model::parse_knobs(options.knobs, "--knobs")) {
    target.knobs[name] = split_list(values);
  }
  return target;
}

std::string target_command(TargetOptions const& options, std::vector<std::string> words) {
  words.insert(words.begin(), invoked_name());
  std::string engine;
  for (std::string const& word : options.engine) {
    engine += (engine.empty() ? "" : " ") + word;
  }
  words.insert(words.end(), {"--target", options.file.value_or(engine)});
  return command_of(words);
}

std::string engine_name(fuzz::Session& session) {
  return session.hello().engine + " " + session.hello().version;
}

std::string trace_of(fuzz::Target const& target,
                     std::string const& engine,
                     fuzz::EngineProgram const& program,
                     std::string const& shows) {
  return model::print_engine_trace({.comments = {" " + shows, " engine " + engine},
                                    .target = target.name,
                                    .knobs = model::text_of(program.knobs),
                                    .ops = program.ops});
}

Json json_of(fuzz::Calibration const& calibration) {
  return {{"noise", calibration.noise},
          {"signal", calibration.signal},
          {"tolerance", calibration.tolerance}};
}

/// A run that compared nothing has not held.
void check_compared(EngineResult const& result) {
  if (result.counts.compared == 0 && result.counts.failed == 0 && !was_interrupted()) {
    throw model::InputError(
        fmt::format("target {}: no logits were compared in {}, so that nothing was checked: {:.1f} "
                    "% of the operations were left out for known "
                    "findings, and {} refused",
                    result.hello.engine,
                    counted(result.counts.programs, "program"),
                    100 * share_left_out(result.counts),
                    result.counts.refused));
  }
}

int run_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  if (options.save) {
    check_writable(*options.save);
  }
  catch_interrupts();
  EngineResult result = run_programs(options, target, true);
  bool const failed = result.first_index.has_value();
  check_compared(result);
  Json json = summary_json(result);
  json["coverage"] = result.coverage;
  std::string text = summary(result);
  std::exception_ptr not_saved;
  if (failed) {
    std::string const what = shows(result.first_verdict, result.first);
    std::vector<std::string> again = {"run",
                                      "--seed",
                                      std::to_string(options.seed),
                                      "--programs",
                                      std::to_string(*result.first_index + 1)};
    if (options.save) {
      try {
        write_file(
            *options.save,
            trace_of(target, result.hello.engine + " " + result.hello.version, result.first, what));
        again = {"replay", *options.save};
      } catch (...) {
        not_saved = std::current_exception();  // what was found is told first
      }
    }
    bool const saved = options.save && !not_saved;
    json["failure"] = {{"program", *result.first_index},
                       {"oracle", result.first_verdict.oracle},
                       {"operation", result.first_verdict.at},
                       {"text", result.first_verdict.text},
                       {"reproduce", target_command(options, again)},
                       {"saved", saved ? Json(*options.save) : Json()}};
    text += fmt::format("\nprogram {}: {}\n{}",
                        *result.first_index,
                        what,
                        lines_of(result.first, result.first_verdict.at));
    text += saved ? "saved as " + *options.save + "\n" +
                        minimize_with(target_command(options, {"minimize", *options.save}))
                  : "to make it small, add --save FILE, then: " + invoked_name() +
                        " minimize FILE --target ...\n";
    text += reproduce_with(target_command(options, again));
  } else {
    text += in_colour(Colour::kGood, "0 violations") + "\n";
  }
  print(options.json ? text_of(json) : text);
  if (not_saved) {
    std::rethrow_exception(not_saved);
  }
  return exit_code(failed);
}

int fuzz_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  std::string const folder = options.folder.value_or("campaign-" + target.name);
  if (std::filesystem::exists(std::filesystem::path{folder} / "report.json")) {
    throw model::InputError{folder + " has the report of a campaign already; choose another --dir"};
  }
  fuzz::make_folder(folder);
  catch_interrupts();
  EngineResult const result = run_programs(options, target, false);
  check_compared(result);
  Json json = summary_json(result);
  json["findings"] = write_findings(result, target, folder);
  json["not_minimized"] = result.not_minimized;
  json["not_reproduced"] = result.not_reproduced;
  std::size_t const unknown = static_cast<std::size_t>(
      std::count_if(result.groups.begin(), result.groups.end(), [](auto const& one) {
        return one.second.known.empty();
      }));
  json["known_not_seen"] = Json::array();
  for (fuzz::KnownFinding const& known : target.known) {
    if (std::none_of(result.groups.begin(), result.groups.end(), [&](auto const& one) {
          return one.second.known == known.name;
        })) {
      json["known_not_seen"].push_back(known.name);
    }
  }
  json["coverage"] = result.coverage;
  fuzz::write_whole(std::filesystem::path{folder} / "report.json", text_of(json));
  std::string text = summary(result);
  for (auto const& [key, group] : result.groups) {
    text += fmt::format("\n{}{}: {}, first in program {} after {:.1f} s\n  {}\n{}",
                        group.finding.bucket.text(),
                        group.known.empty() ? ""
                        : group.is_variant  ? " (variant of " + group.known + ")"
                                            : " (known: " + group.known + ")",
                        counted(group.sight.count, "program"),
                        group.sight.index,
                        group.sight.seconds,
                        group.finding.verdict.text,
                        lines_of(group.finding.program, group.finding.program.ops.size()));
  }
  text += fmt::format(
      "\n{} new, {} known; {} failed once and held in a process of their own\n"
      "report: {}/report.json\n",
      counted(unknown, "finding"),
      result.groups.size() - unknown,
      result.not_reproduced,
      folder);
  print(options.json ? text_of(json) : text);
  return exit_code(unknown != 0);
}

int list_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  fuzz::Session session{target};
  model::Hello const& hello = session.hello();
  Json json = {{"target", target.name}, {"engine", hello.engine}, {"version", hello.version}};
  std::string text = fmt::format(
      "target {}: {} {}, {} tokens, {} sequences, {} rows, batches of {}\n\noperations\n",
      target.name,
      hello.engine,
      hello.version,
      hello.vocabulary,
      hello.sequences,
      hello.context,
      hello.batch);
  for (std::uint32_t kind = 0; kind < model::kEngineKindCount; ++kind) {
    auto const known = static_cast<model::EngineKind>(kind);
    json["operations"][model::info_of(known).name] = hello.has(known);
    text += fmt::format("  {:<14} {}{}\n",
                        model::info_of(known).name,
                        model::info_of(known).meaning,
                        hello.has(known) ? "" : " (not declared)");
  }
  text += "\nknobs\n";
  json["knobs"] = Json::object();
  for (model::KnobInfo const& knob : hello.knobs) {
    json["knobs"][knob.name] = knob.values;
    text += fmt::format("  {:<14} {}\n", knob.name, fmt::join(knob.values, ", "));
  }
  text += "\noracles\n";
  for (fuzz::Oracle const* const oracle : fuzz::all_oracles()) {
    json["oracles"][oracle->id] = oracle->statement;
    text += fmt::format("  {:<14} {}\n", oracle->id, oracle->statement);
  }
  text += "\nknown findings\n";
  json["known"] = Json::array();
  for (fuzz::KnownFinding const& known : target.known) {
    json["known"].push_back({{"name", known.name}, {"bucket", known.bucket}});
    text += fmt::format("  {:<14} {}\n", known.name, known.bucket);
  }
  print(options.json ? text_of(json) : text);
  return kExitHeld;
}

std::string told_round_trip(fuzz::Target const& target, Json& json) {
  constexpr std::uint32_t kTimes = 2000;
  constexpr double kMicro = 1e6;
  fuzz::RoundTrip const trip = fuzz::time_round_trip(target, kTimes, 1);
  json["round_trip"] = {{"decode_microseconds", trip.decode_seconds * kMicro},
                        {"echo_microseconds", trip.echo_seconds * kMicro},
                        {"logits", trip.logits},
                        {"bytes", trip.bytes},
                        {"ratio", trip.ratio()}};
  return fmt::format(
      "a decode with {} logits takes {:.1f} us at least, {:.2f} times an echo of its {} bytes "
      "({:.1f} us)\n",
      trip.logits,
      trip.decode_seconds * kMicro,
      trip.ratio(),
      trip.bytes,
      trip.echo_seconds * kMicro);
}

int check_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  catch_interrupts();
  fuzz::ProtocolReport const report =
      fuzz::check_protocol(target, static_cast<std::uint32_t>(options.programs), was_interrupted);
  Json json = {{"target", target.name},
               {"engine", report.hello.engine},
               {"programs", report.programs},
               {"lines", report.lines},
               {"never_done", report.never_done},
               {"faults", Json::array()}};
  std::string text;
  for (fuzz::ProtocolFault const& fault : report.faults) {
    json["faults"].push_back(
        {{"line", fault.line}, {"answer", fault.answer}, {"what", fault.what}});
    text += in_colour(Colour::kBad, fault.what) + "\n";
    text += fault.line.empty() ? "" : "  > " + fault.line + "\n  < " + fault.answer + "\n";
  }
  if (!report.never_done.empty()) {
    text += fmt::format("declared, and never done in these programs: {}\n",
                        fmt::join(report.never_done, ", "));
  }
  text += fmt::format("{} lines, {} programs twice: {}\n",
                      report.lines,
                      report.programs,
                      report.faults.empty() ? "the adapter speaks protocol 1"
                                            : counted(report.faults.size(), "fault"));
  if (report.faults.empty()) {
    text += told_round_trip(target, json);
  }
  print(options.json ? text_of(json) : text);
  return exit_code(!report.faults.empty());
}

int execute(TargetOptions const& options) {
  struct Deed {
    char const* name;
    int (*execute)(TargetOptions const& options);
  };
  constexpr Deed kDeeds[] = {{"run", run_target},
                             {"fuzz", fuzz_target},
                             {"list", list_target},
                             {"check", check_target},
                             {"replay", replay_on_target},
                             {"minimize", minimize_on_target},
                             {"explain", explain_on_target},
                             {"gate", gate_on_target}};
  for (Deed const& deed : kDeeds) {
    if (options.command == deed.name) {
      return deed.execute(options);
    }
  }
  throw model::InputError{options.command + " does nothing on other engines"};
}

}  // namespace holdfast::tools
