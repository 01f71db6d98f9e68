// SPDX-License-Identifier: Apache-2.0
// A sequence is forked through a snapshot, never copied.
#include <holdfast/cache.hpp>

void copy(holdfast::Sequence const& sequence) {
  holdfast::Sequence const other{sequence};
}
