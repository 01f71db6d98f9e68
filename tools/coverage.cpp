// SPDX-License-Identifier: Apache-2.0
// holdfast coverage: what runs have seen, what they have not, and programs that go on from there.
#include "models/lineage/coverage.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "fuzz/codec.hpp"
#include "fuzz/exhaustive.hpp"
#include "fuzz/files.hpp"
#include "fuzz/frontier.hpp"
#include "models/read_file.hpp"
#include "tools/commands.hpp"
#include "tools/coverage_file.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/terminal.hpp"
#include "tools/values.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using model::Coverage;

constexpr std::uint32_t kTries = 24;    // ways to take an unseen edge
constexpr std::size_t kMostLines = 10;  // of a list that people read

/// All that is known at the end.
struct Known {
  Coverage coverage;
  std::vector<model::UnseenEdge> unseen;
  std::optional<Coverage> against;
  std::vector<model::CoverageEdge> missing;  // of it
  fuzz::FrontierResult frontier;
  std::string reproduce;  // of the first failure on the frontier
};

/// Says how far work is, whose programs are counted as they go by.
class Pace {
 public:
  /// So many parts of so many are done.
  void at(std::string const& what, std::size_t done, std::size_t total) {
    what_ = what;
    done_ = done;
    total_ = total;
  }
  [[nodiscard]] bool go_on() {
    ++programs_;
    if (progress_.is_due()) {
      double const seconds = progress_.seconds();
      progress_.show(fmt::format("{}: {}, {} programs ({:.0f}/s){}",
                                 duration_text(seconds),
                                 what_,
                                 programs_,
                                 rate_of(programs_, seconds),
                                 time_left(seconds, done_, total_)));
    }
    return !was_interrupted();
  }

 private:
  Progress progress_;
  std::string what_;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
  std::uint64_t programs_ = 0;
};

void replay(std::vector<std::string> const& paths, Pace& pace, Coverage& coverage) {
  std::vector<model::Trace> programs;
  TraceLoader loader;
  for (std::string const& path : traces_of(paths)) {
    // One that cannot be run is an error, not nothing seen.
    programs.push_back(loader.load(path).trace);
  }
  std::size_t done = 0;
  static_cast<void>(fuzz::replay_for_coverage(programs, coverage, [&] {
    pace.at("replay", done++, programs.size());
    return pace.go_on();
  }));
}

/// Every short program, where the exhaustive tests look.
void search(std::uint32_t depth, Pace& pace, Coverage& coverage) {
  constexpr std::array kGeometries = {"tiny-rows", "tiny", "glm5-next-mini"};
  std::size_t const total = kGeometries.size() * fuzz::start_states().size();
  std::size_t done = 0;
  for (char const* name : kGeometries) {
    model::Geometry const geometry = model::load_geometry(name);
    for (fuzz::StartState const& start : fuzz::start_states()) {
      pace.at(fmt::format("{} from {}, {} of {}", name, start.name, done + 1, total), done, total);
      ++done;
      static_cast<void>(fuzz::search_exhaustively(
          geometry, start, depth, &coverage, [&] { return pace.go_on(); }));
    }
  }
}

void write_seeds(std::string const& folder, fuzz::FrontierResult const& frontier) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw EnvironmentError{folder + ": cannot be made: " + error.message()};
  }
  for (model::Trace const& seed : frontier.seeds) {
    auto const encoded = fuzz::encode_program(seed);
    std::string_view const bytes{reinterpret_cast<char const*>(encoded.data()), encoded.size()};
    // Named by what they are: seeds of an earlier time, which may be what was run, stay.
    fuzz::write_whole(fs::path{folder} / ("frontier-" + fuzz::name_of_bytes(bytes)),
                      bytes,
                      fuzz::Outlives::kProcess);
  }
}

std::string path_text(model::UnseenEdge const& edge) {
  std::string text;
  for (std::uint32_t const state : edge.path) {
    text += (text.empty() ? "" : " -> ") + text_of(model::AbstractState::from_key(state));
  }
  return text;
}

Json coverage_json(Known const& known) {
  Json unseen = Json::array();
  for (model::UnseenEdge const& edge : known.unseen) {
    unseen.push_back({{"state", text_of(model::AbstractState::from_key(edge.from))},
                      {"operation", model::AllOps::kNames[edge.op]},
                      {"distance", edge.distance},
                      {"path", path_text(edge)},
                      {"witness", model::print_trace(*known.coverage.witness(edge.from))}});
  }
  Json json = {{"interrupted", was_interrupted()},
               {"programs", known.coverage.programs()},
               {"transitions", known.coverage.transitions()},
               {"states", known.coverage.state_count()},
               {"edges", known.coverage.edge_count()},
               {"unseen", std::move(unseen)},
               {"frontier",
                {{"aimed_at", known.frontier.aimed_at},
                 {"reached", known.frontier.reached},
                 {"unusable", known.frontier.unusable},
                 {"seeds", known.frontier.seeds.size()},
                 {"violations", known.frontier.failed.size()}}}};
  if (known.against) {
    Json missing = Json::array();
    for (model::CoverageEdge const& edge : known.missing) {
      missing.push_back(text_of(edge));
    }
    json["against"] = {{"edges", known.against->edge_count()}, {"missing", std::move(missing)}};
  }
  if (!known.reproduce.empty()) {
    json["reproduce"] = known.reproduce;
  }
  return json;
}

