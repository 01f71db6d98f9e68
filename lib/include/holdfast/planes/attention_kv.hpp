// SPDX-License-Identifier: Apache-2.0
// Full attention: K and V rows.
#pragma once

#include <holdfast/planes/spec.hpp>
#include <optional>

namespace holdfast {

/// Full attention: each token adds one row [2, heads, head_dim], keys first, then values.
struct AttentionKvSpec {
  std::uint32_t heads = 0;     ///< KV heads; divides over the ranks
  std::uint32_t head_dim = 0;  ///< elements
  Format format = Format::kF32;
  std::optional<Format> value_format;  ///< of values; without one that of keys

  static constexpr char const* kName = "attention_kv";
  static constexpr PlaneTrait kPlanes[] = {
      {PlaneKind::kAttentionKv, "attention_kv", PlaneRule::kPaged}};

  template <typename Self, typename Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit.size("attention_kv.heads", self.heads);
    visit.size("attention_kv.head_dim", self.head_dim);
    visit.format("attention_kv.format", self.format);
    visit.optional_format("attention_kv.value_format", self.value_format, self.format);
  }
  [[nodiscard]] Status check(LayerRules const& rules) const noexcept {
    HOLDFAST_TRY(rules.blocks("attention_kv.head_dim", head_dim, format));
    HOLDFAST_TRY(rules.blocks("attention_kv.head_dim", head_dim, value_format.value_or(format)));
    return rules.divides("attention_kv.heads", heads);
  }
  template <typename Sink>
  void describe(Sink&& sink) const {
    std::uint64_t const elements = std::uint64_t{heads} * head_dim;
    sink(RowsDescription{
        .kind = PlaneKind::kAttentionKv,
        .strips = strips_of({elements, format}, {elements, value_format.value_or(format)}),
        .shape = heads,
        .split = true});
  }
};

}  // namespace holdfast
