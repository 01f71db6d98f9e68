// SPDX-License-Identifier: Apache-2.0
// Validation of layouts: what every layout must be; what a spec must be is in its own header.
#include "storage/layout_check.hpp"

#include <algorithm>
#include <optional>

#include "base/contract.hpp"
#include "storage/rule.hpp"

namespace holdfast::internal::storage {
namespace {

/// Visits a spec's fields and keeps the first refusal.
struct FieldChecker {
  LayerRules const& rules;
  Status answer{};

  void size(char const* field, std::uint32_t value) {
    if (answer) {
      answer = rules.size(field, value);
    }
  }
  void optional(char const* field, std::uint32_t value) {
    if (value != 0) {
      size(field, value);
    }
  }
  void sizes(char const* /*field*/, std::vector<std::uint32_t> const& /*values*/) {}
  void optional_format(char const* field, std::optional<Format> format, Format /*otherwise*/) {
    if (format.has_value()) {
      this->format(field, *format);
    }
  }
  void format(char const* field, Format format) {
    if (answer && !is_known(format)) {
      answer = rules.refuse(field, "is not a known format", static_cast<std::int64_t>(format));
    }
  }
};

template <typename Spec>
Status check_spec(Spec const& spec, LayerRules const& rules) noexcept {
  FieldChecker checker{rules};
  Spec::fields(spec, checker);
  HOLDFAST_TRY(checker.answer);
  return spec.check(rules);
}

/// Whether its planes have every row of a sequence: those of drafts may lag behind for ever.
template <typename Spec>
bool has_all_rows(Spec const& /*spec*/) noexcept {
  return !traits_of(Spec::kPlanes[0].rule).lags;
}

Status check_layers(Layout const& layout, LayerRules rules) noexcept {
  HOLDFAST_ASSERT(!layout.layers.empty());
  HOLDFAST_ASSERT(layout.stages != 0);
  bool has_plane = false;
  bool has_rows = false;
  std::uint32_t last_stage = 0;
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    auto const& planes = layout.layers[layer].planes;
    rules.layer = static_cast<std::int32_t>(layer);
    std::uint32_t const stage = layout.layers[layer].stage;
    if (stage >= layout.stages) {
      return rules.refuse("stage", "is past the layout's stages", stage, layout.stages);
    }
    if (stage < last_stage) {
      return rules.refuse("stage", "is lower than the layer's before", stage, last_stage);
    }
    last_stage = stage;
    for (std::size_t plane = 0; plane < planes.size(); ++plane) {
      has_plane = true;
      if (planes[plane].valueless_by_exception()) {
        return rules.refuse("planes", "holds a plane of no kind");
      }
      for (std::size_t other = 0; other < plane; ++other) {
        if (planes[other].index() == planes[plane].index()) {
          return rules.refuse("planes", "holds two planes of one kind");
        }
      }
      has_rows = has_rows ||
                 std::visit([](auto const& spec) { return has_all_rows(spec); }, planes[plane]);
      HOLDFAST_TRY(
          std::visit([&](auto const& spec) { return check_spec(spec, rules); }, planes[plane]));
    }
  }
  rules.layer = -1;
  if (!has_plane) {
    return rules.refuse("layers", "own no plane at all");
  }
  return has_rows ? Status{} : rules.refuse("layers", "own planes of drafts alone");
}

/// Refuses the first capacity that is no size.
struct CapacityCheck {
  LayerRules const& rules;
  Status status = {};

  void size(char const* field, std::uint32_t value) noexcept {
    if (status) {
      status = rules.size(field, value);
    }
  }
  void optional(char const* field, std::uint32_t value) noexcept {
    if (value != 0) {
      size(field, value);
    }
  }
};

}  // namespace

Status check_layout(Layout const& layout) noexcept {
  Capacity const& capacity = layout.capacity;
  LayerRules const rules{.layer = -1,
                         .ranks = layout.ranks,
                         .page_rows = layout.page_rows,
                         .largest_round = capacity.largest_round};
  if (layout.layers.empty()) {
    return rules.refuse("layers", "must not be empty");
  }
  std::pair<char const*, std::size_t> const needed[] = {{"layers", layout.layers.size()},
                                                        {"page_rows", layout.page_rows},
                                                        {"chunk_pages", layout.chunk_pages},
                                                        {"ranks", layout.ranks},
                                                        {"stages", layout.stages}};
  for (auto const& [field, value] : needed) {
    HOLDFAST_TRY(
        rules.size(field, static_cast<std::uint32_t>(std::min<std::size_t>(value, UINT32_MAX))));
  }
  CapacityCheck check{rules};
  Capacity::fields(capacity, check);
  HOLDFAST_TRY(check.status);
  std::uint64_t const devices = std::uint64_t{layout.ranks} * layout.stages;
  if (devices > kLargestDeviceCount) {
    return rules.refuse("ranks",
                        "times stages is more devices than are supported",
                        static_cast<std::int64_t>(devices),
                        kLargestDeviceCount);
  }
  return check_layers(layout, rules);
}

}  // namespace holdfast::internal::storage

namespace holdfast {
namespace {

/// The trait of a kind, as its spec says it; nullptr for a number that is no kind.
PlaneTrait const* trait_of(PlaneKind kind) noexcept {
#define HOLDFAST_PLANE_TRAITS(spec, ...)          \
  for (PlaneTrait const& trait : spec::kPlanes) { \
    if (trait.kind == kind) {                     \
      return &trait;                              \
    }                                             \
  }
  HOLDFAST_PLANE_SPECS(HOLDFAST_PLANE_TRAITS)
#undef HOLDFAST_PLANE_TRAITS
  return nullptr;
}

}  // namespace

char const* name_of(PlaneKind kind) noexcept {
  PlaneTrait const* const trait = trait_of(kind);
  return trait == nullptr ? "unknown" : trait->name;
}

PlaneRule rule_of(PlaneKind kind) noexcept {
  PlaneTrait const* const trait = trait_of(kind);
  return trait == nullptr ? PlaneRule{} : trait->rule;
}

}  // namespace holdfast
