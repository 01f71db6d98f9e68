// SPDX-License-Identifier: Apache-2.0
// The seeded bugs of each system under test.
#pragma once

#include <span>

#include "fuzz/mutants.hpp"
#include "models/systems.hpp"

namespace holdfast::fuzz {

/// The seeded bugs of a system, in the order of its table; nullptr stands for the library.
[[nodiscard]] std::span<MutantInfo const> mutants_of(model::SystemInfo const* system) noexcept;

}  // namespace holdfast::fuzz
