// SPDX-License-Identifier: Apache-2.0
// step: one engine step over several sequences, begun, written and finished; items in any row
// order.
#pragma once

#include "models/ops/accept.hpp"
#include "models/ops/append.hpp"
#include "models/ops/begin.hpp"
#include "models/ops/drop.hpp"
#include "models/ops/operation.hpp"
#include "models/ops/verify.hpp"

namespace holdfast::model {

/// Visits the handles that a step opens.
template <typename Visitor>
void visit_openings(StepParts const& items, Visitor const& visit) {
  for (StepPart const& item : items) {
    if (item.deed != StepDeed::kPad) {
      visit(OpenedHandle{item.sequence, item.rows, item.deed == StepDeed::kVerify, item.mode});
    }
  }
}

/// Two items of the exhaustive search: padding, or rows of a round, and an append. No item when nothing
/// is at rest.
inline StepParts two_items(SmallScope const& scope) {
  if (scope.at_rest.empty()) {
    return {};
  }
  Token const token = scope.model.next_token();
  StepPart first{.deed = StepDeed::kPad, .rows = 1};
  if (scope.at_rest.size() > 1) {
    first = {.deed = StepDeed::kVerify,
             .sequence = scope.at_rest[1],
             .rows = 2,
             .keep = 1,
             .token = token + 1,
             .mode = scope.mode};
  }
  StepPart const append{.deed = StepDeed::kAppend,
                        .sequence = scope.at_rest.front(),
                        .rows = 1,
                        .keep = 1,
                        .token = token,
                        .mode = scope.mode_of_appends()};
  return {.parts = {first, append}, .count = 2};
}

/// Adds what the items of a step do, one after the other; of all items as much as an append does, or
/// as they are.
template <typename Ways>
void add_items(Ways& ways, StepParts const& items, bool plainest) {
  for (StepPart const& item : items) {
    if (item.deed == StepDeed::kPad) {
      continue;
    }
    if (plainest || item.keep == item.rows) {
      ways.add(AppendOp::at_once(item.sequence, item.rows, item.mode));
    } else if (item.deed == StepDeed::kAppend) {
      ways.add(BeginOp{.sequence = item.sequence, .count = item.rows, .written = item.rows});
      ways.add(DropOp{item.sequence});
    } else {
      ways.add(VerifyOp{.sequence = item.sequence, .count = item.rows, .written = item.rows});
      ways.add(AcceptOp{.sequence = item.sequence, .keep = item.keep});
    }
  }
}

/// The ways of a step whose items are done one after the other.
template <typename Ways>
void add_single(Ways& ways, StepParts const& items) {
  ways.start();
  add_items(ways, items, true);
  ways.start();
  add_items(ways, items, false);
}

/// step items=append:s0:3:3:1,pad:2,verify:s1:4:2:4:inplace piece=0 view=0 whole=1 via=2
struct StepOp {
  static constexpr char const* kName = "step";
  static constexpr char const* kMeaning =
      "appends to and verifies several sequences at once, as an engine's step does";
  static constexpr Effects kEffects{.makes = Thing::kAppend | Thing::kRound | Thing::kRows,
                                    .ends = Thing::kAppend | Thing::kRound,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 6};
  StepParts items;
  std::uint32_t piece = 0;
  std::uint32_t view = 0;
  std::uint32_t skip = 0;
  std::uint32_t whole = 0;           // rows of all items by one write for several layers
  std::uint32_t via = kStreamNames;  // stream of that write; that many: the program's
  WritePlan plan;                    // parts are counted over all items

  [[nodiscard]] WriteStyle style() const {
    bool const is_elsewhere = whole != 0 && via < kStreamNames;
    return {.piece = piece,
            .view = view != 0,
            .skip = skip,
            .whole = whole != 0,
            .via = is_elsewhere ? std::optional{Stream{via}} : std::nullopt,
            .plan = plan};
  }
  [[nodiscard]] bool precondition(Model const& model) const {
    for (StepPart const& item : items) {
      bool const is_append = item.deed == StepDeed::kAppend;
      if (item.deed != StepDeed::kPad &&
          (!model.sequence(item.sequence).created || item.keep > item.rows ||
           !are_sane(item.rows, item.token) ||
           (is_append && item.keep != 0 && item.keep != item.rows) ||
           (is_append && item.mode == StateMode::kRescan))) {
        return false;
      }
      if (item.deed == StepDeed::kPad && (item.keep != 0 || !are_sane(item.rows, 1))) {
        return false;
      }
    }
    return via <= kStreamNames && plan.via <= kStreamNames &&
           items.count <= 2 * model.shape().capacity.sequences;
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.step(items, got.is(ErrorCode::kExhausted), style());
  }
  Observation run(System& system, StepFate const& fate = {}) const {
    return system.step(items, style(), fate);
  }
  static std::optional<StepOp> generate(GenerateContext const& context);
  /// A step over sequences at rest; nothing when none was drawn.
  static std::optional<StepOp> generate_items(GenerateContext const& context);
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("items", items);
    visit("piece", piece);
    visit("view", view);
    visit("skip", skip, 0U);
    visit("whole", whole, 0U);
    visit("via", via, kStreamNames);
    visit("plan", plan, WritePlan{});
  }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit_openings(items, visit);
  }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    // With padding, or two sequences, written at once; and one twice, which must be refused.
    StepParts const two = two_items(scope);
    if (two.count != 0) {
      add(StepOp{.items = two, .whole = 1});
      StepOp twice{.items = two};
      twice.items.parts[0] = two.parts[1];
      twice.items.parts[0].token = two.parts[1].token + 3;
      add(twice);
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    if (items.count == 1) {
      StepPart const& item = items.parts[0];
      ways.same(AppendOp{
          .sequence = item.sequence, .count = item.keep, .token = item.token, .keys = item.keys});
    }
    add_single(ways, items);
  }
  [[nodiscard]] std::uint32_t rows() const {
    std::uint32_t rows = 0;
    for (StepPart const& item : items) {
      rows += item.deed == StepDeed::kPad ? 0 : item.rows;
    }
    return rows;
  }

 private:
  static void generate_part(GenerateContext const& context,
                            SequenceName name,
                            Token& token,
                            StepPart& part);
};

