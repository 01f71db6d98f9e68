// SPDX-License-Identifier: Apache-2.0
// The list of planes: one line a plane. Everything else is derived from it.
#pragma once

#include <variant>

#include "planes/attention_kv_plane.hpp"
#include "planes/latent_plane.hpp"
#include "planes/pool_keys_plane.hpp"
#include "planes/recurrent_plane.hpp"
#include "planes/tail_ring_plane.hpp"

namespace holdfast::internal::planes {

/// A list of types.
template <typename... P>
struct TypeList {
  static constexpr std::uint32_t kCount = sizeof...(P);
  using Any = std::variant<P...>;
};

/// In the order of PlaneKind.
using AllPlanes = TypeList<AttentionKvPlane,  //
                           LatentPlane,
                           PoolKeysPlane,
                           TailRingPlane,
                           RecurrentPlane>;

template <typename... P>
constexpr bool all_are_planes(TypeList<P...> /*list*/) noexcept {
  return (require_plane<P>() && ...);
}
static_assert(all_are_planes(AllPlanes{}));
static_assert(AllPlanes::kCount == kPlaneKindCount, "every plane kind has a plane");

/// Storage for a plane of any kind.
using AnyPlane = AllPlanes::Any;

/// Makes `any` a plane of the kind whose index in the list is `kind`.
template <std::uint32_t I = 0>
void emplace_plane(AnyPlane& any, std::uint32_t kind) noexcept {
  if constexpr (I < AllPlanes::kCount) {
    if (I == kind) {
      any.emplace<I>();
      static_assert(std::variant_alternative_t<I, AnyPlane>::kKind == static_cast<PlaneKind>(I));
    } else {
      emplace_plane<I + 1>(any, kind);
    }
  }
}

}  // namespace holdfast::internal::planes
