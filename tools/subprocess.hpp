// SPDX-License-Identifier: Apache-2.0
// Other programs, run to their end.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast::tools {

/// What a program said, and how it ended.
struct Captured {
  int status = -1;  ///< as of waitpid(); 127 is the exit code of one that could not be started
  std::string out;
  std::string err;
};

/// Runs a program, found in PATH when its name has no '/'. Throws std::system_error.
Captured run_program(std::vector<std::string> const& words);

/// Its standard output when it ended well.
std::optional<std::string> output_of(std::vector<std::string> const& words);

/// Path of a program beside this one.
std::string beside(std::string const& name);

/// The commit that is checked out here; none outside of a repository.
std::optional<std::string> commit_here();

}  // namespace holdfast::tools
