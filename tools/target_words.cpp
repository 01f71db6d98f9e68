// SPDX-License-Identifier: Apache-2.0
// --target of the other commands, and the command line of target.
#include <algorithm>
#include <string_view>
#include <thread>

#include "models/input_error.hpp"
#include "tools/command.hpp"
#include "tools/values.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

constexpr std::uint64_t kMostPrograms = 1'000'000'000'000;

/// Options that a command has beside --target, and understands with it.
std::vector<std::string> allowed_with_target(std::string const& command) {
  std::vector<std::string> allowed = {"--target", "--json"};
  auto const add = [&](std::initializer_list<char const*> more) {
    allowed.insert(allowed.end(), more.begin(), more.end());
  };
  if (command == "run") {
    add({"--seed", "--seconds", "--programs", "--knobs", "--threads", "--save"});
  } else if (command == "fuzz") {
    add({"--seed", "--for", "--programs", "--knobs", "--workers", "--dir"});
  } else if (command == "gate") {
    add({"--corpus", "--junit"});
  } else if (command == "minimize") {
    add({"--output"});
  } else if (command == "explain") {
    add({"--output", "--text"});
  }
  return allowed;
}

void refuse_others(CLI::App const& command) {
  std::vector<std::string> const allowed = allowed_with_target(command.get_name());
  for (CLI::Option const* const option : command.get_options()) {
    std::string const name =
        option->get_lnames().empty() ? "" : "--" + option->get_lnames().front();
    if (option->count() != 0 && !name.empty() &&
        std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      throw InputError{name + " means nothing with --target"};
    }
  }
}

/// A target file, or the words of a command line.
void choose_engine(std::string const& text, TargetOptions& options) {
  constexpr std::string_view kEnding = ".json";
  if (text.size() > kEnding.size() &&
      text.compare(text.size() - kEnding.size(), kEnding.size(), kEnding) == 0) {
    options.file = text;
    return;
  }
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
    std::size_t const end = std::min(text.find(' ', at), text.size());
    options.engine.push_back(text.substr(at, end - at));
    at = end;
  }
  if (options.engine.empty()) {
    throw InputError{"a target file or a command line is missing"};
  }
}

void define_target(CLI::App& command, Words& words) {
  command
      .add_option(
          "WORDS", words.paths, "check, then a target file (.json) or an adapter's command line")
      ->type_name("");
  command
      .add_option(
          "--programs", words.programs, "Random programs, each of which runs twice. Default: 100")
      ->type_name("N");
}

Options read_target_command(CLI::App const& command, Words const& words) {
  if (words.paths.empty() || words.paths.front() != "check") {
    throw InputError{"target needs a deed; known: check"};
  }
  if (words.paths.size() != 2) {
    throw InputError{"target check needs a target file, or a command line in quotes"};
  }
  TargetOptions options{.command = "check", .json = words.json};
  choose_engine(words.paths.back(), options);
  options.programs = was_given(command, "--programs")
                         ? read_count("--programs", words.programs, kMostPrograms)
                         : 100;
  return options;
}

}  // namespace

void add_target(CLI::App& command, Words& words) {
  command
      .add_option("--target",
                  words.target,
                  "An engine other than ours: a target file (.json), or an adapter's command line")
      ->type_name("FILE");
}

void add_programs(CLI::App& command, Words& words) {
  command.add_option("--programs", words.programs, "With --target: run so many programs")
      ->type_name("N");
  command
      .add_option("--knobs",
                  words.knobs,
                  "With --target: programs draw these knobs from these values alone, as "
                  "\"architecture=llama,lfm2 unified=0\"")
      ->type_name("TEXT");
}

Options read_with_target(CLI::App const& command, Words const& words) {
  refuse_others(command);
  std::string const name = command.get_name();
  TargetOptions options{.command = name,
                        .paths = words.paths,
                        .workers = std::max(1U, std::thread::hardware_concurrency()),
                        .text = words.text,
                        .json = words.json};
  choose_engine(words.target, options);
  if (!words.topic.empty()) {
    throw InputError{"list " + words.topic + " means nothing with --target"};
  }
  auto const text = [&](char const* option, std::string const& value) {
    return command.get_option_no_throw(option) != nullptr ? text_if_given(command, option, value)
                                                          : std::nullopt;
  };
  auto const given = [&](char const* option) {
    return command.get_option_no_throw(option) != nullptr && was_given(command, option);
  };
  options.save = text("--save", words.save);
  options.output = text("--output", words.output);
  options.junit = text("--junit", words.junit);
  options.folder = text("--dir", words.folder);
  options.corpus = text("--corpus", words.corpus);
  options.seed = given("--seed") ? read_seed(words.seed) : kDefaultSeed;
  options.seconds = name == "fuzz" ? kDefaultFuzzSeconds : kDefaultSeconds;
  if (given("--seconds")) {
    options.seconds = read_seconds("--seconds", words.seconds);
  }
  if (given("--for")) {
    options.seconds = read_duration("--for", words.budget);
  }
  if (given("--programs")) {
    options.programs = read_count("--programs", words.programs, kMostPrograms);
  }
  if (given("--knobs")) {
    options.knobs = words.knobs;
  }
  if (given("--threads")) {
    options.workers =
        static_cast<std::uint32_t>(read_count("--threads", words.threads, kMostThreads));
  }
  if (given("--workers")) {
    options.workers =
        static_cast<std::uint32_t>(read_count("--workers", words.workers, kMostThreads));
  }
  bool const needs_trace = name == "replay" || name == "minimize" || name == "explain";
  if (needs_trace && options.paths.empty()) {
    throw InputError{name + " needs a trace file"};
  }
  if (name != "replay" && options.paths.size() > 1) {
    throw InputError{name + " needs one trace file"};
  }
  if (options.text && (options.json || options.output)) {
    throw InputError{"explain: --text writes no page; it goes without --json and --output"};
  }
  return options;
}

std::vector<Command> target_commands() {
  return {{"target",
           "Whether an adapter speaks the engine protocol",
           {{"holdfast target check holdfast-toy", "line by line, and the same program twice"},
            {"holdfast target check holdfast-toy --programs 1000", "with more programs"}},
           define_target,
           read_target_command}};
}

}  // namespace holdfast::tools
