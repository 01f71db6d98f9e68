// SPDX-License-Identifier: Apache-2.0
// Extra counters of libFuzzer: which operation was taken in which abstract state.
//
// One counter for each pair, set and never counted up: each value would be a feature of its own. The
// table is scanned after every input, so it is no larger than a page.
#pragma once

#include <cstdint>
#include <span>

#include "models/lineage/abstract_state.hpp"

namespace holdfast::fuzz {

inline constexpr std::uint32_t kCounterCount = 8192;

/// Notes that a transition was taken.
void light(model::Transition const& transition) noexcept;

/// The counters between the two ends of their section, as an engine finds them.
[[nodiscard]] std::span<std::uint8_t> counter_section() noexcept;

}  // namespace holdfast::fuzz
