// SPDX-License-Identifier: Apache-2.0
#include "tools/setup.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/device.hpp>

#include "fuzz/generator.hpp"
#include "fuzz/mutants.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {

void check_geometry(model::Geometry const& geometry, std::string const& origin) {
  try {
    fuzz::Generator const generator{geometry.mix};
  } catch (model::InputError const& error) {
    throw model::InputError{origin + ": " + error.what()};
  }
  auto const device = make_host_device();
  auto cache = Cache::create(geometry.layout, *device);
  if (cache) {
    return;
  }
  std::string const line = origin + ": " + describe(cache.error());
  if (cache.error().code == ErrorCode::kOutOfMemory) {
    throw EnvironmentError{line};
  }
  throw model::InputError{line};
}

std::vector<model::Geometry> load_geometries(std::vector<std::string> const& names) {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : names.empty() ? model::built_in_geometry_names() : names) {
    geometries.push_back(model::load_geometry(name));
    check_geometry(geometries.back(), name);
  }
  return geometries;
}

void turn_on_mutant(std::optional<std::string> const& name) {
  if (name && !fuzz::select_mutant(*name)) {
    throw EnvironmentError{"the mutant build of the library has no '" + *name + "'"};
  }
}

}  // namespace holdfast::tools
