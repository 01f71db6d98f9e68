// SPDX-License-Identifier: Apache-2.0
#include "tools/promote.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <system_error>
#include <vector>

#include "fuzz/files.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/runner.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using model::InputError;

constexpr std::size_t kLongestLine = 100;

/// Where a trace goes, and what its first line begins with.
struct Row {
  std::string folder;  // "A", "seed", "own"
  std::string prefix;  // "A10", "seed3", "own"
  std::string line;    // "A10 (vllm #39273): what broke there", without a full stop
};

/// Reads "A10 (vllm #39273): what broke there".
Row row_of(std::string text) {
  static std::regex const form(
      R"(([A-M][0-9]+|seed [0-9]+|seed red-proof|seed upstream) \([^()]+\): .+)");
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) {
    text.pop_back();
  }
  std::smatch match;
  if (!std::regex_match(text, match, form)) {
    throw InputError{"--row: '" + text + "' is not of the form 'A10 (project #1): what broke'"};
  }
  std::string row = match[1].str();
  bool const is_seed = row.rfind("seed", 0) == 0;
  std::string const folder = is_seed ? "seed" : row.substr(0, 1);
  std::string prefix;
  for (char const letter : row) {
    if (letter != '-' && (letter != ' ' || row.find("seed r") == 0 || row.find("seed u") == 0)) {
      prefix += letter == ' ' ? '_' : letter;
    }
  }
  return {.folder = folder, .prefix = prefix, .line = text};
}

std::vector<std::string> ids_of_failure(fuzz::Failure const& failure) {
  std::vector<std::string> ids;
  for (invariant::Violation const& violation : failure.violations) {
    if (std::find(ids.begin(), ids.end(), violation.id) == ids.end()) {
      ids.emplace_back(violation.id);
    }
  }
  return ids;
}

/// What a run of the trace came to.
struct Run {
  std::optional<fuzz::Failure> failure;
  std::vector<model::AnyOp> ops;  // up to the failing one
};

Run run(model::Geometry const& geometry,
        std::vector<model::AnyOp> const& ops,
        std::string const& device,
        bool compare) {
  fuzz::Runner runner{
      geometry, {.compare = compare, .watch_one_in = 1, .device = model::device_from(device)}};
  Run done{.failure = runner.run_ops(ops).failure, .ops = {}};
  done.ops = runner.ops();
  return done;
}

/// With its mutant the trace must fail by an invariant that the table of mutants expects.
std::vector<std::string> expected_killers(std::string const& mutant) {
  for (fuzz::MutantInfo const& info : fuzz::all_mutants()) {
    if (mutant == info.name) {
      std::string const killers = info.killers;
      std::vector<std::string> words;
      for (std::size_t at = 0; at < killers.size();) {
        std::size_t const end = std::min(killers.find(' ', at), killers.size());
        words.push_back(killers.substr(at, end - at));
        at = end + 1;
      }
      return words;
    }
  }
  return {};
}

/// The invariants that must hold on the trace: those that report it now.
std::vector<std::string> holds_of(ReplayOptions const& options,
                                  fuzz::Failure const& failure,
                                  std::string const& path) {
  std::vector<std::string> ids = ids_of_failure(failure);
  if (!options.mutant) {
    return ids;
  }
  std::vector<std::string> const killers = expected_killers(*options.mutant);
  bool const is_expected =
      killers.empty() || std::any_of(ids.begin(), ids.end(), [&](std::string const& id) {
        return std::find(killers.begin(), killers.end(), id) != killers.end();
      });
  if (!is_expected) {
    throw InputError{fmt::format("{}: is reported by {}, and the mutant {} must be by {}",
                                 path,
                                 fmt::join(ids, ", "),
                                 *options.mutant,
                                 fmt::join(killers, " or "))};
  }
  return ids;
}

