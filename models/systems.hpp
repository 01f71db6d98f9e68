// SPDX-License-Identifier: Apache-2.0
// The systems that can be put under test, and how each is made.
#pragma once

#include <holdfast/layout.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "models/engine/toy_engine.hpp"
#include "models/system.hpp"

namespace holdfast::model {

/// What a system is made of. It outlives the system.
struct SystemPlace {
  Layout const& layout;
  Model const& model;                // of the program; an engine knows its tokens
  std::span<Device* const> devices;  // one for each rank of each stage
  ToyEngine& engine;                 // writes through the library's calls
};

/// What the harness may look at.
enum class Facet : std::uint8_t {
  kVisible,    // positions, lengths, rows and states: of every system
  kInternals,  // tables, references, records, free storage
  kDevices,    // what devices were asked to do
  kReasons,    // why a call is refused, and the figures of its answers
};

/// A set of facets.
struct Facets {
  std::uint8_t bits = 0;
  constexpr Facets() = default;
  constexpr Facets(Facet one)  // NOLINT(google-explicit-constructor): one facet is a set of one
      : bits{static_cast<std::uint8_t>(1U << static_cast<unsigned>(one))} {}
  [[nodiscard]] constexpr bool has_all_of(Facets wanted) const noexcept {
    return (wanted.bits & ~bits) == 0;
  }
  friend constexpr Facets operator|(Facets a, Facets b) noexcept {
    Facets both;
    both.bits = a.bits | b.bits;
    return both;
  }
  friend constexpr bool operator==(Facets, Facets) = default;
};
constexpr Facets operator|(Facet a, Facet b) noexcept {
  return Facets{a} | Facets{b};
}
/// "visible, internals".
[[nodiscard]] std::string text_of(Facets facets);

/// One line of the list of systems.
struct SystemInfo {
  char const* name;
  char const* text;
  Facets offers;
  /// It keeps everything by value: nothing lacks storage, no window forgets a row, and every drop is
  /// exact. The model then predicts what meaning allows instead of what the library's storage does.
  bool keeps_all;
  std::unique_ptr<System> (*make)(SystemPlace const& place);
};

/// All systems; the library's is the first.
[[nodiscard]] std::span<SystemInfo const> all_systems() noexcept;
/// nullptr for an unknown name.
[[nodiscard]] SystemInfo const* find_system(std::string_view name) noexcept;
/// Throws InputError with the names that are known.
[[nodiscard]] SystemInfo const& system_named(std::string_view name);
/// The library.
[[nodiscard]] inline SystemInfo const& library_system() noexcept {
  return all_systems().front();
}

/// The model of a layout for a system. Throws InputError, as make_model_shape().
[[nodiscard]] ModelShape shape_for(SystemInfo const& system, Layout const& layout);

}  // namespace holdfast::model
