// SPDX-License-Identifier: Apache-2.0
// Fails for one known reason: shows that the helper reads the compiler's output, and that the
// headers that the other files use compile by themselves.
#include <holdfast/cache.hpp>

#include "planes/plane_list.hpp"

static_assert(sizeof(holdfast::Cache) == 0, "this error is wanted");
