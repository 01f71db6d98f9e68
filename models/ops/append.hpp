// SPDX-License-Identifier: Apache-2.0
// append: opens an append, writes all of its rows and commits it.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// Commits what was opened, on a system or the model; when that is refused since rows are missing, writes
/// them and commits again. Success says how often it was refused, and what was said then.
template <typename Side>
Observation commit_all(Side& side, SequenceName sequence, Observation const& opened) {
  Observation const first = side.commit(sequence);
  if (!first.is(ErrorCode::kIncomplete)) {
    return first.after(opened);
  }
  Observation const filled = side.fill(sequence, false);
  Observation const last = filled.ok ? side.commit(sequence) : filled;
  if (!last.ok) {
    return last;
  }
  Observation answer = Observation::success(1).after(opened);
  answer.says.say_refusal(first.says);
  return answer;
}

/// append sequence=s0 rows=5 token=1 piece=0 view=0 mode=inplace
struct AppendOp {
  static constexpr char const* kName = "append";
  static constexpr char const* kMeaning = "writes rows for new tokens, and commits them";
  static constexpr Effects kEffects{
      .makes = Thing::kAppend | Thing::kRows, .ends = Thing::kAppend, .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 26, .least = 64};
  SequenceName sequence;
  std::uint32_t count = 0;
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
    return model.sequence(sequence).created && are_sane(count, token) &&
           mode != StateMode::kRescan && plan.via <= kStreamNames;
  }
  Observation apply(Model& model, Observation const& got) const {
    Observation const opened =
        model.begin(sequence, false, count, count, token, got.is(ErrorCode::kExhausted), style());
    return opened.ok ? commit_all(model, sequence, opened) : opened;
  }
  Observation run(System& system) const {
    Observation const opened = system.begin(sequence, false, count, count, token, style());
    return opened.ok ? commit_all(system, sequence, opened) : opened;
  }
  static std::optional<AppendOp> generate(GenerateContext const& context) {
    auto const name = pick_sequence(context, SequenceWish::kAtRest);
    if (!name) {
      return std::nullopt;
    }
    std::uint32_t const rows = pick_rows(context, room_of(context.model, *name));
    if (rows == 0 && !context.is_nonsense()) {
      return std::nullopt;
    }
    return AppendOp{*name,
                    rows,
                    context.model.next_token(),
                    pick_piece(context.source),
                    context.source.one_in(4) ? 1U : 0U,
                    pick_mode(context, false),
                    pick_skip(context),
                    pick_plan(context),
                    pick_keys(context, context.model.next_token())};
  }
  /// Rows that are opened and kept at once. A handle without rows is not what an append without rows
  /// is, so it has one.
  static AppendOp at_once(SequenceName sequence, std::uint32_t rows, StateMode mode) {
    return {.sequence = sequence,
            .count = std::max(rows, 1U),
            .mode = mode == StateMode::kRescan ? StateMode::kFresh : mode};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("rows", count);
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
    std::uint32_t const page = scope.shape().page_rows;
    for (std::uint32_t value = 0; value < scope.model.next_sequence(); ++value) {
      SequenceName const name{value};
      if (!scope.model.sequence(name).live) {
        add(AppendOp{name, 1, token});  // what is used up stays used up, whoever has its place now
      } else if (!scope.model.sequence(name).open.open) {
        add(AppendOp{name, 1, token, 0, 0, mode});  // tainted, its refusal stands for all
      }
    }
    for (SequenceName const name : scope.at_rest) {
      add(AppendOp{name, page, token, 1, 0, mode});      // row by row
      add(AppendOp{name, page + 1, token, 0, 1, mode});  // through views
      if (scope.shape().has_draft()) {
        add(AppendOp{name, 1, token, 0, 0, mode, 1});  // the draft is left out
      }
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (auto const* const more = ways.template next<AppendOp>()) {
      AppendOp both = *this;
      both.count += more->count;
      ways.join(both);
    }
  }
  [[nodiscard]] std::uint32_t rows() const { return count; }
};

}  // namespace holdfast::model