/// The built-in geometry on which the trace fails; a minimizer may have made a smaller one of it.
model::Geometry built_in_geometry(LoadedTrace const& loaded) {
  if (loaded.geometry->built_in) {
    return *loaded.geometry;
  }
  auto const names = model::built_in_geometry_names();
  if (std::find(names.begin(), names.end(), loaded.geometry->name) == names.end()) {
    throw InputError{loaded.path + ": its geometry is not built in; regression traces have one"};
  }
  return model::load_geometry(loaded.geometry->name);
}

Run failing_run(ReplayOptions const& options,
                LoadedTrace const& loaded,
                model::Geometry const& geometry) {
  // Where the table of mutants expects invariants, these alone must see it.
  bool const compare = !options.mutant || expected_killers(*options.mutant).empty();
  Run failing = run(geometry, loaded.trace.ops, loaded.trace.device, compare && options.compare);
  if (!failing.failure) {
    throw InputError{loaded.path + ": all holds" +
                     (options.mutant ? " with " + *options.mutant + " too" : "") +
                     (loaded.geometry->built_in ? "" : " on the built-in " + geometry.name) +
                     "; only a trace that fails becomes a regression trace" +
                     (options.mutant ? "" : " (--mutant turns on a seeded bug)")};
  }
  if (options.mutant) {
    fuzz::select_mutant("none");
    Run const whole = run(geometry, failing.ops, loaded.trace.device, true);
    fuzz::select_mutant(*options.mutant);
    if (whole.failure) {
      throw InputError{loaded.path + ": fails without " + *options.mutant +
                       " too; promote it without --mutant"};
    }
  }
  return failing;
}

Row row_for(ReplayOptions const& options, Run const& failing, model::Geometry const& geometry) {
  if (options.row) {
    return row_of(*options.row);
  }
  return {.folder = "own",
          .prefix = "own",
          .line = fmt::format("own (holdfast): {} went wrong on {}",
                              model::name_of(failing.ops[failing.failure->op_index]),
                              geometry.name)};
}

void check_name(std::string const& name) {
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
    throw InputError{"--promote: '" + name + "' is no name of lower case letters, digits and '_'"};
  }
}

/// Names of traces are unique in the whole corpus.
void check_unique(fs::path const& corpus, std::string const& file) {
  std::error_code error;
  if (!fs::is_directory(corpus / "regression", error)) {
    throw InputError{corpus.string() + ": has no folder regression; --corpus names the corpus"};
  }
  for (fs::recursive_directory_iterator entry{corpus, error}, end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() == file) {
      throw InputError{entry->path().string() + ": is there already, and is not overwritten"};
    }
  }
}

}  // namespace

std::string promote(ReplayOptions const& options, LoadedTrace const& loaded) {
  check_name(*options.promote);
  model::Geometry const geometry = built_in_geometry(loaded);
  Run const failing = failing_run(options, loaded, geometry);
  Row const row = row_for(options, failing, geometry);
  std::vector<std::string> const holds = holds_of(options, *failing.failure, loaded.path);
  fs::path const corpus = options.corpus.value_or("corpus");
  std::string const file = row.prefix + "_" + *options.promote + ".trace";
  check_unique(corpus, file);
  model::Trace trace{.comments = {fmt::format(" {}. Holds: {}.", row.line, fmt::join(holds, " "))},
                     .geometry = geometry.name,
                     .device = loaded.trace.device,
                     .ops = failing.ops};
  if (trace.comments.front().size() >= kLongestLine) {
    throw InputError{fmt::format("--row: the line '#{}' is longer than {} characters",
                                 trace.comments.front(),
                                 kLongestLine)};
  }
  if (options.mutant) {
    trace.comments.push_back(" mutant: " + *options.mutant);
  }
  fs::path const folder = corpus / "regression" / row.folder;
  fuzz::make_folder(folder);
  fuzz::write_whole(folder / file, model::print_trace(trace));
  return (folder / file).string();
}

}  // namespace holdfast::tools
