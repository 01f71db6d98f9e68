// SPDX-License-Identifier: Apache-2.0
#include "tools/setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <holdfast/cache.hpp>
#include <holdfast/device.hpp>
#include <vector>

#include "fuzz/generator.hpp"
#include "fuzz/mutants.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {

namespace {

/// Memory is promised freely and taken away without a word: what cannot be there is refused before.
void check_memory(Layout const& layout, std::string const& origin) {
  auto const needed = bytes_needed(layout);
  auto const present = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed && needed->devices + needed->pinned > present) {
    constexpr double kMebi = 1024.0 * 1024.0;
    throw EnvironmentError{
        fmt::format("{}: its cache needs {:.0f} MiB, this machine has {:.0f} MiB",
                    origin,
                    static_cast<double>(needed->devices + needed->pinned) / kMebi,
                    static_cast<double>(present) / kMebi)};
  }
}

}  // namespace

void check_geometry(model::Geometry const& geometry, std::string const& origin) {
  try {
    fuzz::Generator const generator{geometry.mix};
  } catch (model::InputError const& error) {
    throw model::InputError{origin + ": " + error.what()};
  }
  check_memory(geometry.layout, origin);
  auto const device = make_host_device();
  std::vector<Device*> const devices(std::size_t{geometry.layout.ranks} * geometry.layout.stages,
                                     device.get());
  auto cache = Cache::create(geometry.layout, devices);
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
  for (std::string const& name : names.empty() ? model::default_geometry_names() : names) {
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
