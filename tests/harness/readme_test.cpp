// SPDX-License-Identifier: Apache-2.0
// Goal: documents say what the code does. Method: the section between the markers of the example,
// unindented, must stand in README word for word, and so must what the other examples print; a generated page must be what is generated now.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "fuzz/invariants_page.hpp"
#include "fuzz/mutants.hpp"
#include "fuzz/order_page.hpp"

namespace holdfast::test {
namespace {

std::string read(std::string const& name) {
  std::ifstream file{std::string{HOLDFAST_SOURCE_DIR} + "/" + name};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Readme, ShowsTheUsageSectionOfTheExample) {
  std::istringstream lines{read("examples/first_cache.cpp")};
  std::string section;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("// [usage end]") != std::string::npos) {
      inside = false;
    }
    if (inside) {
      section += (line.rfind("  ", 0) == 0 ? line.substr(2) : line) + "\n";
    }
    if (line.find("// [usage]") != std::string::npos) {
      inside = true;
    }
  }
  ASSERT_FALSE(section.empty());
  EXPECT_NE(read("README.md").find("```cpp\n" + section + "```\n"), std::string::npos) << section;
}

std::string output_of(std::string const& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): our own program
  if (pipe == nullptr) {
    return "cannot run " + command;
  }
  for (int letter = std::fgetc(pipe); letter != EOF; letter = std::fgetc(pipe)) {
    text += static_cast<char>(letter);
  }
  return pclose(pipe) == 0 ? text : text + command + " failed";
}

TEST(Readme, ShowsWhatTheExamplesPrint) {
  for (char const* const name : {"speculative_decode", "prefix_reuse"}) {
    std::string const output = output_of(HOLDFAST_EXAMPLES_DIR "/example_" + std::string{name});
    EXPECT_NE(read("README.md").find("```text\n" + output + "```\n"), std::string::npos)
        << name << " prints\n"
        << output;
  }
}

TEST(InvariantsPage, IsFresh) {
  EXPECT_EQ(read("docs/INVARIANTS.md"), fuzz::invariants_page())
      << "holdfast list invariants --markdown > docs/INVARIANTS.md";
}

TEST(OrderPage, IsFresh) {
  EXPECT_EQ(read("docs/ORDER.md"), fuzz::order_page())
      << "holdfast list order --markdown > docs/ORDER.md";
}

TEST(OrderPage, EveryRuleHasBugsThatBreakItAndAFileThatKeepsIt) {
  std::set<std::string> known;
  std::set<std::string> of_streams;
  for (fuzz::MutantInfo const& mutant : fuzz::all_mutants()) {
    known.insert(mutant.name);
    bool const is_of_cost = std::string_view{mutant.killers} == "COST";
    if (mutant.needs_streams && !is_of_cost) {
      of_streams.insert(mutant.name);
    }
  }
  EXPECT_GE(of_streams.size(), 15U);
  for (fuzz::OrderRule const& rule : fuzz::all_order_rules()) {
    EXPECT_TRUE(std::filesystem::exists(std::string{HOLDFAST_SOURCE_DIR} + "/" + rule.where))
        << rule.where;
    std::istringstream words{rule.mutants};
    std::uint32_t count = 0;
    for (std::string name; words >> name; ++count) {
      EXPECT_TRUE(known.contains(name)) << rule.name << " names " << name;
      of_streams.erase(name);
    }
    EXPECT_GT(count, 0U) << rule.name;
  }
  for (std::string const& name : of_streams) {
    ADD_FAILURE() << name << " shows only where streams run later, and breaks no rule of order";
  }
}

TEST(InvariantsPage, LinksToAFileOfEachInvariant) {
  std::istringstream lines{fuzz::invariants_page()};
  std::uint32_t links = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t const first = line.find("](../invariants/");
    if (line.rfind("| [", 0) == 0 && first != std::string::npos) {
      std::string const file = line.substr(first + 5, line.find(')', first) - first - 5);
      EXPECT_TRUE(std::filesystem::exists(std::string{HOLDFAST_SOURCE_DIR} + "/" + file)) << file;
      ++links;
    }
  }
  EXPECT_GE(links, 16U);
}

}  // namespace
}  // namespace holdfast::test
