// SPDX-License-Identifier: Apache-2.0
// commit: ends an open append and keeps its rows.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// commit sequence=s0
struct CommitOp {
  static constexpr char const* kName = "commit";
  static constexpr char const* kMeaning = "makes the rows of an open append visible";
  static constexpr Effects kEffects{
      .makes = Thing::kRows, .ends = Thing::kAppend, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 3};
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.commit(sequence);
  }
  Observation run(System& system) const { return system.commit(sequence); }
  static std::optional<CommitOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kOpenAppend);
    return name ? std::optional{CommitOp{*name}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.open_appends) {
      add(CommitOp{name});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
