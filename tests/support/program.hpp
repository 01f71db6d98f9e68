// SPDX-License-Identifier: Apache-2.0
// The program that was built, run through a shell as a user would. The test is compiled with
// HOLDFAST_BIN_DIR, the folder of the program.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string content_of(fs::path const& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream stream{text};
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

inline std::string last_line(std::string const& text) {
  std::vector<std::string> const lines = lines_of(text);
  return lines.empty() ? "" : lines.back();
}

/// The lines of the violations in a report for people.
inline std::vector<std::string> violations_of(std::string const& text) {
  std::vector<std::string> violations;
  bool reached = false;
  for (std::string const& line : lines_of(text)) {
    if (reached && line.rfind("  ", 0) == 0) {
      violations.push_back(line);
    }
    reached = reached || line.rfind("violated at operation ", 0) == 0;
  }
  return violations;
}

/// A folder of its own for each test, in which commands run.
class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/holdfast-program-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] fs::path path(std::string const& name) const { return folder_ / name; }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream{path(name)} << text;
  }
  /// Runs a command line of a shell; `holdfast` is the program that was built.
  [[nodiscard]] Outcome shell(std::string const& command) const {
    fs::path const out = path("stdout.txt");
    fs::path const err = path("stderr.txt");
    std::string const line = "cd '" + folder_.string() +
                             "' && PATH='" HOLDFAST_BIN_DIR "':\"$PATH\" && { " + command +
                             "\n} >'" + out.string() + "' 2>'" + err.string() + "'";
    int const status = std::system(line.c_str());  // NOLINT(concurrency-mt-unsafe)
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = content_of(out),
            .err = content_of(err)};
  }
  /// The command fails with this code, says nothing on stdout, and one line with `part` on stderr.
  void expect_refusal(int code, std::string const& command, std::string const& part) const {
    Outcome const outcome = shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_EQ(lines_of(outcome.err).size(), 1U) << command << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << command << "\n" << outcome.err;
  }

  fs::path folder_;
};

}  // namespace holdfast::test
