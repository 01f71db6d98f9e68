// SPDX-License-Identifier: Apache-2.0
// MLA latent rows [width] of the layers of one shape.
#pragma once

#include "planes/paged_plane.hpp"

namespace holdfast::internal::planes {

/// MLA latent rows [width] of the layers of one shape.
class LatentPlane : public PagedPlane {
 public:
  static constexpr PlaneKind kKind = PlaneKind::kLatent;
};

}  // namespace holdfast::internal::planes
