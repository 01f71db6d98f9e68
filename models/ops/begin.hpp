// SPDX-License-Identifier: Apache-2.0
// begin: opens an append and writes its first rows; commit or drop ends it.
#pragma once

#include "models/ops/append.hpp"
#include "models/ops/commit.hpp"
#include "models/ops/operation.hpp"

namespace holdfast::model {

/// begin sequence=s0 rows=5 written=5 token=1 piece=0 view=0 mode=inplace
struct BeginOp {
  static constexpr char const* kName = "begin";
  static constexpr char const* kMeaning =
      "opens an append whose rows are written, but not committed yet";
  static constexpr Effects kEffects{.makes = Thing::kAppend, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 3};
  SequenceName sequence;
  std::uint32_t count = 0;
  std::uint32_t written = 0;
  Token token = 0;
  std::uint32_t piece = 0;
  std::uint32_t view = 0;
  StateMode mode = StateMode::kFresh;
  std::uint32_t skip = 0;
  WritePlan plan;
  KeyRule keys;

  [[nodiscard]] WriteStyle style() const {
    return {
        .piece = piece, .view = view != 0, .mode = mode, .skip = skip, .keys = keys, .plan = plan};
  }
  [[nodiscard]] bool precondition(Model const& model) const {
    return model.sequence(sequence).created && written <= count && are_sane(count, token) &&
           plan.via <= kStreamNames && mode != StateMode::kRescan;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.begin(
        sequence, false, count, written, token, got.is(ErrorCode::kExhausted), style());
  }
  Observation run(System& system) const {
    return system.begin(sequence, false, count, written, token, style());
  }
  static std::optional<BeginOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    if (!name) {
      return std::nullopt;
    }
    Source& source = context.source;
    std::uint32_t const rows = pick_rows(context, room_of(context.model, *name));
    if (rows == 0) {
      return std::nullopt;
    }
    std::uint32_t const written = source.one_in(8) ? source.below(rows + 1) : rows;
    return BeginOp{*name,
                   rows,
                   written,
                   context.model.next_token(),
                   pick_piece(source),
                   source.one_in(4) ? 1U : 0U,
                   pick_mode(context, false),
                   pick_skip(context),
                   pick_plan(context),
                   pick_keys(context, context.model.next_token())};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("rows", count);
    visit("written", written);
    visit("token", token);
    visit("piece", piece);
    visit("view", view);
    visit("mode", mode, StateMode::kFresh);
    visit("skip", skip, 0U);
    visit("plan", plan, WritePlan{});
    visit("keys", keys, KeyRule{});
  }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit(OpenedHandle{sequence, count, false, mode});
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    Token const token = scope.model.next_token();
    StateMode const mode = scope.mode_of_appends();
    std::uint32_t const lap = SmallScope::kept_rows(scope.shape()) + 1;
    for (SequenceName const name : scope.at_rest) {
      add(BeginOp{name, lap, lap, token, 0, 0, mode});
      // A view that is not used to the end.
      add(BeginOp{name, scope.shape().page_rows, 1, token, 0, 1, mode});
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (ways.template next<CommitOp>() != nullptr) {
      ways.join(AppendOp{sequence, count, token, piece, view, mode, skip, {}, keys});
    }
    ways.start();
    ways.add(AppendOp::at_once(sequence, count, mode));
  }
  [[nodiscard]] std::uint32_t rows() const { return written; }
};

}  // namespace holdfast::model
