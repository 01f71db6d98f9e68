// SPDX-License-Identifier: Apache-2.0
// can_truncate: asks whether a sequence can be shortened; changes nothing.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// can_truncate sequence=s0 length=3
struct CanTruncateOp {
  static constexpr char const* kName = "can_truncate";
  static constexpr char const* kMeaning = "asks whether a sequence can be shortened to a length";
  static constexpr Effects kEffects{.uses = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 3};
  SequenceName sequence;
  std::uint32_t length = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.can_truncate(sequence, length);
  }
  Observation run(System& system) const { return system.can_truncate(sequence, length); }
  static std::optional<CanTruncateOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    return name ? std::optional{CanTruncateOp{*name, pick_length(context, *name)}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("length", length);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
