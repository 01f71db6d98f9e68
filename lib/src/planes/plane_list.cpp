// SPDX-License-Identifier: Apache-2.0
// What the classes of the list answer when storage asks.
#include "planes/plane_list.hpp"

namespace holdfast::internal::storage {

RuleTraits const& traits_of(PlaneRule rule) noexcept {
  return *planes::kTraits[static_cast<std::size_t>(rule)];
}

}  // namespace holdfast::internal::storage
