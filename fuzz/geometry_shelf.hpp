// SPDX-License-Identifier: Apache-2.0
// Geometries by their reference, with what is made of each once: for callers that meet many
// programs of many geometries, one after the other.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "fuzz/generator.hpp"
#include "fuzz/runner.hpp"
#include "models/geometry/geometry.hpp"

namespace holdfast::fuzz {

/// One geometry, ready.
struct ShelvedGeometry {
  model::Geometry geometry;
  Runner runner;
  model::Model model;  ///< for whoever wants to go through a program without running it
  Generator generator;

  ShelvedGeometry(model::Geometry known, RunnerOptions const& options);
};

/// Keeps the geometries that were asked for last.
class GeometryShelf {
 public:
  /// Most bytes of devices and pinned memory that a geometry may need.
  static constexpr std::uint64_t kDefaultBytes = 8U << 20U;

  explicit GeometryShelf(RunnerOptions options, std::uint64_t most_bytes = kDefaultBytes)
      : options_{std::move(options)}, most_bytes_{most_bytes} {}

  /// nullptr for a reference that means nothing, or a geometry that is too large. Valid until the
  /// next call.
  [[nodiscard]] ShelvedGeometry* find(std::string const& reference);

 private:
  struct Place {
    std::string reference;
    std::unique_ptr<ShelvedGeometry> known;  // nullptr: refused
  };
  [[nodiscard]] std::unique_ptr<ShelvedGeometry> make(std::string const& reference) const;

  RunnerOptions options_;
  std::uint64_t most_bytes_;
  std::list<Place> places_;  // last asked for first
};

}  // namespace holdfast::fuzz
