// SPDX-License-Identifier: Apache-2.0
// verify: opens a round and writes its first rows; accept or drop ends it.
#pragma once

#include "models/ops/accept.hpp"
#include "models/ops/append.hpp"
#include "models/ops/begin.hpp"
#include "models/ops/commit.hpp"
#include "models/ops/drop.hpp"
#include "models/ops/operation.hpp"

namespace holdfast::model {

/// verify sequence=s0 rows=5 written=5 token=1 piece=0 view=0 mode=inplace
struct VerifyOp {
  static constexpr char const* kName = "verify";
  static constexpr char const* kMeaning =
      "opens a speculative round: rows for drafted tokens, of which some will be kept";
  static constexpr Effects kEffects{.makes = Thing::kRound, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 13};
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
           plan.via <= kStreamNames;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.begin(
        sequence, true, count, written, token, got.is(ErrorCode::kExhausted), style());
  }
  Observation run(System& system) const {
    return system.begin(sequence, true, count, written, token, style());
  }
  static std::optional<VerifyOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    if (!name) {
      return std::nullopt;
    }
    Source& source = context.source;
    std::uint32_t const largest = context.model.shape().capacity.largest_round;
    std::uint32_t const room = room_of(context.model, *name);
    std::uint32_t const rows =
        context.is_nonsense() ? source.below(largest + 2) : pick_round_rows(context, room);
    std::uint32_t const written = source.one_in(8) ? source.below(rows + 1) : rows;
    return VerifyOp{*name,
                    rows,
                    written,
                    context.model.next_token(),
                    pick_piece(source),
                    source.one_in(4) ? 1U : 0U,
                    pick_mode(context, true),
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
    visit(OpenedHandle{sequence, count, true, mode});
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    Token const token = scope.model.next_token();
    for (SequenceName const name : scope.at_rest) {
      for (std::uint32_t const rows :
           {SmallScope::kRoundRows, scope.shape().capacity.largest_round}) {
        add(VerifyOp{name, rows, rows, token, 0, 0, scope.mode});
      }
    }
  }
  /// An append, or the handle of one, whose end is that of an append too.
  template <typename Ways>
  void plainer(Ways& ways) const {
    auto const* const end = ways.template next<AcceptOp>();
    if (end != nullptr) {
      ways.join(AppendOp{
          .sequence = sequence, .count = end->keep, .token = token, .skip = skip, .keys = keys});
    }
    ways.start();
    ways.add(AppendOp::at_once(sequence, count, StateMode::kFresh));
    ways.start();
    ways.add(BeginOp{.sequence = sequence,
                     .count = count,
                     .written = written,
                     .piece = piece,
                     .view = view,
                     .skip = skip});
    if (end != nullptr && end->keep == 0) {
      ways.change_next(DropOp{sequence});
    } else if (end != nullptr) {
      ways.change_next(CommitOp{sequence});
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return written; }
};

}  // namespace holdfast::model
