// SPDX-License-Identifier: Apache-2.0
// Commands on traces of an engine other than ours: replay, minimize, explain, and the gate over a folder of them.
#include <fmt/format.h>

#include <filesystem>

#include "fuzz/files.hpp"
#include "fuzz/gate.hpp"
#include "fuzz/target/engine_story.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"
#include "tools/process.hpp"
#include "tools/setup.hpp"
#include "tools/target_setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using model::InputError;

struct LoadedProgram {
  std::string path;
  fuzz::EngineProgram program;
};

/// Reads a trace for this target. Throws InputError when it names another, or what the engine has not.
LoadedProgram load_program(std::string const& path,
                           fuzz::Target const& target,
                           model::Hello const& hello) {
  model::EngineTrace const trace = model::parse_engine_trace(model::read_file(path), path);
  if (trace.target != target.name) {
    throw InputError{path + ": it is of target " + model::quoted(trace.target) + ", and this is " +
                     model::quoted(target.name)};
  }
  LoadedProgram loaded{.path = path};
  loaded.program.knobs = hello.completed(model::parse_knobs(trace.knobs, path), path);
  loaded.program.ops = trace.ops;
  for (model::EngineOp const& op : trace.ops) {
    if (!hello.has(op.kind)) {
      throw InputError{path + ": the engine does not declare " + model::name_of(op)};
    }
    if (std::uint32_t const most = model::last_sequence_of(op); most >= hello.sequences) {
      throw InputError{fmt::format(
          "{}: s{} is named, and the engine has {} sequences", path, most, hello.sequences)};
    }
  }
  return loaded;
}

/// Traces of the target in files and folders; in folders, what is of other targets is left out.
std::vector<std::string> find_traces(std::vector<std::string> const& paths,
                                     fuzz::Target const& target) {
  std::vector<std::string> found;
  for (std::string const& path : paths) {
    if (!fs::is_directory(path)) {
      found.push_back(path);
      continue;
    }
    for (fs::path const& entry : fuzz::entries_of(path)) {
      if (fs::is_directory(entry)) {
        std::vector<std::string> const below = find_traces({entry.string()}, target);
        found.insert(found.end(), below.begin(), below.end());
      } else if (entry.extension() == ".trace") {
        std::string const text = model::read_file(entry.string());
        if (model::is_engine_trace(text) &&
            model::parse_engine_trace(text, entry.string()).target == target.name) {
          found.push_back(entry.string());
        }
      }
    }
  }
  return found;
}

std::string verdict_text(fuzz::EngineVerdict const& verdict, fuzz::EngineProgram const& program) {
  if (verdict.refused_knobs) {
    return "the engine refuses these knobs";
  }
  if (verdict.failed()) {
    return fmt::format("{} at operation {}, {}: {}",
                       verdict.oracle,
                       verdict.at,
                       model::name_of(program.ops[verdict.at]),
                       verdict.text);
  }
  return verdict.skipped == 0
             ? "holds"
             : fmt::format("holds; {} made no sense after what the engine answered: not sent",
                           counted(verdict.skipped, "operation"));
}

fuzz::EngineStory story_of(TargetOptions const& options,
                           fuzz::Target const& target,
                           fuzz::EngineRunner& runner,
                           LoadedProgram const& loaded) {
  fuzz::EngineStory story{.target = target.name,
                          .engine = engine_name(runner.session()),
                          .calibration = runner.calibration(),
                          .reproduce = target_command(options, {"replay", loaded.path})};
  fuzz::EngineFinding& found = story.finding;
  found.program = loaded.program;
  found.verdict = runner.run_fresh(found.program);
  story.said = runner.session().said();
  if (found.verdict.failed()) {
    found.blamed = fuzz::blame(runner, found.program, found.verdict);
    found.bucket = fuzz::bucket_of(found.program, found.verdict, found.blamed);
  }
  return story;
}

}  // namespace

int replay_on_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  catch_interrupts();
  fuzz::EngineRunner runner{target};
  Json json = {{"target", target.name},
               {"engine", engine_name(runner.session())},
               {"traces", Json::array()}};
  std::string text;
  bool failed = false;
  std::vector<std::string> const paths = find_traces(options.paths, target);
  if (paths.empty()) {
    throw InputError{options.paths.front() + ": no trace of target " + target.name + " is there"};
  }
  for (std::string const& path : paths) {
    LoadedProgram const loaded = load_program(path, target, runner.session().hello());
    fuzz::EngineVerdict const verdict = runner.run_fresh(loaded.program);
    failed = failed || verdict.failed();
    std::string const what = verdict_text(verdict, loaded.program);
    json["traces"].push_back(
        {{"file", path}, {"oracle", verdict.oracle}, {"operation", verdict.at}, {"text", what}});
    text += path + ": " + in_colour(verdict.failed() ? Colour::kBad : Colour::kGood, what) + "\n";
    if (verdict.failed() && paths.size() == 1) {
      text += "\n" + fuzz::text_of(story_of(options, target, runner, loaded));
    }
    if (was_interrupted()) {
      break;
    }
  }
  print(options.json ? text_of(json) : text);
  return exit_code(failed);
}