template <typename T, typename Line>
std::string some_of(std::vector<T> const& items, Line line) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < kMostLines; ++i) {
    text += "  " + line(items[i]) + "\n";
  }
  if (items.size() > kMostLines) {
    text += fmt::format("  ... and {} others, see --json\n", items.size() - kMostLines);
  }
  return text;
}

std::string report_of(Known const& known) {
  std::string text = was_interrupted() ? in_colour(Colour::kNotice, "interrupted") +
                                             ", with what was seen until then\n"
                                       : "";
  text += fmt::format("programs    {}\ntransitions {}\nstates      {}\nedges       {}\n",
                      known.coverage.programs(),
                      known.coverage.transitions(),
                      known.coverage.state_count(),
                      known.coverage.edge_count());
  if (known.frontier.aimed_at != 0) {
    text += fmt::format("frontier    {} of {} attempts reached an unseen edge, {}\n",
                        known.frontier.reached,
                        known.frontier.aimed_at,
                        counted(known.frontier.seeds.size(), "seed"));
  }
  text += fmt::format("unseen      {}, taken elsewhere but not in a state that was reached:\n",
                      counted(known.unseen.size(), "operation"));
  text += some_of(known.unseen, [](model::UnseenEdge const& edge) {
    return fmt::format("{} | {}, {} from nothing",
                       text_of(model::AbstractState::from_key(edge.from)),
                       model::AllOps::kNames[edge.op],
                       counted(edge.distance, "transition"));
  });
  if (known.against) {
    std::size_t const count = known.against->edge_count();
    std::size_t const reached = count - known.missing.size();
    text += fmt::format(
        "against     {} of {} edges reached ({:.1f} %)\n",
        reached,
        count,
        count == 0 ? 100.0 : 100.0 * static_cast<double>(reached) / static_cast<double>(count));
    text += some_of(known.missing, [](model::CoverageEdge const& edge) { return text_of(edge); });
  }
  return text;
}

/// Keeps the first program that failed where its seeds are; the command that runs it again.
std::string save_failure(std::string const& folder, fuzz::FrontierResult const& frontier) {
  std::string const text = model::print_trace(frontier.failed.front());
  std::string const path = folder + "/violation-" + fuzz::name_of_bytes(text) + ".trace";
  write_file(path, text);
  return command_of({invoked_name(), "replay", path});
}

/// Runs what there is to run.
void watch(CoverageOptions const& options, Known& known) {
  Pace pace;
  replay(options.replay, pace, known.coverage);
  if (options.exhaustive != 0) {
    search(options.exhaustive, pace, known.coverage);
  }
  if (options.seeds) {
    pace.at("frontier", 0, 0);
    known.frontier =
        fuzz::push_frontier(known.coverage, options.seed, kTries, [&] { return pace.go_on(); });
  }
}

}  // namespace

Coverage load_coverage(std::string const& path) {
  return Coverage::parse(model::read_file(path), path);
}

void add_to_coverage_file(std::string const& path, Coverage coverage) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    coverage.add(load_coverage(path));
  }
  write_file(path, coverage.print());
}

int execute(CoverageOptions const& options) {
  Known known;
  for (std::string const& path : options.files) {
    known.coverage.add(load_coverage(path));
  }
  if (options.against) {
    known.against = load_coverage(*options.against);
  }
  if (options.output) {
    check_writable(*options.output);
    check_spares(*options.output, traces_of(options.replay));
    if (options.against) {
      check_spares(*options.output, {*options.against});
    }
  }
  catch_interrupts();
  watch(options, known);
  for (std::string const& geometry : known.frontier.unusable) {
    complain("geometry '" + geometry +
             "' cannot be run here: states of its programs were passed over");
  }
  if (options.seeds) {
    write_seeds(*options.seeds, known.frontier);
    if (!known.frontier.failed.empty()) {
      known.reproduce = save_failure(*options.seeds, known.frontier);
    }
  }
  known.unseen = known.coverage.unseen();
  if (known.against) {
    known.missing = known.coverage.missing(*known.against);
  }
  // The report first: nothing of it is lost when the file cannot be written.
  print(options.json ? text_of(coverage_json(known)) : report_of(known));
  if (options.output) {
    write_file(*options.output, known.coverage.print());
  }
  if (!known.reproduce.empty() && !options.json) {
    print(reproduce_with(known.reproduce));
  }
  return exit_code(!known.reproduce.empty());
}

}  // namespace holdfast::tools
