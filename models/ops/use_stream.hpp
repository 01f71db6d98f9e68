// SPDX-License-Identifier: Apache-2.0
// stream: the calls that follow go to another stream. It says nothing of the cache's meaning.
#pragma once

#include "models/ops/pick.hpp"
#include "models/system.hpp"

namespace holdfast::model {

/// stream to=2
struct UseStreamOp {
  static constexpr char const* kName = "stream";
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
  [[nodiscard]] std::uint32_t rows() const { return 0; }

  /// Streams that programs use.
  static constexpr std::uint32_t kStreamNames = 3;
};

}  // namespace holdfast::model
