// SPDX-License-Identifier: Apache-2.0
// Goal: what documents tell a reader to type works. Method: the shell blocks of README run in their
// order, through the program that was built; elsewhere, every command and option that a document names
// must be one that the program has.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

fs::path const kSource = HOLDFAST_SOURCE_DIR;

std::vector<fs::path> documents() {
  std::vector<fs::path> paths;
  for (char const* folder : {".", "docs", "docs/decisions", "corpus"}) {
    for (fs::directory_entry const& entry : fs::directory_iterator{kSource / folder}) {
      if (entry.path().extension() == ".md") {
        paths.push_back(entry.path());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The lines of the blocks of shell, in order; what ends in a backslash is one line with the next.
std::vector<std::string> shell_lines(std::string const& document) {
  std::vector<std::string> lines;
  bool inside = false;
  bool goes_on = false;
  for (std::string line : lines_of(document)) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```sh";
      continue;
    }
    if (!inside) {
      continue;
    }
    bool const is_begun = goes_on;
    goes_on = !line.empty() && line.back() == '\\';
    if (goes_on) {
      line.pop_back();
    }
    if (is_begun) {
      lines.back() += line;
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

/// `code` in the text, outside of blocks.
std::vector<std::string> inline_code(std::string const& document) {
  static std::regex const code{"`([^`\n]+)`"};
  std::vector<std::string> found;
  bool in_fence = false;
  for (std::string const& line : lines_of(document)) {
    in_fence = in_fence != (line.rfind("```", 0) == 0);
    for (std::sregex_iterator one{line.begin(), line.end(), code};
         !in_fence && one != std::sregex_iterator{};
         ++one) {
      found.push_back((*one)[1].str());
    }
  }
  return found;
}

std::string without_comment(std::string const& line) {
  std::string text = line.substr(0, line.find(" #"));
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return text;
}

using Documents = Program;

TEST_F(Documents, ReadmeRuns) {
  // The whole table of seeded bugs takes its time, and has a test of its own.
  std::map<std::string, std::string> const quicker = {
      {"holdfast mutants", "holdfast mutants --only half_step"}};
  fs::create_directory_symlink(kSource / "corpus", path("corpus"));
  std::string variables;
  std::size_t ran = 0;
  for (std::string const& line : shell_lines(content_of(kSource / "README.md"))) {
    std::string command = without_comment(line);
    if (command.rfind("bug=", 0) == 0) {
      variables = command + "; ";
    }
    if (command.rfind("holdfast ", 0) != 0) {
      continue;
    }
    if (auto const found = quicker.find(command); found != quicker.end()) {
      command = found->second;
    }
    // The bug is found, and found again; what looks at it afterwards does its work.
    static std::regex const found_bug{
        "^holdfast ((run|replay) .*--mutant|(run|replay|explain) .*--target .*--bug)"};
    bool const fails = std::regex_search(command, found_bug);
    Outcome const outcome = shell(variables + command);
    EXPECT_EQ(outcome.code, fails ? 1 : 0) << command << "\n" << outcome.out << outcome.err;
    if (command.rfind("holdfast minimize", 0) == 0) {
      EXPECT_NE(outcome.out.find(" -> 4, "), std::string::npos) << "README says four operations\n"
                                                                << outcome.out;
    }
    ++ran;
  }
  EXPECT_GE(ran, 9U);
  std::string const page = content_of(path("small.html"));
  EXPECT_NE(page.find("Operation 3, rollback, breaks LEN"), std::string::npos)
      << page.substr(0, 4000);
}

/// What the program has: options by command.
std::map<std::string, std::set<std::string>> known_options(Json const& manual) {
  std::map<std::string, std::set<std::string>> known;
  for (Json const& command : manual.at("commands")) {
    std::set<std::string>& options = known[command.at("name").get<std::string>()];
    for (Json const& word : command.at("words")) {
      options.insert(word.at("name").get<std::string>());
    }
  }
  return known;
}

TEST_F(Documents, NameCommandsThatThereAre) {
  auto const known = known_options(Json::parse(shell("holdfast manual --json").out));
  static std::regex const call{"(?:^|[ /;(])holdfast ([a-z-]+)((?: [^;|`#>]*)?)"};
  static std::regex const option{"(--[a-z][a-z-]*)"};
  static std::regex const quoted{"\"[^\"]*\""};
  std::size_t calls = 0;
  for (fs::path const& document : documents()) {
    std::string const text = content_of(document);
    std::vector<std::string> lines = shell_lines(text);
    for (std::string const& code : inline_code(text)) {
      lines.push_back(code);
    }
    for (std::string const& line : lines) {
      std::smatch found;
      if (!std::regex_search(line, found, call)) {
        continue;
      }
      ++calls;
      auto const command = known.find(found[1].str());
      ASSERT_NE(command, known.end()) << document << ": there is no command: " << line;
      // What stands in quotation marks is the command of somebody else.
      std::string const words = std::regex_replace(found[2].str(), quoted, "");
      for (std::sregex_iterator one{words.begin(), words.end(), option};
           one != std::sregex_iterator{};
           ++one) {
        EXPECT_EQ(command->second.count((*one)[1].str()), 1U)
            << document << ": there is no " << (*one)[1].str() << ": " << line;
      }
    }
  }
  EXPECT_GT(calls, 40U);
}

TEST_F(Documents, NameWhatTheScriptDoes) {
  std::string const help = shell("'" + kSource.string() + "/dev' help").out;
  static std::regex const call{"\\./dev ([a-z][a-z-]*)"};
  std::size_t calls = 0;
  for (fs::path const& document : documents()) {
    std::string const text = content_of(document);
    for (std::sregex_iterator one{text.begin(), text.end(), call}; one != std::sregex_iterator{};
         ++one) {
      ++calls;
      EXPECT_NE(help.find("./dev " + (*one)[1].str()), std::string::npos)
          << document << ": ./dev help does not know " << (*one)[0].str();
    }
  }
  EXPECT_GT(calls, 15U);
}

}  // namespace
}  // namespace holdfast::test
