// SPDX-License-Identifier: Apache-2.0
// The command line, checked whole before anything starts.
#pragma once

#include "tools/options.hpp"

namespace holdfast::tools {

/// Throws InputError with one line that says what is wrong, and EnvironmentError for a device that
/// this program does not have.
Options parse_command_line(int argc, char const* const* argv);

}  // namespace holdfast::tools
