// SPDX-License-Identifier: Apache-2.0
// begin_step: opens a step, of which nothing is written yet. Other operations come between its parts.
#pragma once

#include "models/ops/step.hpp"

namespace holdfast::model {

/// begin_step items=append:s0:3:3:1,pad:2,verify:s1:4:2:4:inplace
struct BeginStepOp {
  static constexpr char const* kName = "begin_step";
  static constexpr char const* kMeaning =
      "opens a step over several sequences, of which no row is written yet";
  static constexpr Effects kEffects{.makes = Thing::kAppend | Thing::kRound | Thing::kStep,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 3};
  StepParts items;  // with what finish_step keeps of each

  [[nodiscard]] bool precondition(Model const& model) const {
    return StepOp{.items = items}.precondition(model) &&
           std::any_of(items.begin(), items.end(), [](StepPart const& item) {
             return item.deed != StepDeed::kPad;  // else it has no name
           });
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.begin_step(items, got.is(ErrorCode::kExhausted));
  }
  Observation run(System& system) const { return system.begin_step(items); }
  static std::optional<BeginStepOp> generate(GenerateContext const& context) {
    auto const step = StepOp::generate_items(context);
    return step ? std::optional{BeginStepOp{step->items}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("items", items);
  }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit_openings(items, visit);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& ways) const {
    ways.start();
    ways.add(StepOp{.items = items});
    add_single(ways, items);
  }
  [[nodiscard]] std::uint32_t rows() const { return StepOp{.items = items}.rows(); }
};

}  // namespace holdfast::model
