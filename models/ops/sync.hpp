// SPDX-License-Identifier: Apache-2.0
// sync: the host waits for all work of all streams.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// sync
struct SyncOp {
  static constexpr char const* kName = "sync";
  static constexpr char const* kMeaning = "waits for all work of all streams";
  static constexpr Effects kEffects{.ends = Thing::kPending};
  static constexpr Weight kWeight{.mix = 2};

  [[nodiscard]] bool precondition(Model const& /*model*/) const { return true; }
  Observation apply(Model& model, Observation const& /*got*/) const {
    model.settle();
    return Observation::success(0);
  }
  Observation run(System& system) const { return system.sync(); }
  static std::optional<SyncOp> generate(GenerateContext const& context) {
    bool const makes_sense = context.model.is_asynchronous() || context.source.one_in(kRareRate);
    return makes_sense ? std::optional{SyncOp{}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& /*visit*/) {}
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
