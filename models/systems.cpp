// SPDX-License-Identifier: Apache-2.0
// The list of systems: one line each.
#include "models/systems.hpp"

#include <algorithm>
#include <string>

#include "models/copying/copying_system.hpp"
#include "models/engine/holdfast_system.hpp"
#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

std::unique_ptr<System> make_holdfast(SystemPlace const& place) {
  auto system = std::make_unique<HoldfastSystem>(place.layout, place.devices, place.engine);
  system->read_prompts_of(place.model);
  return system;
}

std::unique_ptr<System> make_copying(SystemPlace const& place) {
  return std::make_unique<copying::CopyingSystem>(place.model);
}

constexpr SystemInfo kSystems[] = {
    {.name = "holdfast",
     .text = "the library, driven by the toy engine",
     .offers = Facet::kVisible | Facet::kInternals | Facet::kDevices | Facet::kReasons,
     .keeps_all = false,
     .make = &make_holdfast},
    {.name = "copying",
     .text = "rows and states by value, no pages, no sharing: what a cache means",
     .offers = Facet::kVisible,
     .keeps_all = true,
     .make = &make_copying},
};

constexpr char const* kFacets[] = {"visible", "internals", "devices", "reasons"};

}  // namespace

std::string text_of(Facets facets) {
  std::string text;
  for (unsigned i = 0; i < std::size(kFacets); ++i) {
    if (facets.has_all_of(static_cast<Facet>(i))) {
      text += (text.empty() ? "" : ", ") + std::string{kFacets[i]};
    }
  }
  return text;
}

std::span<SystemInfo const> all_systems() noexcept {
  return kSystems;
}

SystemInfo const* find_system(std::string_view name) noexcept {
  auto const* const found = std::find_if(
      std::begin(kSystems), std::end(kSystems), [&](auto const& one) { return one.name == name; });
  return found == std::end(kSystems) ? nullptr : found;
}

SystemInfo const& system_named(std::string_view name) {
  if (SystemInfo const* const found = find_system(name)) {
    return *found;
  }
  std::vector<std::string> names;
  std::string known;
  for (SystemInfo const& one : kSystems) {
    names.emplace_back(one.name);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  throw InputError{"unknown system '" + std::string{name} + "'" +
                   did_you_mean(std::string{name}, names) + "; known: " + known};
}

ModelShape shape_for(SystemInfo const& system, Layout const& layout) {
  ModelShape shape = make_model_shape(layout);
  if (system.keeps_all) {
    shape.keeps_all = true;
    shape.windows.clear();  // a window that forgets nothing is rows like any other
    std::fill(shape.window_of_plane.begin(), shape.window_of_plane.end(), kWindowLimit);
  }
  return shape;
}

}  // namespace holdfast::model
