// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: one latent row a token.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

struct LatentReference {
  using Spec = LatentSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kLatent, &TokenRows::rows, &TokenRows::expect}};

  static PlaneShape shape_of(Spec const& spec, PlaneKind kind) noexcept {
    return {.kind = kind, .elements = spec.width, .formats = {spec.format}};
  }
  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_rows(shape_of(spec, PlaneKind::kLatent));
  }
};

}  // namespace holdfast::model
