// SPDX-License-Identifier: Apache-2.0
// Full-attention K and V rows [2, heads, head_dim] of the layers of one shape.
#pragma once

#include "planes/paged_plane.hpp"

namespace holdfast::internal::planes {

/// Full-attention K and V rows [2, heads, head_dim] of the layers of one shape.
class AttentionKvPlane : public PagedPlane {
 public:
  static constexpr PlaneKind kKind = PlaneKind::kAttentionKv;
};

}  // namespace holdfast::internal::planes
