// SPDX-License-Identifier: Apache-2.0
// An operation without HOLDFAST_MEMBER is no operation, and the compiler names both. With every
// member it is one.
#include "models/ops/operation.hpp"

namespace holdfast::model {

/// Opens a round and releases its sequence.
template <typename Self>
struct WholeOp {
  static constexpr char const* kName = "whole";
  static constexpr char const* kMeaning = "is there to lack something";
  static constexpr Effects kEffects{.makes = Thing::kRound, .ends = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 1};

  [[nodiscard]] bool precondition(Model const& /*model*/) const { return true; }
  Observation apply(Model& /*model*/, Observation const& got) const { return got; }
  Observation run(System& system) const { return system.sync(); }
  static std::optional<Self> generate(GenerateContext const& /*context*/) { return Self{}; }
  template <typename Visitor>
  void fields(Visitor& /*visit*/) {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit(OpenedHandle{});
  }
  [[nodiscard]] SequenceName leaver() const { return {}; }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
};

struct ProbeOp : WholeOp<ProbeOp> {};
static_assert(Operation<ProbeOp>, "the whole one is an operation");

struct ProbeOpWithoutIt : WholeOp<ProbeOpWithoutIt> {
  void HOLDFAST_MEMBER() = delete;
};

constexpr bool is_operation = require_operation<ProbeOpWithoutIt>();

}  // namespace holdfast::model
