// SPDX-License-Identifier: Apache-2.0
// close: tries to close the cache, which is refused while anything is alive.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// close
struct CloseOp {
  static constexpr char const* kName = "close";
  static constexpr char const* kMeaning = "tries to close the cache while something in it is alive";
  static constexpr Effects kEffects{};
  static constexpr Weight kWeight{.mix = 1};

  [[nodiscard]] bool precondition(Model const& model) const { return !model.close().ok; }
  Observation apply(Model& model, Observation const& /*got*/) const { return model.close(); }
  Observation run(System& system) const { return system.close(); }
  static std::optional<CloseOp> generate(GenerateContext const& context) {
    return context.model.close().ok ? std::nullopt : std::optional{CloseOp{}};
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
