// SPDX-License-Identifier: Apache-2.0
// In the place of rapidcheck_search.cpp where there is no RapidCheck.
#include <stdexcept>

#include "fuzz/rapidcheck_search.hpp"

namespace holdfast::fuzz {

bool has_rapidcheck() noexcept {
  return false;
}

MutantSearch rapidcheck_search(MutantPlan const& /*plan*/) {
  throw std::logic_error{"built without RapidCheck"};
}

}  // namespace holdfast::fuzz