int minimize_on_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  if (options.output) {
    check_writable(*options.output);
  }
  catch_interrupts();
  fuzz::EngineRunner runner{target};
  LoadedProgram const loaded =
      load_program(options.paths.front(), target, runner.session().hello());
  constexpr std::uint64_t kMostCandidates = 4000;
  fuzz::EngineFinding const found = fuzz::minimize(runner,
                                                   {.program = loaded.program,
                                                    .most_candidates = kMostCandidates,
                                                    .should_stop = was_interrupted});
  if (!found.verdict.failed()) {
    throw InputError{loaded.path + ": it holds on this engine; there is nothing to keep"};
  }
  std::string const trace = trace_of(target,
                                     engine_name(runner.session()),
                                     found.program,
                                     verdict_text(found.verdict, found.program));
  if (options.output) {
    write_file(*options.output, trace);
  }
  Json const json = {{"bucket", found.bucket.text()},
                     {"oracle", found.verdict.oracle},
                     {"blamed", found.bucket.blamed},
                     {"operations", found.program.ops.size()},
                     {"candidates", found.candidates},
                     {"trace", trace}};
  std::string const said = fmt::format("{} operations become {}; {} programs were run; bucket: {}",
                                       loaded.program.ops.size(),
                                       found.program.ops.size(),
                                       found.candidates,
                                       found.bucket.text());
  if (options.json) {
    print(text_of(json));
  } else if (options.output) {
    print(said + "\n");
  } else {
    print(trace);
    complain(said);
  }
  return exit_code(true);
}

int explain_on_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  fuzz::EngineRunner runner{target};
  LoadedProgram const loaded =
      load_program(options.paths.front(), target, runner.session().hello());
  fuzz::EngineStory const story = story_of(options, target, runner, loaded);
  std::string const page =
      options.output.value_or(fs::path{loaded.path}.filename().replace_extension(".html").string());
  bool const failed = story.finding.verdict.failed();
  if (!options.text) {
    write_file(page, fuzz::page_of(story));
  }
  Json const json = {{"file", loaded.path},
                     {"page", options.text ? Json() : Json(page)},
                     {"oracle", story.finding.verdict.oracle},
                     {"bucket", failed ? Json(story.finding.bucket.text()) : Json()},
                     {"text", fuzz::text_of(story)}};
  print(options.json   ? text_of(json)
        : options.text ? fuzz::text_of(story)
                       : "wrote " + page + "\n");
  return exit_code(failed);
}

int gate_on_target(TargetOptions const& options) {
  fuzz::Target const target = load_target(options);
  std::string const corpus = options.corpus.value_or("corpus/engines");
  catch_interrupts();
  if (options.junit) {
    check_writable(*options.junit);
  }
  fuzz::EngineRunner runner{target};
  Progress const clock;
  std::vector<fuzz::GateCase> cases;
  std::string text;
  std::size_t failed = 0;
  std::vector<std::string> const paths = find_traces({corpus}, target);
  for (std::string const& path : paths) {
    double const start = clock.seconds();
    LoadedProgram const loaded = load_program(path, target, runner.session().hello());
    fuzz::EngineVerdict const verdict = runner.run(loaded.program);
    fuzz::GateCase& one = cases.emplace_back();
    one.part = target.name;
    one.name = path;
    one.reproduce = target_command(options, {"replay", path});
    one.failure = verdict.failed() ? verdict_text(verdict, loaded.program) : "";
    one.skipped = verdict.refused_knobs ? verdict_text(verdict, loaded.program) : "";
    one.seconds = clock.seconds() - start;
    failed += verdict.failed() ? 1U : 0U;
    if (verdict.failed()) {
      text += in_colour(Colour::kBad, path + ": " + one.failure) + "\n  " + one.reproduce + "\n";
    }
    if (was_interrupted()) {
      break;
    }
  }
  if (paths.empty()) {
    throw InputError{corpus + ": no trace of target " + target.name + " is there"};
  }
  if (options.junit) {
    write_file(*options.junit, fuzz::junit_of(cases, clock.seconds()));
  }
  text += fmt::format("{}: {} of them held on {}, {:.1f} s\n",
                      counted(cases.size(), "trace"),
                      cases.size() - failed,
                      engine_name(runner.session()),
                      clock.seconds());
  Json const json = {{"target", target.name},
                     {"traces", cases.size()},
                     {"failed", failed},
                     {"seconds", clock.seconds()}};
  print(options.json ? text_of(json) : text);
  return exit_code(failed != 0);
}

}  // namespace holdfast::tools
