// SPDX-License-Identifier: Apache-2.0
// release: ends a sequence, and cancels what is open on it.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// release sequence=s0 gone=1
struct ReleaseOp {
  static constexpr char const* kName = "release";
  static constexpr char const* kMeaning = "ends a sequence, and gives up what only it held";
  static constexpr Effects kEffects{.ends = Thing::kSequence | Thing::kAppend | Thing::kRound};
  static constexpr Weight kWeight{.mix = 3};
  SequenceName sequence;
  std::uint32_t gone = 0;  // its handle is destroyed, or with 2 another one assigned over it

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && gone < kHandleEndCount;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.release(sequence);
  }
  Observation run(System& system) const {
    return system.release(sequence, static_cast<HandleEnd>(gone));
  }
  static std::optional<ReleaseOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kLive);
    return name ? std::optional{ReleaseOp{*name, pick_gone(context.source)}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("gone", gone, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (std::uint32_t const value : scope.model.live_sequences()) {
      add(ReleaseOp{{value}});
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (gone != 0) {
      ways.same(ReleaseOp{sequence});
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
