// SPDX-License-Identifier: Apache-2.0
// The geometries of a run without --geometry.
#pragma once

#include <string>
#include <vector>

#include "models/geometry/geometry.hpp"

namespace holdfast::test {

inline std::vector<model::Geometry> all_geometries() {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : model::default_geometry_names()) {
    geometries.push_back(model::load_geometry(name));
  }
  return geometries;
}

}  // namespace holdfast::test
