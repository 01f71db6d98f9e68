// SPDX-License-Identifier: Apache-2.0
#include "fuzz/geometry_shelf.hpp"

#include <algorithm>
#include <holdfast/cache.hpp>
#include <utility>

namespace holdfast::fuzz {
namespace {

constexpr std::size_t kMostPlaces = 256;  // those of a swarm, and some

}  // namespace

ShelvedGeometry::ShelvedGeometry(model::Geometry known, RunnerOptions const& options)
    : geometry{std::move(known)},
      runner{geometry, options},
      model{model::make_model_shape(geometry.layout)},
      generator{geometry.mix} {}

ShelvedGeometry* GeometryShelf::find(std::string const& reference) {
  auto const known = std::find_if(places_.begin(), places_.end(), [&](Place const& place) {
    return place.reference == reference;
  });
  if (known != places_.end()) {
    places_.splice(places_.begin(), places_, known);
  } else {
    places_.push_front({reference, make(reference)});
    if (places_.size() > kMostPlaces) {
      places_.pop_back();
    }
  }
  return places_.front().known.get();
}

std::unique_ptr<ShelvedGeometry> GeometryShelf::make(std::string const& reference) const {
  try {
    model::Geometry geometry = model::geometry_from_reference(reference);
    auto const needed = bytes_needed(geometry.layout);
    if (!needed || needed->devices + needed->pinned > most_bytes_) {
      return nullptr;
    }
    return std::make_unique<ShelvedGeometry>(std::move(geometry), options_);
  } catch (model::InputError const&) {
    return nullptr;
  }
}

}  // namespace holdfast::fuzz
