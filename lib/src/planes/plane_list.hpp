// SPDX-License-Identifier: Apache-2.0
// The list of planes: one class for each rule of storage. A plane kind names its rule in its spec
// (holdfast/planes/), so that most kinds need no class of their own. Nothing else in the library
// names a rule.
#pragma once

#include <variant>

#include "planes/draft_plane.hpp"
#include "planes/paged_plane.hpp"
#include "planes/recurrent_plane.hpp"
#include "planes/tail_ring_plane.hpp"

// X(rule, class): one line a rule, in the order of PlaneRule.
#define HOLDFAST_PLANE_RULES(X) \
  X(kPaged, PagedPlane)         \
  X(kRing, TailRingPlane)       \
  X(kSlot, RecurrentPlane)      \
  X(kDraft, DraftPlane)

namespace holdfast::internal::planes {

/// A list of types.
template <typename... P>
struct TypeList {
  static constexpr std::uint32_t kCount = sizeof...(P);
  using Any = std::variant<P...>;
};
template <typename First, typename... Rest>
using ListOfRest = TypeList<Rest...>;

#define HOLDFAST_PLANE_CLASS(rule, plane) , plane
using AllPlanes = ListOfRest<void HOLDFAST_PLANE_RULES(HOLDFAST_PLANE_CLASS)>;
#undef HOLDFAST_PLANE_CLASS

template <typename... P>
constexpr bool all_are_planes(TypeList<P...> /*list*/) noexcept {
  return (require_plane<P>() && ...);
}
static_assert(all_are_planes(AllPlanes{}));

/// Their answers, by rule.
#define HOLDFAST_PLANE_TRAITS(rule, plane) &kTraitsOf<plane>,
inline constexpr storage::RuleTraits const* kTraits[] = {
    HOLDFAST_PLANE_RULES(HOLDFAST_PLANE_TRAITS)};
#undef HOLDFAST_PLANE_TRAITS
#define HOLDFAST_PLANE_PLACE(rule, plane) \
  static_assert(kTraits[static_cast<std::size_t>(PlaneRule::rule)] == &kTraitsOf<plane>);
HOLDFAST_PLANE_RULES(HOLDFAST_PLANE_PLACE)
#undef HOLDFAST_PLANE_PLACE

/// Storage for a plane of any rule.
using AnyPlane = AllPlanes::Any;

/// Makes `any` a plane of `rule`.
inline void emplace_plane(AnyPlane& any, PlaneRule rule) noexcept {
  switch (rule) {
#define HOLDFAST_PLANE_EMPLACE(rule, plane) \
  case PlaneRule::rule:                     \
    any.emplace<plane>();                   \
    break;
    HOLDFAST_PLANE_RULES(HOLDFAST_PLANE_EMPLACE)
#undef HOLDFAST_PLANE_EMPLACE
  }
}

}  // namespace holdfast::internal::planes
