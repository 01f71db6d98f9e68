// SPDX-License-Identifier: Apache-2.0
// Changes programs into others that are likely to mean something: whole operations come, go and
// move, names are kept apart, numbers land beside the edges of the geometry.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/geometry_shelf.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {

/// Mutates and crosses programs. The outcome depends on the arguments only.
class ProgramMutator {
 public:
  /// Changes the bytes of a field that is payload; an engine's own mutation, if it has one.
  using ChangeBytes = std::function<void(std::span<std::uint8_t> bytes)>;

  /// `references` are the geometries that programs may change to; at least one. `variants` are those
  /// of other sizes, which get half of the turns, if any.
  ProgramMutator(GeometryShelf& shelf,
                 std::vector<std::string> references,
                 std::vector<std::string> variants = {},
                 ChangeBytes change = {});

  /// Changes a program in one to three ways. One without a geometry that can be run gets one.
  void mutate(model::Trace& program, std::uint64_t seed);
  /// The beginning of one program, then a piece of the other under names of its own.
  [[nodiscard]] model::Trace cross(model::Trace const& a,
                                   model::Trace const& b,
                                   std::uint64_t seed);

 private:
  void change_once(model::Trace& program, model::Source& source);
  void choose_geometry(model::Trace& program, model::Source& source);
  void grow(model::Trace& program, std::size_t at, std::uint32_t count, model::Source& source);
  void change_number(model::Trace& program, std::size_t at, model::Source& source);
  /// The model after the first operations of a program.
  model::Model& model_at(model::Trace const& program, std::size_t at);

  GeometryShelf& shelf_;
  std::vector<std::string> references_;
  std::vector<std::string> variants_;
  ChangeBytes change_bytes_;
};

}  // namespace holdfast::fuzz
