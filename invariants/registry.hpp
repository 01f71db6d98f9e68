// SPDX-License-Identifier: Apache-2.0
// The list of invariants.
#pragma once

#include <span>

#include "invariants/check.hpp"

namespace holdfast::invariant {

/// All invariants, in the order in which they run.
[[nodiscard]] std::span<Invariant const* const> all_invariants() noexcept;

}  // namespace holdfast::invariant
