// SPDX-License-Identifier: Apache-2.0
// Where fuzz targets are.
#pragma once

#include <string>

namespace holdfast::tools {

/// Path of a program of another preset, whose folder is beside that of this program's.
std::string in_preset(std::string const& preset, std::string const& program);

/// Path of a target that libFuzzer drives: beside this program, or else in the preset fuzz. "" when
/// there is none.
std::string driven_target(std::string const& name, bool with_mutants);

/// The same. Throws EnvironmentError when there is none.
std::string required_target(std::string const& name, bool with_mutants);

}  // namespace holdfast::tools
