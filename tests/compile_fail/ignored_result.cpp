// SPDX-License-Identifier: Apache-2.0
// An error is not overlooked: a dropped Result is a warning, and warnings are errors here.
#include <holdfast/cache.hpp>

void ignore(holdfast::Sequence& sequence) {
  sequence.truncate(0);
}
