// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: conv window and ssm state.
#pragma once

#include <holdfast/planes/spec.hpp>
#include <numeric>

namespace holdfast {

/// Recurrent layer (GDN, KDA, Mamba): conv window [sum of segments, kernel - 1] and ssm state
/// [heads, d_k, d_v], f32. Either part may be absent (kernel 0, or heads 0), not both.
struct RecurrentSpec {
  std::vector<std::uint32_t> conv_segments;  ///< channels of each segment (q, k, v or x, B, C);
                                             ///< each divides over the ranks
  std::uint32_t kernel = 0;           ///< conv kernel width; the window keeps kernel - 1 inputs
  std::uint32_t heads = 0;            ///< ssm heads; divides over the ranks
  std::uint32_t d_k = 0;              ///< elements
  std::uint32_t d_v = 0;              ///< elements
  std::uint32_t stash_row_bytes = 0;  ///< bytes of inputs that a rescan round stashes for a row, on
                                      ///< each rank; 0 = no rescan rounds

  static constexpr char const* kName = "recurrent";
  static constexpr std::uint32_t kStashAlignment = 16;  ///< bytes
  static constexpr PlaneTrait kPlanes[] = {{PlaneKind::kRecurrent, "recurrent", PlaneRule::kSlot}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.sizes("recurrent.conv_segments", self.conv_segments);
    visit.optional("recurrent.kernel", self.kernel);
    visit.optional("recurrent.heads", self.heads);
    visit.optional("recurrent.d_k", self.d_k);
    visit.optional("recurrent.d_v", self.d_v);
    visit.optional("recurrent.stash_row_bytes", self.stash_row_bytes);
  }
  [[nodiscard]] Status check(LayerRules const& rules) const noexcept {
    if (stash_row_bytes % kStashAlignment != 0) {
      return rules.refuse("recurrent.stash_row_bytes",
                          "is not a multiple of the stash's alignment",
                          stash_row_bytes,
                          kStashAlignment);
    }
    bool const has_conv = kernel != 0 || !conv_segments.empty();
    bool const has_ssm = heads != 0 || d_k != 0 || d_v != 0;
    if (!has_conv && !has_ssm) {
      return rules.refuse("recurrent", "has neither a conv window nor an ssm state");
    }
    if (has_conv) {
      if (kernel < 2) {
        return rules.refuse(
            "recurrent.kernel", "must be at least 2, for a window of kernel - 1 inputs", kernel, 2);
      }
      if (conv_segments.empty()) {
        return rules.refuse("recurrent.conv_segments", "must not be empty when there is a kernel");
      }
      for (std::uint32_t const segment : conv_segments) {
        HOLDFAST_TRY(rules.size("recurrent.conv_segments", segment));
        HOLDFAST_TRY(rules.divides("recurrent.conv_segments", segment));
      }
    }
    if (has_ssm) {
      HOLDFAST_TRY(rules.size("recurrent.heads", heads));
      HOLDFAST_TRY(rules.size("recurrent.d_k", d_k));
      HOLDFAST_TRY(rules.size("recurrent.d_v", d_v));
      return rules.divides("recurrent.heads", heads);
    }
    return {};
  }
  template <typename Sink>
  void describe(Sink&& sink) const {
    std::uint64_t const channels =
        std::accumulate(conv_segments.begin(), conv_segments.end(), std::uint64_t{0});
    sink(StateDescription{.kind = PlaneKind::kRecurrent,
                          .channels = channels,
                          .window = channels == 0 ? 0 : kernel - 1,
                          .heads = heads,
                          .d_k = d_k,
                          .d_v = d_v,
                          .stash_row_bytes = stash_row_bytes});
  }
};

}  // namespace holdfast
