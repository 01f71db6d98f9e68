// SPDX-License-Identifier: Apache-2.0
// Functions of rows.hpp, remembered: programs make the same keys and states again and again, for engine,
// model and checks. A result is what the function itself gives, bit for bit. Rows are not remembered: one is
// made in the time that it takes to look it up.
#pragma once

#include <cstdint>
#include <span>

#include "models/engine/rows.hpp"

namespace holdfast::model {

/// What make_key() fills for the plane of pool keys, [keys.key_width]. Valid until the thread's next call.
[[nodiscard]] float const* recall_key(PlaneShape const& keys,
                                      std::span<Token const> tokens,
                                      std::uint32_t position);
/// StateShape::advance.
void recall_state(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after);

}  // namespace holdfast::model
