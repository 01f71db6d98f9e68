// SPDX-License-Identifier: Apache-2.0
// How long work is told whether to go on.
#pragma once

#include <functional>

namespace holdfast::fuzz {

/// Asked before each program; false ends the work there. Empty: always on.
using GoOn = std::function<bool()>;

}  // namespace holdfast::fuzz
