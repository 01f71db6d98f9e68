// SPDX-License-Identifier: Apache-2.0
// The commands. Each returns its exit code and throws InputError or EnvironmentError.
#pragma once

#include "tools/options.hpp"

namespace holdfast::tools {

int execute(HelpOptions const& options);
int execute(RunOptions const& options);
int execute(ReplayOptions const& options);
int execute(MinimizeOptions const& options);
int execute(ExplainOptions const& options);
int execute(FuzzOptions const& options);
int execute(FuzzWorkerOptions const& options);
int execute(GateOptions const& options);
int execute(CoverageOptions const& options);
int execute(DoctorOptions const& options);
int execute(ListOptions const& options);
int execute(ManualOptions const& options);
int execute(MutantsOptions const& options);
int execute(TargetOptions const& options);

}  // namespace holdfast::tools
