// SPDX-License-Identifier: Apache-2.0
// rewrite: writes rows of an open round again, with new tokens.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// rewrite sequence=s0 first=1 rows=2 token=9 piece=0 view=0
struct RewriteOp {
  static constexpr char const* kName = "rewrite";
  static constexpr char const* kMeaning = "writes rows of an open round again";
  static constexpr Effects kEffects{.changes = Thing::kSequence | Thing::kRound};
  static constexpr Weight kWeight{.mix = 2};
  SequenceName sequence;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  Token token = 0;
  std::uint32_t piece = 0;
  std::uint32_t view = 0;
  WritePlan plan;  // leaves nothing out: an engine that drafts anew writes all of it
  KeyRule keys;

  [[nodiscard]] WriteStyle style() const {
    return {.piece = piece, .view = view != 0, .again = true, .keys = keys, .plan = plan};
  }
  [[nodiscard]] bool precondition(Model const& model) const {
    // A round that is open takes its own rows only; what is not open must answer that it is stale.
    ModelSequence const& known = model.sequence(sequence);
    std::uint32_t const rows = known.open.open ? known.open.rows : model.shape().capacity.tokens;
    std::uint32_t const written = known.open.open ? known.open.complete : rows;
    return known.created && count != 0 && first <= written && first <= rows &&
           count <= rows - first && are_sane(count, token) && !plan.lacks() &&
           plan.via <= kStreamNames;
  }
  Observation apply(Model& model, Observation const& /*got*/) const {
    return model.rewrite(sequence, first, count, token, style());
  }
  Observation run(System& system) const {
    return system.rewrite(sequence, first, count, token, style());
  }
  static std::optional<RewriteOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kOpenRound);
    if (!name) {
      return std::nullopt;
    }
    OpenHandle const& open = context.model.sequence(*name).open;
    if (!open.open || !open.round || open.rows == 0) {
      return std::nullopt;
    }
    Source& source = context.source;
    std::uint32_t const first = source.below(std::min(open.complete, open.rows - 1) + 1);
    WritePlan plan = pick_plan(context);
    plan.liberty = plan.lacks() ? Liberty::kNone : plan.liberty;
    return RewriteOp{*name,
                     first,
                     source.between(1, open.rows - first),
                     context.model.next_token(),
                     pick_piece(source),
                     source.one_in(4) ? 1U : 0U,
                     plan,
                     pick_keys(context, context.model.next_token())};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("first", first);
    visit("rows", count);
    visit("token", token);
    visit("piece", piece);
    visit("view", view);
    visit("plan", plan, WritePlan{});
    visit("keys", keys, KeyRule{});
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    for (SequenceName const name : scope.open_rounds) {
      add(RewriteOp{name, 1, 1, scope.model.next_token()});
    }
  }
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return count; }
};

}  // namespace holdfast::model
