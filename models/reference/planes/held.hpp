// SPDX-License-Identifier: Apache-2.0
// Held side state: no rows; its contents live in the history itself.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

struct HeldReference {
  using Spec = HeldSpec;
  static constexpr std::array<ReferencePlane, 0> kPlanes = {};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_state({.kind = PlaneKind::kHeld, .advance = &advance_held, .held = spec.elements});
  }
};

}  // namespace holdfast::model
