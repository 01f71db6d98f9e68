// SPDX-License-Identifier: Apache-2.0
// Coverage on disk.
#pragma once

#include <string>

#include "models/lineage/coverage.hpp"

namespace holdfast::tools {

/// Throws InputError when the file is missing, unreadable, or no coverage.
[[nodiscard]] model::Coverage load_coverage(std::string const& path);

/// Adds to what the file has, if there is one; it is replaced at once or not at all.
/// Throws InputError when what is there is no coverage, EnvironmentError when it cannot be written.
void add_to_coverage_file(std::string const& path, model::Coverage coverage);

}  // namespace holdfast::tools
