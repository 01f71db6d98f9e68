// SPDX-License-Identifier: Apache-2.0
// stream: the calls that follow go to another stream. It says nothing of the cache's meaning.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// stream to=2
struct UseStreamOp {
  static constexpr char const* kName = "stream";
  static constexpr char const* kMeaning =
      "goes on in another stream, whose work nothing orders by itself";
  static constexpr Effects kEffects{.changes = Thing::kStream};
  static constexpr Weight kWeight{.mix = 6};
  std::uint32_t to = 0;

  [[nodiscard]] bool precondition(Model const& /*model*/) const { return to < kStreamNames; }
  Observation apply(Model& /*model*/, Observation const& /*got*/) const {
    return Observation::success(0);
  }
  Observation run(System& system) const { return system.use_stream(Stream{to}); }
  static std::optional<UseStreamOp> generate(GenerateContext const& context) {
    if (!context.model.is_asynchronous() && !context.source.one_in(kRareRate)) {
      return std::nullopt;  // one stream is as good as another
    }
    return UseStreamOp{context.source.below(kStreamNames)};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("to", to);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
