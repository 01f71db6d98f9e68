// SPDX-License-Identifier: Apache-2.0
// What the commands on other engines share.
#pragma once

#include <string>
#include <vector>

#include "fuzz/target/engine_minimize.hpp"
#include "tools/options.hpp"
#include "tools/report.hpp"

namespace holdfast::tools {

/// The target of a file or of a command line.
[[nodiscard]] fuzz::Target load_target(TargetOptions const& options);
/// `command FILE --target ...` as a user would type it.
[[nodiscard]] std::string target_command(TargetOptions const& options,
                                         std::vector<std::string> words);
[[nodiscard]] std::string engine_name(fuzz::Session& session);
/// A finding as a trace, with what it shows in front.
[[nodiscard]] std::string trace_of(fuzz::Target const& target,
                                   std::string const& engine,
                                   fuzz::EngineProgram const& program,
                                   std::string const& shows);
[[nodiscard]] Json json_of(fuzz::Calibration const& calibration);

int run_target(TargetOptions const& options);
int fuzz_target(TargetOptions const& options);
int list_target(TargetOptions const& options);
int check_target(TargetOptions const& options);
int replay_on_target(TargetOptions const& options);
int minimize_on_target(TargetOptions const& options);
int explain_on_target(TargetOptions const& options);
int gate_on_target(TargetOptions const& options);

}  // namespace holdfast::tools
