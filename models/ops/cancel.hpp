// SPDX-License-Identifier: Apache-2.0
// cancel: a step over several sequences is begun, its rows are on their way, and nobody wants it any
// more.
#pragma once

#include "models/ops/step.hpp"

namespace holdfast::model {

/// cancel items=append:s0:3:0:1,verify:s1:4:0:4 piece=0 view=0 gone=1
struct CancelOp {
  static constexpr char const* kName = "cancel";
  static constexpr char const* kMeaning =
      "begins a step over several sequences, and drops it when its rows are on their way";
  static constexpr Effects kEffects{.makes = Thing::kAppend | Thing::kRound,
                                    .ends = Thing::kAppend | Thing::kRound,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 2};
  StepParts items;
  std::uint32_t piece = 0;
  std::uint32_t view = 0;
  std::uint32_t gone = 0;  // the step's handle is destroyed rather than dropped

  [[nodiscard]] bool precondition(Model const& model) const {
    return step_of(*this).precondition(model) &&
           std::all_of(items.begin(), items.end(), [](auto const& item) { return item.keep == 0; });
  }
  Observation apply(Model& model, Observation const& got) const {
    return step_of(*this).apply(model, got);  // nothing is kept
  }
  Observation run(System& system) const {
    return step_of(*this).run(system, {.dropped = true, .destroyed = gone != 0});
  }
  static std::optional<CancelOp> generate(GenerateContext const& context) {
    auto step = StepOp::generate_items(context);
    if (!step) {
      return std::nullopt;
    }
    for (std::uint32_t i = 0; i < step->items.count; ++i) {
      step->items.parts[i].keep = 0;
    }
    return CancelOp{step->items, step->piece, step->view, context.source.below(2)};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("items", items);
    visit("piece", piece);
    visit("view", view);
    visit("gone", gone, 0U);
  }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit_openings(items, visit);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    StepParts items = two_items(scope);
    if (scope.at_rest.size() > 1) {
      items.parts[0].keep = items.parts[1].keep = 0;
      add(CancelOp{.items = items});
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    add_single(ways, items);
  }
  [[nodiscard]] std::uint32_t rows() const { return step_of(*this).rows(); }
};

}  // namespace holdfast::model
