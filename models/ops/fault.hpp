// SPDX-License-Identifier: Apache-2.0
// fault: a device call that is to come will fail. heal: everything works again. They say nothing of
// the cache's meaning.
#pragma once

#include <iterator>

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// fault kind=launch after=2 forever=1 done=1
struct FaultOp {
  static constexpr char const* kName = "fault";
  static constexpr char const* kMeaning = "makes the calls of a device fail";
  static constexpr Effects kEffects{.makes = Thing::kFault};
  static constexpr Weight kWeight{.mix = 0, .fault_share = 2};
  FaultKind kind = FaultKind::kAny;
  std::uint32_t after = 0;
  std::uint32_t forever = 0;
  std::uint32_t done = 0;

  [[nodiscard]] bool precondition(Model const& /*model*/) const { return true; }
  Observation apply(Model& /*model*/, Observation const& /*got*/) const {
    return Observation::success(0);
  }
  Observation run(System& system) const {
    return system.fault({.kind = kind, .after = after, .forever = forever != 0, .done = done != 0});
  }
  static std::optional<FaultOp> generate(GenerateContext const& context) {
    Source& source = context.source;
    constexpr std::uint32_t kSpans[] = {2, 4, 16, 64};  // how far away it may be, in calls
    bool const is_any = source.one_in(2);
    FaultKind const kind =
        is_any ? FaultKind::kAny : static_cast<FaultKind>(source.below(kFaultKindCount));
    std::uint32_t const span = kSpans[source.below(std::size(kSpans))];
    return FaultOp{
        .kind = kind,
        .after = source.below(kind == FaultKind::kSynchronize ? 2 : span),  // few calls wait
        .forever = source.one_in(3) ? 1U : 0U,
        .done = source.one_in(3) ? 1U : 0U};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("kind", kind);
    visit("after", after);
    visit("forever", forever, 0U);
    visit("done", done, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

/// heal
struct HealOp {
  static constexpr char const* kName = "heal";
  static constexpr char const* kMeaning = "ends what made the calls of a device fail";
  static constexpr Effects kEffects{.ends = Thing::kFault};
  static constexpr Weight kWeight{.mix = 0, .fault_share = 1};

  [[nodiscard]] bool precondition(Model const& /*model*/) const { return true; }
  Observation apply(Model& /*model*/, Observation const& /*got*/) const {
    return Observation::success(0);
  }
  Observation run(System& system) const { return system.heal(); }
  static std::optional<HealOp> generate(GenerateContext const& /*context*/) { return HealOp{}; }
  template <typename Visitor>
  void fields(Visitor& /*visit*/) {}
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
