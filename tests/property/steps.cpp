// SPDX-License-Identifier: Apache-2.0
// Laws of steps: several sequences at once are as one after the other, in any order.
#include <algorithm>

#include "tests/property/laws.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kMostSequences = 4;
constexpr std::uint32_t kFewRows = 10;  // of the moves before the step
constexpr Token kTokensOfOne = 1000;    // sequences of a case have tokens of their own

/// One step over some sequences, each with its own past.
struct Scene {
  std::vector<Moves> pasts;            // by sequence
  std::vector<model::StepPart> parts;  // one for each sequence
  model::WriteStyle style;
};

Scene any_scene(Setting const& setting) {
  Scene scene;
  std::uint32_t const most = std::min(kMostSequences, setting.geometry.layout.capacity.sequences);
  auto const count = *rc::gen::inRange<std::uint32_t>(1, most + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    scene.pasts.push_back(*any_moves(setting.kind, kFewRows));
    Move const move = *any_move(setting.kind);
    scene.parts.push_back({.deed = move.round ? model::StepDeed::kVerify : model::StepDeed::kAppend,
                           .sequence = {i},
                           .rows = move.rows,
                           .keep = move.keep,
                           .token = kLeft + kTokensOfOne * kMostSequences + kTokensOfOne * i,
                           .mode = move.mode});
  }
  scene.style = {.piece = *any_piece(), .view = *rc::gen::arbitrary<bool>()};
  return scene;
}

void play_pasts(Lab& lab, Scene const& scene) {
  for (std::uint32_t i = 0; i < scene.pasts.size(); ++i) {
    must(lab.system().create({i}));
    lab.play({i}, scene.pasts[i], kBase + kTokensOfOne * i);
  }
}

void play_step(Lab& lab, std::vector<model::StepPart> const& parts, model::WriteStyle style) {
  model::StepParts items;
  std::uint32_t keep = 0;
  for (model::StepPart const& part : parts) {
    items.parts[items.count++] = part;
    keep += part.keep;
  }
  Observation const got = lab.system().step(items, style, {});
  must(got);
  RC_ASSERT(got.value == keep);
}

/// Puts an item anywhere among others.
void put_anywhere(std::vector<model::StepPart>& parts, model::StepPart const& part) {
  auto const at = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(parts) + 1);
  parts.insert(parts.begin() + at, part);
}

/// The parts with padding before, between and after them.
std::vector<model::StepPart> with_padding(std::vector<model::StepPart> parts) {
  auto const room = model::kStepItemLimit - static_cast<std::uint32_t>(parts.size());
  auto const pads = *rc::gen::inRange<std::uint32_t>(0, room + 1);
  for (std::uint32_t i = 0; i < pads; ++i) {
    put_anywhere(parts,
                 {.deed = model::StepDeed::kPad, .rows = *rc::gen::inRange<std::uint32_t>(1, 4)});
  }
  return parts;
}

/// The parts in any order.
std::vector<model::StepPart> shuffled(std::vector<model::StepPart> const& parts) {
  std::vector<model::StepPart> mixed;
  for (model::StepPart const& part : parts) {
    put_anywhere(mixed, part);
  }
  return mixed;
}

void must_agree(Lab& lab, Lab& plain, Scene const& scene) {
  for (std::uint32_t i = 0; i < scene.pasts.size(); ++i) {
    must_equal(lab.visible(SequenceName{i}), plain.visible(SequenceName{i}), "a sequence");
  }
}

}  // namespace

void step_is_its_items(Setting const& setting) {
  Scene const scene = any_scene(setting);
  Lab lab{setting.geometry.layout};
  play_pasts(lab, scene);
  play_step(lab, with_padding(scene.parts), scene.style);
  Lab plain{setting.geometry.layout};
  play_pasts(plain, scene);
  for (auto part = scene.parts.rbegin(); part != scene.parts.rend(); ++part) {
    plain.play(part->sequence,
               Move{.round = part->deed == model::StepDeed::kVerify,
                    .rows = part->rows,
                    .keep = part->keep,
                    .mode = part->mode},
               part->token);
  }
  must_agree(lab, plain, scene);
}

void order_and_padding_are_nothing(Setting const& setting) {
  Scene const scene = any_scene(setting);
  Lab lab{setting.geometry.layout};
  play_pasts(lab, scene);
  play_step(lab, with_padding(shuffled(scene.parts)), scene.style);
  Lab plain{setting.geometry.layout};
  play_pasts(plain, scene);
  play_step(plain, scene.parts, {});
  must_agree(lab, plain, scene);
}

}  // namespace holdfast::test
