// SPDX-License-Identifier: Apache-2.0
// finish_step: ends an open step, and keeps of its items what they say.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// finish_step sequence=s0: the step that s0 is or was an item of.
struct FinishStepOp {
  static constexpr char const* kName = "finish_step";
  static constexpr char const* kMeaning =
      "ends an open step, and keeps the rows that its items say";
  static constexpr Effects kEffects{.makes = Thing::kRows,
                                    .ends = Thing::kAppend | Thing::kRound | Thing::kStep,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 3};
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.finish_step(sequence);
  }
  Observation run(System& system) const { return system.finish_step(sequence); }
  static std::optional<FinishStepOp> generate(GenerateContext const& context) {
    auto const name = pick_step(context);
    return name ? std::optional{FinishStepOp{*name}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
