// SPDX-License-Identifier: Apache-2.0
// reload: turns a prefix entry into bytes, erases it, and makes it again of the bytes.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// reload entry=e0 via=2
struct ReloadOp {
  static constexpr char const* kName = "reload";
  static constexpr char const* kMeaning = "writes a prefix entry as bytes, and reads them back";
  static constexpr Effects kEffects{
      .makes = Thing::kEntry, .ends = Thing::kEntry, .loads = Thing::kBytes};
  static constexpr Weight kWeight{.mix = 2, .fault_times = 4};
  EntryName entry;
  std::uint32_t via = kStreamNames;  // stream of the load; that many: the program's

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.is_created(entry) && via <= kStreamNames;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.reload(entry, got.is(ErrorCode::kExhausted));
  }
  Observation run(System& system) const {
    bool const is_elsewhere = via < kStreamNames;
    return system.reload(entry, is_elsewhere ? std::optional{Stream{via}} : std::nullopt);
  }
  static std::optional<ReloadOp> generate(GenerateContext const& context) {
    auto const name = pick_entry(context);
    if (!name) {
      return std::nullopt;
    }
    ReloadOp op{.entry = *name};
    if (context.model.is_asynchronous()) {
      // Told by what the model is at, so that it takes no draw from what follows.
      Source own{mix(context.model.next_token(), 0x6C6F6164U)};
      op.via = own.below(kStreamNames + 1);
    }
    return op;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("entry", entry);
    visit("via", via, kStreamNames);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    if (scope.model.next_entry() != 0 && scope.model.entry({0}).live) {
      add(ReloadOp{{0}});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
