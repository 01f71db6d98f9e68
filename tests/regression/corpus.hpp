// SPDX-License-Identifier: Apache-2.0
// The files of corpus/, and what the comments of a regression trace say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "fuzz/runner.hpp"
#include "models/trace.hpp"

namespace holdfast::test {

/// Root of the repository's corpus.
inline std::string corpus_folder() {
  return HOLDFAST_SOURCE_DIR "/corpus";
}

/// Every *.trace below `folder`, sorted; empty when there is no such folder.
inline std::vector<std::string> traces_below(std::string const& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator entry{folder, error}, end; !error && entry != end;
       entry.increment(error)) {
    bool const is_ours = entry->path().string().find("/engines/") == std::string::npos;
    if (is_ours && entry->path().extension() == ".trace") {
      paths.push_back(entry->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string text_of_file(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Words between spaces.
inline std::vector<std::string> words_of(std::string const& text) {
  std::istringstream stream{text};
  return {std::istream_iterator<std::string>{stream}, {}};
}

/// What stands in the first two comments of a regression trace.
struct RowComment {
  bool valid = false;
  std::string row;                 // "A1", "seed 3"
  std::string thread;              // "vllm #39273"
  std::vector<std::string> holds;  // ids of invariants
  std::string mutant;              // "" when no seeded bug brings it back
};

/// Reads "# ROW (THREAD): what broke there. Holds: ID ID." and "# mutant: NAME".
inline RowComment row_comment(model::Trace const& trace) {
  static std::regex const first_line(
      R"( ([A-M][0-9]+|seed [0-9]+|seed red-proof|seed upstream|own) \(([^()]+)\): .+\. Holds: ([A-Z ]+)\.)");
  static std::regex const second_line(" mutant: ([a-z_]+)");
  RowComment comment;
  std::smatch match;
  if (!trace.comments.empty() && std::regex_match(trace.comments[0], match, first_line)) {
    comment = {.valid = true,
               .row = match[1].str(),
               .thread = match[2].str(),
               .holds = words_of(match[3].str())};
  }
  if (trace.comments.size() > 1 && std::regex_match(trace.comments[1], match, second_line)) {
    comment.mutant = match[1].str();
  }
  return comment;
}

/// Name of a file without its folder and its end, as GoogleTest wants it.
inline std::string test_name(testing::TestParamInfo<std::string> const& info) {
  std::string name = std::filesystem::path{info.param}.stem().string();
  for (char& letter : name) {
    letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  }
  return name;
}

/// Every violation on a line of its own.
inline std::string describe_failure(fuzz::Failure const& failure) {
  std::string text = "at operation " + std::to_string(failure.op_index) + "\n";
  for (invariant::Violation const& violation : failure.violations) {
    text += violation.id + std::string{" "} + violation.holder + ": " + violation.text + "\n";
  }
  return text;
}

}  // namespace holdfast::test
