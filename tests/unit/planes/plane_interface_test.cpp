// SPDX-License-Identifier: Apache-2.0
// Goal: no member of the plane interface is optional, for any plane.
// Method: for every plane and every member, a type that derives from the plane and deletes that
// member; generated from HOLDFAST_PLANE_MEMBERS and AllPlanes, so that neither list can rot.
#include <gtest/gtest.h>

#include <cstdint>

#include "planes/plane_list.hpp"

namespace holdfast::test {
namespace {

using internal::planes::AllPlanes;
using internal::planes::Plane;
using internal::planes::TypeList;

/// How many members of the interface P has.
template <typename P>
constexpr std::uint32_t count_members() {
  std::uint32_t count = 0;
#define HOLDFAST_COUNT(member, why) count += internal::planes::has_##member<P> ? 1U : 0U;
  HOLDFAST_PLANE_MEMBERS(HOLDFAST_COUNT)
#undef HOLDFAST_COUNT
  return count;
}

#define HOLDFAST_ONE(member, why) +1
constexpr std::uint32_t kMembers = 0 HOLDFAST_PLANE_MEMBERS(HOLDFAST_ONE);
#undef HOLDFAST_ONE

// Deleting a name in the derived type hides all overloads of the plane.
#define HOLDFAST_LACKING(member, why) \
  template <typename P>               \
  struct Lacking_##member : P {       \
    void member() = delete;           \
  };
HOLDFAST_PLANE_MEMBERS(HOLDFAST_LACKING)
#undef HOLDFAST_LACKING

/// A plane that only derives is still one: what fails below fails for the deleted member alone.
template <typename P>
struct Whole : P {};

template <typename... P>
constexpr bool all_are_whole(TypeList<P...> /*list*/) {
  return ((Plane<P> && Plane<Whole<P>> && count_members<P>() == kMembers) && ...);
}
static_assert(all_are_whole(AllPlanes{}));

#define HOLDFAST_REFUSED(member, why)                                        \
  template <typename... P>                                                   \
  constexpr bool none_is_a_plane_without_##member(TypeList<P...> /*list*/) { \
    return ((!Plane<Lacking_##member<P>> &&                                  \
             !internal::planes::has_##member<Lacking_##member<P>> &&         \
             count_members<Lacking_##member<P>>() == kMembers - 1) &&        \
            ...);                                                            \
  }                                                                          \
  static_assert(none_is_a_plane_without_##member(AllPlanes{}), "without " #member);
HOLDFAST_PLANE_MEMBERS(HOLDFAST_REFUSED)
#undef HOLDFAST_REFUSED

static_assert(!Plane<int>);
static_assert(count_members<int>() == 0);

TEST(PlaneInterface, EveryPlaneLacksNothing) {
  EXPECT_TRUE(all_are_whole(AllPlanes{}));
}

TEST(PlaneInterface, NoMemberIsOptional) {
  std::uint32_t refused = 0;
#define HOLDFAST_CHECKED(member, why) \
  refused += none_is_a_plane_without_##member(AllPlanes{}) ? 1U : 0U;
  HOLDFAST_PLANE_MEMBERS(HOLDFAST_CHECKED)
#undef HOLDFAST_CHECKED
  EXPECT_EQ(refused, kMembers);
  EXPECT_GE(kMembers, 24U) << "the interface may only grow";
}

}  // namespace
}  // namespace holdfast::test
