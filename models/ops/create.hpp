// SPDX-License-Identifier: Apache-2.0
// create: starts an empty sequence under the next name.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// create sequence=s0
struct CreateOp {
  static constexpr char const* kName = "create";
  static constexpr char const* kMeaning = "makes a sequence without tokens";
  static constexpr Effects kEffects{.makes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 4, .least = 16};
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return !model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.create(sequence, got.is(ErrorCode::kExhausted));
  }
  Observation run(System& system) const { return system.create(sequence); }
  static std::optional<CreateOp> generate(GenerateContext const& context) {
    if (context.model.next_sequence() >= kNameLimit) {
      return std::nullopt;
    }
    return CreateOp{{context.model.next_sequence()}};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    if (scope.has_room()) {
      add(CreateOp{{scope.model.next_sequence()}});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