/// The step that another operation begins and ends in its own way.
template <typename Op>
StepOp step_of(Op const& op) {
  return {.items = op.items, .piece = op.piece, .view = op.view};
}

inline void StepOp::generate_part(GenerateContext const& context,
                                  SequenceName name,
                                  Token& token,
                                  StepPart& part) {
  Source& source = context.source;
  std::uint32_t const room = room_of(context.model, name);
  bool const round = source.one_in(2);
  part.deed = round ? StepDeed::kVerify : StepDeed::kAppend;
  part.sequence = name;
  part.rows = round ? pick_round_rows(context, room)
              : context.habits.lengths == LengthHabit::kAroundMean
                  ? std::max(1U, std::min(room, source.between(1, context.habits.mean_rows)))
                  : std::max(1U, pick_rows(context, room));
  part.keep = round ? source.below(part.rows + 1) : source.one_in(8) ? 0 : part.rows;
  part.token = token;
  part.mode = pick_mode(context, round);
  part.keys = pick_keys(context, token);
  token += part.rows;
}

inline std::optional<StepOp> StepOp::generate_items(GenerateContext const& context) {
  Source& source = context.source;
  StepOp op;
  Token token = context.model.next_token();
  // Every sequence at rest with some chance, in an order of its own, and padding anywhere.
  std::uint32_t const live = static_cast<std::uint32_t>(context.model.live_sequences().size());
  std::uint32_t const first = live == 0 ? 0 : source.below(live);
  bool const backwards = source.one_in(2);
  std::uint32_t sequences = 0;
  for (std::uint32_t i = 0; i < live && op.items.count + 1 < kStepItemLimit; ++i) {
    std::uint32_t const at = backwards ? (first + live - i) % live : (first + i) % live;
    SequenceName const name{context.model.live_sequences()[at]};
    if (!suits(context.model.sequence(name), SequenceWish::kAtRest) ? !context.is_nonsense()
                                                                    : source.one_in(4)) {
      continue;
    }
    if (source.one_in(4)) {
      op.items.parts[op.items.count++] = {.deed = StepDeed::kPad, .rows = source.between(1, 4)};
    }
    generate_part(context, name, token, op.items.parts[op.items.count++]);
    ++sequences;
  }
  if (sequences != 0 && op.items.count < kStepItemLimit && context.is_nonsense()) {
    StepPart const twice = op.items.parts[op.items.count - 1];
    op.items.parts[op.items.count++] = twice;
  }
  if (sequences == 0) {
    return std::nullopt;
  }
  op.piece = pick_piece(source);
  op.view = source.one_in(4) ? 1 : 0;
  op.skip = pick_skip(context);
  op.whole = source.one_in(3) ? 1 : 0;
  return op;
}

inline std::optional<StepOp> StepOp::generate(GenerateContext const& context) {
  auto op = generate_items(context);
  if (op) {
    op->plan = pick_plan(context);
    op->plan.part += op->items.count > 1 ? context.source.below(1024) : 0;
  }
  if (!context.model.is_asynchronous()) {
    return op;  // one stream is as good as another
  }
  // Told by the token, so that it takes no draw from what follows.
  Source own{mix(context.model.next_token(), 0x766961U)};
  if (!op && own.one_in(kRareRate)) {
    // Of padding alone, as a rank that has no request steps with the others.
    op.emplace();
    op->items.parts[op->items.count++] = {.deed = StepDeed::kPad,
                                          .rows = context.source.between(1, 4)};
    op->whole = 1;
  }
  if (op && op->whole != 0) {
    op->via = own.below(kStreamNames + 1);
  }
  return op;
}

}  // namespace holdfast::model
