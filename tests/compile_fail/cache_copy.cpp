// SPDX-License-Identifier: Apache-2.0
// A cache owns its memory: it is not copied.
#include <holdfast/cache.hpp>

void copy(holdfast::Cache const& cache) {
  holdfast::Cache const other{cache};
}
