// SPDX-License-Identifier: Apache-2.0
// CLI11 splits the words; their meaning is checked by each command, so that every complaint is one
// line in the same voice.
#include "tools/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"
#include "tools/command.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {
namespace {

using model::InputError;

std::string footer_of(Command const& command) {
  std::size_t width = 0;
  for (Example const& example : command.examples) {
    width = std::max(width, std::string_view{example.line}.size());
  }
  std::string text = "Examples:\n";
  for (Example const& example : command.examples) {
    text += fmt::format("  {:<{}}  # {}\n", example.line, width, example.what);
  }
  return text;
}

std::vector<std::string> options_of(CLI::App const& app) {
  std::vector<std::string> names;
  for (CLI::Option const* option : app.get_options()) {
    for (std::string const& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

[[noreturn]] void refuse_extra(CLI::App const& app, std::string word, std::string const& where) {
  if (word.size() < 2 || word.front() != '-') {
    throw InputError{"unexpected '" + word + "'" + where};
  }
  word = word.substr(0, word.find('='));
  throw InputError{"unknown option '" + word + "'" + where +
                   model::did_you_mean(word, options_of(app))};
}

/// The command that was chosen; complains about words that nobody understood.
CLI::App const& chosen_command(CLI::App const& app, std::vector<Command> const& commands) {
  std::vector<std::string> names;
  std::string known;
  for (Command const& command : commands) {
    if (!command.examples.empty()) {
      names.emplace_back(command.name);
      known += (known.empty() ? "" : ", ") + names.back();
    }
  }
  if (auto const extras = app.remaining(); !extras.empty()) {
    std::string const& word = extras.front();
    if (word.empty() || word.front() != '-') {
      throw InputError{"unknown command '" + word + "'" + model::did_you_mean(word, names) +
                       "; known: " + known};
    }
    refuse_extra(app, word, " before the command");
  }
  if (app.get_subcommands().empty()) {
    throw InputError{"no command; known: " + known + " (see holdfast --help)"};
  }
  CLI::App const& command = *app.get_subcommands().front();
  auto extras = command.remaining();
  if (!extras.empty() && extras.front() == "--") {
    extras.erase(extras.begin());  // the end of the options
  }
  if (!extras.empty()) {
    refuse_extra(command, extras.front(), " after " + command.get_name());
  }
  return command;
}

}  // namespace

std::vector<Command> all_commands() {
  std::vector<Command> all;
  for (auto const& some : {search_commands(),
                           trace_commands(),
                           campaign_commands(),
                           target_commands(),
                           study_commands()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void define_commands(CLI::App& app, Words& words, std::vector<Command> const& commands) {
  app.name("holdfast");
  app.description(
      "Simulates and fuzzes the cache library: random programs of its operations, checked against "
      "a model and by invariants.");
  app.allow_extras();
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Say this");
  app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION, "Say which version this is");
  std::string codes = "Exit codes:\n";
  for (ExitMeaning const& one : kExitMeanings) {
    codes += fmt::format("  {:<4} {}\n", one.codes, one.meaning);
  }
  app.footer("holdfast COMMAND --help has examples of each.\n\n" + codes);
  for (Command const& command : commands) {
    CLI::App* const sub = app.add_subcommand(command.name, command.purpose);
    sub->allow_extras();
    if (command.examples.empty()) {
      sub->group("");  // not for people
    } else {
      sub->footer(footer_of(command));
      sub->add_flag("--json", words.json, "One JSON object on standard output");
    }
    command.define(*sub, words);
  }
}

Options parse_command_line(int argc, char const* const* argv) {
  CLI::App app;
  Words words;
  std::vector<Command> const commands = all_commands();
  define_commands(app, words, commands);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return HelpOptions{app.help()};
  } catch (CLI::CallForVersion const& version) {
    return HelpOptions{std::string{version.what()} + "\n"};
  } catch (CLI::Error const& error) {
    throw InputError{error.what()};
  }
  CLI::App const& chosen = chosen_command(app, commands);
  auto const command = std::find_if(commands.begin(), commands.end(), [&](Command const& one) {
    return one.name == chosen.get_name();
  });
  CLI::Option const* const target = chosen.get_option_no_throw("--target");
  return target != nullptr && target->count() != 0 ? read_with_target(chosen, words)
                                                   : command->read(chosen, words);
}

}  // namespace holdfast::tools
