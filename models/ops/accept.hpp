// SPDX-License-Identifier: Apache-2.0
// accept: ends an open round and keeps its first rows.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// accept sequence=s0 keep=2
struct AcceptOp {
  static constexpr char const* kName = "accept";
  static constexpr char const* kMeaning =
      "keeps the first rows of a round, and takes back the others in every plane";
  static constexpr Effects kEffects{
      .makes = Thing::kRows, .ends = Thing::kRound, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 13};
  SequenceName sequence;
  std::uint32_t keep = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.accept(sequence, keep);
  }
  Observation run(System& system) const { return system.accept(sequence, keep); }
  static std::optional<AcceptOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kOpenRound);
    if (!name) {
      return std::nullopt;
    }
    Source& source = context.source;
    OpenHandle const& open = context.model.sequence(*name).open;
    std::uint32_t const most = open.open ? open.complete : 1;
    // All, none and all but one are where rounds break.
    switch (source.below(6)) {
      case 0:
        return AcceptOp{*name, most};
      case 1:
        return AcceptOp{*name, 0};
      case 2:
        return AcceptOp{*name, most == 0 ? 0 : most - 1};
      default:
        return AcceptOp{
            *name, context.is_nonsense() ? open.rows + source.below(2) : source.below(most + 1)};
    }
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("keep", keep);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.open_rounds) {
      for (std::uint32_t keep = 0; keep <= SmallScope::kRoundRows; ++keep) {
        add(AcceptOp{name, keep});
      }
      std::uint32_t const rows = scope.model.sequence(name).open.rows;
      if (rows > SmallScope::kRoundRows) {
        add(AcceptOp{name, rows});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
