// SPDX-License-Identifier: Apache-2.0
// leave: a step is begun and its rows are on their way; one of its sequences is released, in a stream
// of its own; the others finish.
#pragma once

#include "models/ops/release.hpp"
#include "models/ops/step.hpp"

namespace holdfast::model {

/// leave items=append:s0:3:3:1,verify:s1:4:0:4 item=1 via=2 piece=0 view=0
struct LeaveOp {
  static constexpr char const* kName = "leave";
  static constexpr char const* kMeaning =
      "releases a sequence out of a step that is under way; the others finish";
  static constexpr Effects kEffects{.makes = Thing::kAppend | Thing::kRound | Thing::kRows,
                                    .ends = Thing::kAppend | Thing::kRound | Thing::kSequence,
                                    .changes = Thing::kSequence};
  static constexpr Weight kWeight{.mix = 2};
  StepParts items;
  std::uint32_t item = 0;  // whose sequence leaves; nothing of it is kept
  std::uint32_t via = 0;   // stream of the release
  std::uint32_t piece = 0;
  std::uint32_t view = 0;

  [[nodiscard]] bool precondition(Model const& model) const {
    return step_of(*this).precondition(model) && item < items.count &&
           items.parts[item].keep == 0 && items.parts[item].deed != StepDeed::kPad &&
           via < kStreamNames;
  }
  Observation apply(Model& model, Observation const& got) const {
    Observation const answer = step_of(*this).apply(model, got);
    if (answer.ok) {
      static_cast<void>(model.release(items.parts[item].sequence));
    }
    return answer;
  }
  Observation run(System& system) const {
    return step_of(*this).run(system, {.released = item, .released_in = Stream{via}});
  }
  static std::optional<LeaveOp> generate(GenerateContext const& context) {
    auto step = StepOp::generate_items(context);
    if (!step) {
      return std::nullopt;
    }
    std::uint32_t item = context.source.below(step->items.count);
    while (step->items.parts[item].deed == StepDeed::kPad) {
      item = (item + 1) % step->items.count;  // one is no padding
    }
    step->items.parts[item].keep = 0;
    return LeaveOp{step->items, item, context.source.below(kStreamNames), step->piece, step->view};
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("items", items);
    visit("item", item);
    visit("via", via);
    visit("piece", piece);
    visit("view", view);
  }
  template <typename Visitor>
  void openings(Visitor const& visit) const {
    visit_openings(items, visit);
  }
  [[nodiscard]] SequenceName leaver() const { return items.parts[item].sequence; }
  template <typename Add>
  static void choices(SmallScope const& scope, Add const& add) {
    StepParts items = two_items(scope);
    if (scope.at_rest.size() > 1) {
      items.parts[0].keep = 0;
      add(LeaveOp{.items = items});
    }
  }
  template <typename Ways>
  void plainer(Ways& ways) const {
    ways.start();
    add_items(ways, items, false);
    ways.add(ReleaseOp{leaver()});
  }
  [[nodiscard]] std::uint32_t rows() const { return step_of(*this).rows(); }
};

}  // namespace holdfast::model
