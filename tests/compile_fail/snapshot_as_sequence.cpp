// SPDX-License-Identifier: Apache-2.0
// Handles of different kinds do not stand for each other.
#include <holdfast/cache.hpp>

namespace holdfast {

void use(Sequence& sequence);

void mix(Snapshot& snapshot) {
  use(snapshot);
}

}  // namespace holdfast
