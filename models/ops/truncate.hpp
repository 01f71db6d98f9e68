// SPDX-License-Identifier: Apache-2.0
// truncate: shortens a sequence, or is refused with nothing changed.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// truncate sequence=s0 length=3
struct TruncateOp {
  static constexpr char const* kName = "truncate";
  static constexpr char const* kMeaning = "shortens a sequence, in every plane or not at all";
  static constexpr Effects kEffects{.ends = Thing::kRows, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 5};
  SequenceName sequence;
  std::uint32_t length = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.truncate(sequence, length);
  }
  Observation run(System& system) const { return system.truncate(sequence, length); }
  static std::optional<TruncateOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    return name ? std::optional{TruncateOp{*name, pick_length(context, *name)}} : std::nullopt;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("length", length);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (auto const* const open : {&scope.open_appends, &scope.open_rounds}) {
      for (SequenceName const name : *open) {
        add(TruncateOp{name, 0});  // busy
      }
    }
    // To one row less, to the edge below of page and pool, and into the pool before that.
    std::uint32_t const page = scope.shape().page_rows;
    for (SequenceName const name : scope.at_rest) {
      std::uint32_t const own = scope.model.position(name);
      std::uint32_t last = own;
      for (std::uint32_t const less : {1U, (own + page - 1) % page + 1, page + 1}) {
        std::uint32_t const length = own - std::min(own, less);
        if (length != last) {
          add(TruncateOp{name, length});
        }
        last = length;
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
