// SPDX-License-Identifier: Apache-2.0
// What commands need before they start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/geometry/geometry.hpp"

namespace holdfast::tools {

/// Throws InputError, with `origin` in front, for a geometry that cannot be run, and
/// EnvironmentError when there is no memory for it.
void check_geometry(model::Geometry const& geometry, std::string const& origin);

/// Loads and checks geometries; none stands for the default ones.
std::vector<model::Geometry> load_geometries(std::vector<std::string> const& names);

/// Turns a mutant on, when there is one to turn on.
void turn_on_mutant(std::optional<std::string> const& name);

}  // namespace holdfast::tools
