// SPDX-License-Identifier: Apache-2.0
// Law of ranks and stages: many devices are as one.
#include "fuzz/generator.hpp"
#include "tests/property/laws.hpp"

namespace holdfast::test {
namespace {

/// The layout on several devices: as it is, or else on two ranks and two stages.
Layout spread(Layout layout) {
  if (layout.ranks == 1 && layout.stages == 1) {
    layout.ranks = layout.stages = 2;
    for (std::size_t i = layout.layers.size() / 2; i < layout.layers.size(); ++i) {
      layout.layers[i].stage = 1;
    }
  }
  return layout;
}

/// The same on one device.
Layout gathered(Layout layout) {
  layout.ranks = layout.stages = 1;
  for (Layer& layer : layout.layers) {
    layer.stage = 0;
  }
  return layout;
}

/// Rows and states on one device, with the groups and shares of the many.
model::ModelShape gathered_shape(Layout const& layout) {
  model::ModelShape shape = model::make_model_shape(gathered(layout));
  for (model::PlaneShape& plane : shape.planes) {
    plane.shares = plane.split ? layout.ranks : 1;
  }
  for (model::StateShape& state : shape.states) {
    state.groups = layout.ranks;
  }
  return shape;
}

/// The same operation with rounds of one kind. An engine that takes liberties with one rank has nothing to compare on another
/// number of ranks: all are written alike.
model::AnyOp with_rounds(model::AnyOp op, StateMode kind) {
  std::visit(
      [](auto& known) {
        if constexpr (requires { known.plan; }) {
          known.plan = {};
        }
      },
      op);
  if (auto* const verify = std::get_if<model::VerifyOp>(&op); verify != nullptr) {
    verify->mode = kind;
  }
  if (auto* const step = std::get_if<model::StepOp>(&op); step != nullptr) {
    for (model::StepPart& part : step->items.parts) {
      part.mode = part.deed == model::StepDeed::kVerify ? kind : part.mode;
    }
  }
  return op;
}

}  // namespace

bool has_ranks(model::Geometry const& geometry) {
  return bool(validate(spread(geometry.layout)));
}

void ranks_are_one(Setting const& setting) {
  auto const seed = *rc::gen::arbitrary<std::uint64_t>();
  auto const length = *rc::gen::inRange<std::uint32_t>(4, 60);
  Layout const many = spread(setting.geometry.layout);
  Lab lab{many};
  Lab one{gathered(many), gathered_shape(many)};
  Script script{lab};
  Script single{one};
  fuzz::Generator const generator{setting.geometry.mix};
  model::Source source{seed};
  for (std::uint32_t i = 0; i < length; ++i) {
    model::AnyOp const op = with_rounds(generator.next(source, script.model()), setting.kind);
    Observation const got = script.run(op);
    Observation const want = single.run(op);
    if (!(got == want)) {
      RC_FAIL(std::string{"answers differ at "} + model::name_of(op));
    }
    if (std::holds_alternative<model::CloseOp>(op) && got.ok) {
      return;
    }
  }
  for (std::uint32_t const name : script.model().live_sequences()) {
    if (!script.model().sequence({name}).tainted) {
      must_equal(lab.visible(SequenceName{name}), one.visible(SequenceName{name}), "a sequence");
    }
  }
  for (std::uint32_t const name : script.model().live_snapshots()) {
    must_equal(lab.visible(SnapshotName{name}), one.visible(SnapshotName{name}), "a snapshot");
  }
}

}  // namespace holdfast::test
