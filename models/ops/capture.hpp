// SPDX-License-Identifier: Apache-2.0
// capture: publishes a snapshot as a prefix entry under the next name.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// capture snapshot=h0 entry=e0 scope=0 extra=0
struct CaptureOp {
  static constexpr char const* kName = "capture";
  static constexpr char const* kMeaning =
      "publishes a snapshot under its tokens, as a prefix entry";
  static constexpr Effects kEffects{.makes = Thing::kEntry, .uses = Thing::kSnapshot};
  static constexpr Weight kWeight{.mix = 6};
  SnapshotName snapshot;
  EntryName entry;
  std::uint32_t scope = 0;
  std::uint32_t extra = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.snapshot_of(snapshot).created && !model.is_created(entry) && scope < kScopeCount &&
           are_sane(extra, 1);
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.capture(snapshot, entry, scope, extra);
  }
  Observation run(System& system) const { return system.capture(snapshot, entry, scope, extra); }
  static std::optional<CaptureOp> generate(GenerateContext const& context) {
    auto const held = pick_snapshot(context);
    if (!held || context.model.next_entry() >= kNameLimit) {
      return std::nullopt;
    }
    return CaptureOp{*held,
                     {context.model.next_entry()},
                     pick_scope(context.source),
                     context.is_nonsense() ? 1U : 0U};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("snapshot", snapshot);
    visit("entry", entry);
    visit("scope", scope);
    visit("extra", extra);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (std::uint32_t const value : scope.model.live_snapshots()) {
      if (scope.model.next_entry() == 1) {
        add(CaptureOp{{value}, {1}});
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
