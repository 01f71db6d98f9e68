// SPDX-License-Identifier: Apache-2.0
// drop_snapshot: lets a snapshot go.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// drop_snapshot snapshot=h0
struct DropSnapshotOp {
  static constexpr char const* kName = "drop_snapshot";
  static constexpr char const* kMeaning = "gives a snapshot up, and what only it held";
  static constexpr Effects kEffects{.ends = Thing::kSnapshot};
  static constexpr Weight kWeight{.mix = 6};
  SnapshotName snapshot;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.snapshot_of(snapshot).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.drop_snapshot(snapshot);
  }
  Observation run(System& system) const { return system.drop_snapshot(snapshot); }
  static std::optional<DropSnapshotOp> generate(GenerateContext const& context) {
    auto const name = pick_snapshot(context);
    return name ? std::optional{DropSnapshotOp{*name}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("snapshot", snapshot);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (std::uint32_t value = 0; value < scope.model.next_snapshot(); ++value) {
      add(DropSnapshotOp{{value}});  // of the dead ones too: they stay so
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
