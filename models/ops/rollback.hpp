// SPDX-License-Identifier: Apache-2.0
// rollback: a sequence becomes what a snapshot holds, its own or another's.
#pragma once

#include "models/ops/fork.hpp"
#include "models/ops/operation.hpp"

namespace holdfast::model {

/// rollback sequence=s0 snapshot=h0
struct RollbackOp {
  static constexpr char const* kName = "rollback";
  static constexpr char const* kMeaning =
      "takes a sequence back to what a snapshot holds, in every plane";
  static constexpr Effects kEffects{.changes = Thing::kSequence, .loads = Thing::kSnapshot};
  static constexpr Weight kWeight{.mix = 8};
  SequenceName sequence;
  SnapshotName snapshot;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && model.snapshot_of(snapshot).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.rollback(sequence, snapshot);
  }
  Observation run(System& system) const { return system.rollback(sequence, snapshot); }
  static std::optional<RollbackOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    auto const snapshot = pick_snapshot(context);
    return name && snapshot ? std::optional{RollbackOp{*name, *snapshot}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("snapshot", snapshot);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.at_rest) {
      for (std::uint32_t const value : scope.model.live_snapshots()) {
        add(RollbackOp{name, {value}});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (auto const fresh = ways.unused_sequence()) {
      ways.start();
      ways.add(ForkOp{snapshot, *fresh});
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
