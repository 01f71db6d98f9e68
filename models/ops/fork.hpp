// SPDX-License-Identifier: Apache-2.0
// fork: starts a sequence from a snapshot under the next name.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// fork snapshot=h0 sequence=s1
struct ForkOp {
  static constexpr char const* kName = "fork";
  static constexpr char const* kMeaning =
      "starts another sequence from a snapshot, whose storage it shares";
  static constexpr Effects kEffects{.makes = Thing::kSequence, .loads = Thing::kSnapshot};
  static constexpr Weight kWeight{.mix = 3};
  SnapshotName snapshot;
  SequenceName sequence;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.snapshot_of(snapshot).created && !model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.fork(snapshot, sequence);
  }
  Observation run(System& system) const { return system.fork(snapshot, sequence); }
  static std::optional<ForkOp> generate(GenerateContext const& context) {
    auto const snapshot = pick_snapshot(context);
    if (!snapshot || context.model.next_sequence() >= kNameLimit) {
      return std::nullopt;
    }
    return ForkOp{*snapshot, {context.model.next_sequence()}};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("snapshot", snapshot);
    visit("sequence", sequence);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (std::uint32_t const value : scope.model.live_snapshots()) {
      if (scope.has_room()) {
        add(ForkOp{{value}, {scope.model.next_sequence()}});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
