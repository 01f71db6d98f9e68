// SPDX-License-Identifier: Apache-2.0
// Recurrent state: no rows; its contents live in the history itself.
#pragma once

#include "models/reference/planes/plane.hpp"

namespace holdfast::model {

struct RecurrentReference {
  using Spec = RecurrentSpec;
  static constexpr std::array<ReferencePlane, 0> kPlanes = {};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    StateShape state{.advance = &advance_recurrent,
                     .heads = spec.heads,
                     .d_k = spec.d_k,
                     .d_v = spec.d_v,
                     .stash_row_bytes = spec.stash_row_bytes};
    for (std::uint32_t const segment : spec.conv_segments) {
      state.channels += segment;
      state.segments.push_back(segment);
    }
    state.window = state.channels == 0 ? 0 : spec.kernel - 1;
    shape.add_state(state);
  }
};

}  // namespace holdfast::model
