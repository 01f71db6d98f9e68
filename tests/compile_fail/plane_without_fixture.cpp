// SPDX-License-Identifier: Apache-2.0
// A plane class that the suite of laws does not know.
#include "tests/contract/fixtures.hpp"

namespace holdfast::test {

struct NewPlane : PagedPlane {};

constexpr bool is_known = all_have_fixtures(internal::planes::TypeList<PagedPlane, NewPlane>{});

}  // namespace holdfast::test
