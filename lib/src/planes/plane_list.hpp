// SPDX-License-Identifier: Apache-2.0
// The list of planes: one class for each rule of storage. A plane kind names its rule in its spec
// (holdfast/planes/), so that most kinds need no class of their own.
#pragma once

#include <variant>

#include "planes/draft_plane.hpp"
#include "planes/paged_plane.hpp"
#include "planes/recurrent_plane.hpp"
#include "planes/tail_ring_plane.hpp"

namespace holdfast::internal::planes {

/// A list of types.
template <typename... P>
struct TypeList {
  static constexpr std::uint32_t kCount = sizeof...(P);
  using Any = std::variant<P...>;
};

/// In the order of PlaneRule.
using AllPlanes = TypeList<PagedPlane, TailRingPlane, RecurrentPlane, DraftPlane>;

template <typename... P>
constexpr bool all_are_planes(TypeList<P...> /*list*/) noexcept {
  return (require_plane<P>() && ...);
}
static_assert(all_are_planes(AllPlanes{}));

/// Storage for a plane of any rule.
using AnyPlane = AllPlanes::Any;

/// Makes `any` a plane of `rule`.
template <std::uint32_t I = 0>
void emplace_plane(AnyPlane& any, PlaneRule rule) noexcept {
  if constexpr (I < AllPlanes::kCount) {
    static_assert(std::variant_alternative_t<I, AnyPlane>::kRule == static_cast<PlaneRule>(I));
    if (rule == static_cast<PlaneRule>(I)) {
      any.emplace<I>();
    } else {
      emplace_plane<I + 1>(any, rule);
    }
  }
}

}  // namespace holdfast::internal::planes
