// SPDX-License-Identifier: Apache-2.0
// Goal: what README shows is what the tests compile. Method: the section between the markers of the
// example, unindented, must stand in README word for word.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace
}  // namespace holdfast::test
