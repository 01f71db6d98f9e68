// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: latent rows.
#pragma once

#include <holdfast/planes/spec.hpp>

namespace holdfast {

/// Multi-head latent attention: each token adds one row [width].
struct LatentSpec {
  std::uint32_t width = 0;  ///< elements
  Format format = Format::kF32;

  static constexpr char const* kName = "latent";
  static constexpr PlaneTrait kPlanes[] = {{PlaneKind::kLatent, "latent", PlaneRule::kPaged}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("latent.width", self.width);
    visit.format("latent.format", self.format);
  }
  [[nodiscard]] Status check(LayerRules const& rules) const noexcept {
    return rules.blocks("latent.width", width, format);
  }
  template <typename Sink>
  void describe(Sink&& sink) const {
    sink(RowsDescription{.kind = PlaneKind::kLatent, .strips = strips_of({width, format})});
  }
};

}  // namespace holdfast
