// SPDX-License-Identifier: Apache-2.0
// fill: writes the rows that an open append lacks.
#pragma once

#include "models/ops/commit.hpp"
#include "models/ops/operation.hpp"

namespace holdfast::model {

/// fill sequence=s0 view=1
struct FillOp {
  static constexpr char const* kName = "fill";
  static constexpr char const* kMeaning = "writes the rows that an open append lacks";
  static constexpr Effects kEffects{.changes = Thing::kSequence | Thing::kAppend};
  static constexpr Weight kWeight{.mix = 2};
  SequenceName sequence;
  std::uint32_t view = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.fill(sequence, view != 0);
  }
  Observation run(System& system) const { return system.fill(sequence, view != 0); }
  static std::optional<FillOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kOpenAppend);
    return name ? std::optional{FillOp{*name, context.source.one_in(4) ? 1U : 0U}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("view", view, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.open_appends) {
      OpenHandle const& open = scope.model.sequence(name).open;
      if (open.complete < open.rows) {
        add(FillOp{name});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
