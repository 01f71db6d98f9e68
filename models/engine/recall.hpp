// SPDX-License-Identifier: Apache-2.0
// The functions of rows.hpp, remembered: programs make the same rows and states again and again, for
// engine, model and checks. A result is what the function itself gives, bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "models/engine/rows.hpp"

namespace holdfast::model {

/// What make_row() fills, [shape.elements]. Valid until the thread's next call that recalls.
[[nodiscard]] float const* recall_row(PlaneShape const& shape, Token token, std::uint32_t position);
/// The same of make_stored_row().
[[nodiscard]] float const* recall_stored_row(PlaneShape const& shape,
                                             Token token,
                                             std::uint32_t position);
/// The same of make_key(), [keys.key_width], for the plane of pool keys.
[[nodiscard]] float const* recall_key(PlaneShape const& keys,
                                      std::span<Token const> tokens,
                                      std::uint32_t position);
/// StateShape::advance.
void recall_state(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after);

}  // namespace holdfast::model
