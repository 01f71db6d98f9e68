// SPDX-License-Identifier: Apache-2.0
// Full attention: one row of K and V a token.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

struct AttentionKvReference {
  using Spec = AttentionKvSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kAttentionKv, &TokenRows::rows, &TokenRows::expect}};

  static PlaneShape shape_of(Spec const& spec, PlaneKind kind) noexcept {
    return {.kind = kind,
            .elements = 2 * spec.heads * spec.head_dim,
            .strips = 2,
            .formats = {spec.format, spec.value_format.value_or(spec.format)},
            .split = true,
            .heads = spec.heads};
  }
  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_rows(shape_of(spec, PlaneKind::kAttentionKv));
  }
};

}  // namespace holdfast::model
