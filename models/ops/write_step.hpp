// SPDX-License-Identifier: Apache-2.0
// write_step: writes the rows of an open step, item by item or all at once.
#pragma once

#include "models/ops/operation.hpp"

namespace holdfast::model {

/// write_step sequence=s0 piece=0 view=0 whole=1 via=2: the step that s0 is or was an item of.
struct WriteStepOp {
  static constexpr char const* kName = "write_step";
  static constexpr char const* kMeaning =
      "writes the rows of an open step; of one that is written what it lacks, and its rounds again";
  static constexpr Effects kEffects{.changes = Thing::kSequence | Thing::kAppend | Thing::kRound |
                                               Thing::kStep};
  static constexpr Weight kWeight{.mix = 4};
  SequenceName sequence;
  std::uint32_t piece = 0;
  std::uint32_t view = 0;
  std::uint32_t skip = 0;
  std::uint32_t whole = 0;
  std::uint32_t via = kStreamNames;  // of what is written at once
  WritePlan plan;
  std::uint32_t graph =
      0;  // a graph is replayed that an earlier step was captured in, if there is one

  [[nodiscard]] WriteStyle style() const {
    bool const is_elsewhere = whole != 0 && via < kStreamNames;
    return {.piece = piece,
            .view = view != 0,
            .skip = skip,
            .whole = whole != 0,
            .via = is_elsewhere ? std::optional{Stream{via}} : std::nullopt,
            .plan = plan,
            .graph = graph != 0};
  }
  [[nodiscard]] bool precondition(Model const& model) const {
    ModelStep const* const step = model.step_of(sequence);
    // What is written again is written plainly: a plan is about the first time.
    bool const is_again = step != nullptr && step->is_written;
    return model.sequence(sequence).created && via <= kStreamNames && plan.via <= kStreamNames &&
           (!is_again || (plan.is_plain() && ((whole == 0 && graph == 0) || !step->is_uneven))) &&
           (graph == 0 || plan.is_plain());
  }
  Observation apply(Model& model, Observation const& got) const {
    return model.write_step(sequence, style(), got);
  }
  Observation run(System& system) const { return system.write_step(sequence, style()); }
  static std::optional<WriteStepOp> generate(GenerateContext const& context) {
    auto const name = pick_step(context);
    if (!name) {
      return std::nullopt;
    }
    Source& source = context.source;
    WriteStepOp op{.sequence = *name,
                   .piece = pick_piece(source),
                   .view = source.one_in(4) ? 1U : 0U,
                   .skip = pick_skip(context),
                   .whole = source.one_in(3) ? 1U : 0U};
    ModelStep const* const step = context.model.step_of(*name);
    op.graph = context.model.has_graph_for(*name) ? source.below(2)
               : context.is_nonsense()            ? 1U
                                                  : 0U;
    if (step != nullptr && step->is_written) {
      op.skip = 0;
      op.whole = step->is_uneven ? 0 : op.whole;
      op.graph = step->is_uneven ? 0 : op.graph;
      return op;
    }
    op.plan = op.graph != 0 ? WritePlan{} : pick_plan(context);
    op.plan.part += op.plan.is_plain()                         ? 0
                    : step != nullptr && step->items.count > 1 ? source.below(1024)
                                                               : 0;
    if (context.model.is_asynchronous() && op.whole != 0) {
      op.via = source.below(kStreamNames + 1);
    }
    return op;
  }
  template <typename Visitor>
  void fields(Visitor& visit) {
    visit("sequence", sequence);
    visit("piece", piece, 0U);
    visit("view", view, 0U);
    visit("skip", skip, 0U);
    visit("whole", whole, 0U);
    visit("via", via, kStreamNames);
    visit("plan", plan, WritePlan{});
    visit("graph", graph, 0U);
  }
  template <typename Add>
  static void choices(SmallScope const& /*scope*/, Add const& /*add*/) {}
  template <typename Ways>
  void plainer(Ways& /*ways*/) const {}
  [[nodiscard]] std::uint32_t rows() const { return 0; }
};

}  // namespace holdfast::model
