// SPDX-License-Identifier: Apache-2.0
// Pool keys [key_width], derived from indexer rows; final once all rows of the pool are committed.
#pragma once

#include "planes/paged_plane.hpp"

namespace holdfast::internal::planes {

/// Pool keys [key_width], derived from indexer rows; final once all rows of the pool are committed.
class PoolKeysPlane : public PagedPlane {
 public:
  static constexpr PlaneKind kKind = PlaneKind::kPoolKeys;
};

}  // namespace holdfast::internal::planes
