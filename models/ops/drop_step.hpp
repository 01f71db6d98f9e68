// SPDX-License-Identifier: Apache-2.0
// drop_step: ends an open step, and keeps nothing of it.
#pragma once

#include "models/ops/finish_step.hpp"

namespace holdfast::model {

/// drop_step sequence=s0 gone=1: the step that s0 is or was an item of.
struct DropStepOp {
  static constexpr char const* kName = "drop_step";
  static constexpr char const* kMeaning = "ends an open step, and keeps nothing of it";
  static constexpr Effects kEffects{.ends = Thing::kAppend | Thing::kRound | Thing::kStep,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 1};
  SequenceName sequence;
  std::uint32_t gone = 0;  // its handle is destroyed, or with 2 another one assigned over it

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && gone < kHandleEndCount;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.drop_step(sequence);
  }
  Observation run(System& system) const {
    return system.drop_step(sequence, static_cast<HandleEnd>(gone));
  }
  static std::optional<DropStepOp> generate(GenerateContext const& context) {
    auto const name = pick_step(context);
    return name ? std::optional{DropStepOp{*name, context.source.below(kHandleEndCount)}}
                : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("gone", gone, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (gone != 0) {
      ways.same(DropStepOp{sequence});
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
