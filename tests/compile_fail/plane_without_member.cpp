// SPDX-License-Identifier: Apache-2.0
// HOLDFAST_PLANE without HOLDFAST_MEMBER is no plane, and the compiler names both.
#include "planes/plane_list.hpp"

#define HOLDFAST_JOIN_NAMES(a, b) a##b
#define HOLDFAST_JOIN(a, b) HOLDFAST_JOIN_NAMES(a, b)

namespace holdfast::internal::planes {

struct HOLDFAST_JOIN(HOLDFAST_PLANE, WithoutIt) : HOLDFAST_PLANE {
  void HOLDFAST_MEMBER() = delete;
};

constexpr bool is_plane = require_plane<HOLDFAST_JOIN(HOLDFAST_PLANE, WithoutIt)>();

}  // namespace holdfast::internal::planes
