// SPDX-License-Identifier: Apache-2.0
// Full attention: K and V rows.
#pragma once

#include <holdfast/planes/spec.hpp>

namespace holdfast {

/// Full attention: each token adds one row [2, heads, head_dim], keys first, then values.
struct AttentionKvSpec {
  std::uint32_t heads = 0;     ///< KV heads; divides over the ranks
  std::uint32_t head_dim = 0;  ///< elements
  Format format = Format::kF32;

  static constexpr char const* kName = "attention_kv";
  static constexpr PlaneTrait kPlanes[] = {
      {PlaneKind::kAttentionKv, "attention_kv", PlaneRule::kPaged}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("attention_kv.heads", self.heads);
    visit.size("attention_kv.head_dim", self.head_dim);
    visit.format("attention_kv.format", self.format);
  }
  [[nodiscard]] Status check(LayerRules const& rules) const noexcept {
    return rules.divides("attention_kv.heads", heads);
  }
  template <typename Sink>
  void describe(Sink&& sink) const {
    sink(RowsDescription{.kind = PlaneKind::kAttentionKv,
                         .elements = 2 * std::uint64_t{heads} * head_dim,
                         .parts = 2,
                         .format = format,
                         .shape = heads,
                         .split = true});
  }
};

}  // namespace holdfast
