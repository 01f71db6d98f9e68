// SPDX-License-Identifier: Apache-2.0
// delay: what is enqueued in a stream of one device does not run until the host waits for what cannot
// come without it.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// delay stream=1 device=0
struct DelayOp {
  static constexpr char const* kName = "delay";
  static constexpr char const* kMeaning =
      "holds up a stream of one device until the host waits for it";
  static constexpr Effects kEffects{.makes = Thing::kPending};
  static constexpr Weight kWeight{.mix = 2};
  std::uint32_t stream = 0;
  std::uint32_t device = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return stream < kStreamNames && device < devices_of(model);
  }
  Observation apply(Model& /*model*/, Observation const& /*got*/) const {
    return Observation::success(0);
  }
  Observation run(System& system) const { return system.delay(Stream{stream}, device); }
  static std::optional<DelayOp> generate(GenerateContext const& context) {
    if (!context.model.is_asynchronous() && !context.source.one_in(kRareRate)) {
      return std::nullopt;  // nothing runs later
    }
    return DelayOp{context.source.below(kStreamNames),
                   context.source.below(devices_of(context.model))};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("stream", stream);
    visit("device", device);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }

 private:
  static std::uint32_t devices_of(Model const& model) {
    return model.shape().ranks * model.shape().stages;
  }
};

}  // namespace holdfast::model
