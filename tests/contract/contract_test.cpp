// SPDX-License-Identifier: Apache-2.0
// Goal: every plane class keeps the laws that the cache builds on. Method: one typed suite over the list of
// plane classes; each law is tried at lengths around the edges of small pages, pools and rings.
//
// A class that is added to the list needs a fixture in fixtures.hpp, or this file does not compile:
//   1. `PlaneFixture<P>`, from `RowsOf` when it has rows: the kind and a layout of two layers with it.
//   2. Where it differs from rows in pages: the table index of a row, the first row that a length needs,
//      whether a drop gives all back.
//   3. `refused()`: descriptions that its check() must refuse.
// A kind that uses more of a class (rows of several tokens, another format) has its own fixture, in `MoreFixtures`
// there. Laws are seen failing in law_mutants_test.cpp.
#include <gtest/gtest.h>

#include <string>

#include "tests/contract/laws.hpp"

namespace holdfast::test {
namespace {

using internal::planes::AllPlanes;
using internal::planes::TypeList;

template <typename... P, typename... More>
testing::Types<PlaneFixture<P>..., More...> fixtures_of(TypeList<P...> /*list*/,
                                                        TypeList<More...> /*more*/);
using Fixtures = decltype(fixtures_of(AllPlanes{}, MoreFixtures{}));

/// Names a fixture's tests by its kind.
struct KindName {
  template <typename F>
  static std::string GetName(
      int /*index*/) {  // NOLINT(readability-identifier-naming): GoogleTest's
    return name_of(F::kKind);
  }
};

template <typename F>
class PlaneContract : public testing::Test {};
TYPED_TEST_SUITE(PlaneContract, Fixtures, KindName);

#define HOLDFAST_CONTRACT_TEST(test, law) \
  TYPED_TEST(PlaneContract, test) {       \
    Laws<TypeParam>::law();               \
  }
HOLDFAST_CONTRACT_LAWS(HOLDFAST_CONTRACT_TEST)
#undef HOLDFAST_CONTRACT_TEST

}  // namespace
}  // namespace holdfast::test
