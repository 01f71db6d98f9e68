// SPDX-License-Identifier: Apache-2.0
// erase: gives a prefix entry up.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// erase entry=e0
struct EraseOp {
  static constexpr char const* kName = "erase";
  static constexpr char const* kMeaning = "takes a prefix entry away";
  static constexpr Effects kEffects{.ends = Thing::kEntry};
  static constexpr Weight kWeight{.mix = 2};
  EntryName entry;

  [[nodiscard]] bool precondition(Model const& model) const { return model.is_created(entry); }
  Observation apply(Model& model, Observation const& /*got*/) const { return model.erase(entry); }
  Observation run(System& system) const { return system.erase(entry); }
  static std::optional<EraseOp> generate(GenerateContext const& context) {
    auto const name = pick_entry(context);
    return name ? std::optional{EraseOp{*name}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("entry", entry);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    if (scope.model.next_entry() != 0) {
      add(EraseOp{{0}});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
