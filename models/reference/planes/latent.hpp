// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: one latent row a token.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

struct LatentReference {
  using Spec = LatentSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kLatent, &TokenRows::rows, &TokenRows::expect}};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_rows({.kind = PlaneKind::kLatent, .elements = spec.width, .format = spec.format});
  }
};

}  // namespace holdfast::model
