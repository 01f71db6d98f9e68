// SPDX-License-Identifier: Apache-2.0
// load_damaged: loads the bytes of a prefix entry with something wrong about them.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// load_damaged entry=e0 damage=flip at=100
struct LoadDamagedOp {
  static constexpr char const* kName = "load_damaged";
  static constexpr char const* kMeaning =
      "reads the bytes of a prefix entry that were damaged: they must be refused";
  static constexpr Effects kEffects{.uses = Thing::kEntry, .loads = Thing::kBytes};
  static constexpr Weight kWeight{.mix = 2};
  EntryName entry;
  Damage damage = Damage::kFlip;
  std::uint32_t at = 0;

  [[nodiscard]] bool precondition(Model const& model) const { return model.is_created(entry); }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.load_damaged(entry, damage);
  }
  Observation run(System& system) const { return system.load_damaged(entry, damage, at); }
  static std::optional<LoadDamagedOp> generate(GenerateContext const& context) {
    auto const name = pick_entry(context);
    if (!name) {
      return std::nullopt;
    }
    constexpr std::uint32_t kMostBytes = 1U << 20U;
    auto const damage = context.source.one_in(2) ? 0 : context.source.below(kDamageCount);
    return LoadDamagedOp{*name, static_cast<Damage>(damage), context.source.below(kMostBytes)};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("entry", entry);
    visit("damage", damage);
    visit("at", at);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    constexpr std::uint32_t kPayloadBit =
        400;  // a byte behind the header of every geometry's entry
    bool const has_entry = scope.model.next_entry() != 0;
    for (std::uint32_t damage = 0; damage < kDamageCount && scope.is_first && has_entry; ++damage) {
      add(LoadDamagedOp{{0}, static_cast<Damage>(damage), kPayloadBit});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
