// SPDX-License-Identifier: Apache-2.0
// move: the handles of a sequence go to another place; what they leave behind is stale.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// move sequence=s0
struct MoveOp {
  static constexpr char const* kName = "move";
  static constexpr char const* kMeaning =
      "moves a sequence's handles, open or used up, to another place and back";
  static constexpr Effects kEffects{.uses = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 1};
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const { return model.move(sequence); }
  Observation run(System& system) const { return system.move(sequence); }
  static std::optional<MoveOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kLive);
    return name ? std::optional{MoveOp{*name}} : std::nullopt;
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
