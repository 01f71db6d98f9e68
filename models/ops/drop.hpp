// SPDX-License-Identifier: Apache-2.0
// drop: ends an open append or round and forgets its rows.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// drop sequence=s0 gone=1
struct DropOp {
  static constexpr char const* kName = "drop";
  static constexpr char const* kMeaning =
      "gives up an open append or round: the sequence is what it was before";
  static constexpr Effects kEffects{.ends = Thing::kAppend | Thing::kRound,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 2};
  SequenceName sequence;
  std::uint32_t gone = 0;  // its handle is destroyed, or with 2 another one assigned over it

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && gone < kHandleEndCount;
  }
  Observation apply(Model& model, Observation const& /*got*/) const { return model.drop(sequence); }
  Observation run(System& system) const {
    return system.drop(sequence, static_cast<HandleEnd>(gone));
  }
  static std::optional<DropOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kOpen);
    return name ? std::optional{DropOp{*name, pick_gone(context.source)}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("gone", gone, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.open_appends) {
      add(DropOp{name});
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (gone != 0) {
      ways.same(DropOp{sequence});
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
