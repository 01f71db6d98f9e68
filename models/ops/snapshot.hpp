// SPDX-License-Identifier: Apache-2.0
// snapshot: makes a restore point of a sequence under the next name.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// snapshot sequence=s0 snapshot=h0
struct SnapshotOp {
  static constexpr char const* kName = "snapshot";
  static constexpr char const* kMeaning =
      "records a restore point over every plane, without a copy";
  static constexpr Effects kEffects{.makes = Thing::kSnapshot, .uses = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 9};
  SequenceName sequence;
  SnapshotName snapshot;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && !model.snapshot_of(snapshot).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.snapshot(sequence, snapshot);
  }
  Observation run(System& system) const { return system.snapshot(sequence, snapshot); }
  static std::optional<SnapshotOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    if (!name || context.model.next_snapshot() >= kNameLimit) {
      return std::nullopt;
    }
    return SnapshotOp{*name, {context.model.next_snapshot()}};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("snapshot", snapshot);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    if (scope.model.live_snapshots().size() < SmallScope::kMostSnapshots) {
      for (SequenceName const name : scope.at_rest) {
        add(SnapshotOp{name, {scope.model.next_snapshot()}});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
