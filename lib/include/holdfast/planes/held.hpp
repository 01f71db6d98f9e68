// SPDX-License-Identifier: Apache-2.0
// Held side state: a small blob of a layer that follows the recurrent states in all movements.
#pragma once

#include <holdfast/planes/spec.hpp>

namespace holdfast {

/// Held side state (boundary hidden row, last logits, sampler or grammar state): [elements] of 4
/// bytes that the library never looks into. It lives in the state slot, one copy a column; a layout
/// that has some cannot be shortened without a snapshot. Several blobs of one layer lie one after
/// the other in one spec.
struct HeldSpec {
  std::uint32_t elements = 0;  ///< of 4 bytes; every rank holds all of them

  static constexpr char const* kName = "held";
  static constexpr PlaneTrait kPlanes[] = {{PlaneKind::kHeld, "held", PlaneRule::kSlot}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("held.elements", self.elements);
  }
  [[nodiscard]] Status check(LayerRules const& /*rules*/) const noexcept { return {}; }
  template <typename Sink>
  void describe(Sink&& sink) const {
    sink(StateDescription{.kind = PlaneKind::kHeld, .held = elements});
  }
};

}  // namespace holdfast
