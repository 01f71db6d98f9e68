// SPDX-License-Identifier: Apache-2.0
// holdfast manual: the command line as a page for man(1), as a script that completes it in bash, and as
// data. All of it is read off the parser, so that none of it can be out of date.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "tools/command.hpp"
#include "tools/commands.hpp"
#include "tools/process.hpp"
#include "tools/report.hpp"
#include "tools/words.hpp"

namespace holdfast::tools {
namespace {

/// One option or argument.
struct Word {
  std::string names;  // "-o, --output", or "FILE"
  std::string name;   // the long one: "--output"
  std::string value;  // "FILE"; empty for a flag
  std::string text;
  bool is_option = false;
};

Word word_of(CLI::Option const& option) {
  Word word{.value = option.get_type_name(), .text = option.get_description()};
  word.is_option = !option.get_lnames().empty();
  if (!word.is_option) {
    word.names = word.name = option.get_name();
    return word;
  }
  for (std::string const& name : option.get_snames()) {
    word.names += "-" + name + ", ";
  }
  word.name = "--" + option.get_lnames().front();
  word.names += word.name;
  if (option.get_items_expected_max() == 0) {
    word.value.clear();  // a flag
  }
  return word;
}

/// The words of a command that are for people.
std::vector<Word> words_of(CLI::App const& command) {
  std::vector<Word> words;
  for (CLI::Option const* option : command.get_options()) {
    if (!option->get_group().empty()) {
      words.push_back(word_of(*option));
    }
  }
  return words;
}

/// A command and its parser.
struct ForPeople {
  Command command;
  CLI::App const* parser;
};

std::vector<ForPeople> commands_for_people(CLI::App const& app, std::vector<Command> const& all) {
  std::vector<ForPeople> known;
  for (Command const& command : all) {
    if (!command.examples.empty()) {
      known.push_back({command, app.get_subcommand(command.name)});
    }
  }
  return known;
}

/// Text for troff: nothing in it is a request or an escape.
std::string troff(std::string_view text) {
  std::string out;
  for (char const letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return out.empty() || (out.front() != '.' && out.front() != '\'') ? out : "\\&" + out;
}

std::string page_entry(Word const& word) {
  std::string line = fmt::format(".TP\n\\fB{}\\fR", troff(word.names));
  if (!word.value.empty()) {
    line += fmt::format(" \\fI{}\\fR", troff(word.value));
  }
  return line + "\n" + troff(word.text) + "\n";
}

std::string page_section(ForPeople const& known) {
  std::string text = fmt::format(".SS \"holdfast {}\"\n{}\n",
                                 known.command.name,
                                 troff(known.command.purpose + std::string{"."}));
  for (Word const& word : words_of(*known.parser)) {
    if (word.name != "--help") {
      text += page_entry(word);
    }
  }
  text += ".PP\nExamples:\n.PP\n.nf\n.RS\n";
  for (Example const& example : known.command.examples) {
    text += fmt::format("# {}\n{}\n", troff(example.what), troff(example.line));
  }
  return text + ".RE\n.fi\n";
}

std::string manual_page(CLI::App const& app, std::vector<ForPeople> const& commands) {
  std::string text = fmt::format(
      ".TH HOLDFAST 1 \"\" \"holdfast {}\" \"User Commands\"\n"
      ".SH NAME\nholdfast \\- simulates and fuzzes the cache library\n"
      ".SH SYNOPSIS\n\\fBholdfast\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIFILE\\fR]...\n"
      ".SH DESCRIPTION\n{}\n"
      ".PP\nCommands that take \\fB\\-\\-mutant\\fR, and \\fBmutants\\fR, go on as "
      "\\fBholdfast\\-mutants\\fR,\nthe same program over a build of the library with seeded bugs, "
      "which lies beside it.\n.SH OPTIONS\n",
      HOLDFAST_VERSION,
      troff(app.get_description()));
  for (Word const& word : words_of(app)) {
    text += page_entry(word);
  }
  text += ".SH COMMANDS\n";
  for (ForPeople const& known : commands) {
    text += page_section(known);
  }
  text += ".SH EXIT STATUS\n";
  for (ExitMeaning const& one : kExitMeanings) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", one.codes, troff(one.meaning));
  }
  return text +
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nWhen it is set, nothing is in colour; nor is it "
         "where "
         "standard output is no terminal,\nor \\fBTERM\\fR is dumb.\n";
}

/// "--device|--mutant" and so on in a case, with the values that follow.
std::string value_cases(ForPeople const& known) {
  std::string text;
  for (Word const& word : words_of(*known.parser)) {
    std::vector<std::string> const values = known_values(known.command.name, word.name);
    if (word.is_option && !values.empty()) {
      text += fmt::format(
          "    '{} {}') values='{}' ;;\n", known.command.name, word.name, fmt::join(values, " "));
    } else if (word.is_option && !word.value.empty()) {
      bool const is_path = word.value.find("FILE") != std::string::npos || word.value == "FOLDER" ||
                           word.value == "PATH" || word.value == "PROGRAM";
      text += fmt::format(
          "    '{} {}') {} ;;\n", known.command.name, word.name, is_path ? "files=1" : "return");
    }
  }
  return text;
}

/// The case of what may come next where no option waits for its value.
std::string word_case(ForPeople const& known) {
  std::string options;
  std::string values;
  bool takes_files = false;
  for (Word const& word : words_of(*known.parser)) {
    if (word.is_option) {
      options += (options.empty() ? "" : " ") + word.name;
    } else if (auto const names = known_values(known.command.name, word.name); !names.empty()) {
      values = fmt::format("{}", fmt::join(names, " "));
    } else {
      takes_files = true;
    }
  }
  return fmt::format("    {}) options='{}' values='{}' files={} ;;\n",
                     known.command.name,
                     options,
                     values,
                     takes_files ? "1" : "");
}

std::string completion_script(CLI::App const& app, std::vector<ForPeople> const& commands) {
  std::string names;
  std::string of_option;
  std::string of_command;
  for (ForPeople const& known : commands) {
    names += (names.empty() ? "" : " ") + std::string{known.command.name};
    of_option += value_cases(known);
    of_command += word_case(known);
  }
  std::string top;
  for (Word const& word : words_of(app)) {
    top += (top.empty() ? "" : " ") + word.name;
  }
  return fmt::format(
      "# Completes the command line of holdfast in bash: . <(holdfast manual completion)\n"
      "_holdfast() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n"
      "  local command='' options='' values='' files='' i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ \"${{COMP_WORDS[i]}}\" != -* ]]; then\n"
      "      command=\"${{COMP_WORDS[i]}}\"\n"
      "      break\n"
      "    fi\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"$command $before\" in\n{}"
      "    *) ;;\n"
      "  esac\n"
      "  if [[ -z \"$values$files\" ]]; then\n"
      "    case \"$command\" in\n"
      "    '') options='{}' values='{}' ;;\n{}"
      "    esac\n"
      "  fi\n"
      "  [[ \"$word\" == -* ]] || options=''\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$options $values\" -- \"$word\")\n"
      "  if [[ -n \"$files\" && \"$word\" != -* ]]; then\n"
      "    mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -f -- \"$word\")\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _holdfast holdfast holdfast-mutants\n",
      of_option,
      top,
      names,
      of_command);
}

Json command_json(ForPeople const& known) {
  Json examples = Json::array();
  for (Example const& example : known.command.examples) {
    examples.push_back({{"line", example.line}, {"what", example.what}});
  }
  Json words = Json::array();
  for (Word const& word : words_of(*known.parser)) {
    words.push_back({{"name", word.name},
                     {"is_option", word.is_option},
                     {"value", word.value.empty() ? Json() : Json(word.value)},
                     {"text", word.text},
                     {"known", known_values(known.command.name, word.name)}});
  }
  return {{"name", known.command.name},
          {"purpose", known.command.purpose},
          {"examples", std::move(examples)},
          {"words", std::move(words)}};
}

Json manual_data(std::vector<ForPeople> const& commands) {
  Json json = {
      {"version", HOLDFAST_VERSION}, {"exit_codes", Json::array()}, {"commands", Json::array()}};
  for (ExitMeaning const& one : kExitMeanings) {
    json["exit_codes"].push_back({{"codes", one.codes}, {"meaning", one.meaning}});
  }
  for (ForPeople const& known : commands) {
    json["commands"].push_back(command_json(known));
  }
  return json;
}

}  // namespace

int execute(ManualOptions const& options) {
  CLI::App app;
  Words words;
  std::vector<Command> const all = all_commands();
  define_commands(app, words, all);
  std::vector<ForPeople> const commands = commands_for_people(app, all);
  if (options.json) {
    print(text_of(manual_data(commands)));
  } else {
    print(options.topic == "completion" ? completion_script(app, commands)
                                        : manual_page(app, commands));
  }
  return kExitHeld;
}

}  // namespace holdfast::tools
