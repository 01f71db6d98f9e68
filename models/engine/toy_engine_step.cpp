// SPDX-License-Identifier: Apache-2.0
// The toy engine's writes of whole steps.
#include <algorithm>

#include "models/engine/toy_engine.hpp"
#include "models/engine/try_again.hpp"

namespace holdfast::model {
namespace {

/// Whether rows of two layers are of one kind and shape, and lie in one plane class.
bool is_of_class(PlaneShape const& one, PlaneShape const& other) noexcept {
  return one.kind == other.kind && one.stage == other.stage && one.elements == other.elements &&
         one.strips == other.strips && one.formats == other.formats && one.pool == other.pool &&
         one.key_width == other.key_width && one.window_rows == other.window_rows &&
         one.ring_rows == other.ring_rows && one.shares == other.shares &&
         one.split == other.split && one.heads == other.heads;
}

}  // namespace

Status ToyEngine::write_step(Step& step,
                             std::span<ItemRows const> items,
                             WriteStyle style) noexcept {
  std::uint64_t need = 0;
  for (ItemRows const& item : items) {
    need += need_of(item.rows);
  }
  HOLDFAST_TRY(make_room(need, style.stream));
  Stream const via = style.via.value_or(style.stream);
  HOLDFAST_TRY(make_room(0, via));
  Token const* tokens[kStepItemLimit];
  for (std::size_t i = 0; i < items.size(); ++i) {
    tokens[i] = scratch_.keep(std::span<Token const>{items[i].tokens});
  }
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    HOLDFAST_TRY(write_layers(step, items, {tokens, items.size()}, rank, via));
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      ItemRows const& item = items[i];
      if (item.is_padding || item.rows == 0) {
        continue;
      }
      StepRows handle{step, i, item.round};
      style.mode = item.mode;
      tokens_ = tokens[i];
      RowSpan const rows{
          .tokens = tokens[i], .position = item.position, .first = 0, .count = item.rows};
      for (PlaneShape const& plane : shape_.planes) {
        if (rule_of(plane.kind) == PlaneRule::kDraft) {
          HOLDFAST_TRY(write_draft(handle, plane, rows, item.history, rank, style));
        }
      }
      HOLDFAST_TRY(write_slots(handle, item.rows, 0, rank, style));
    }
  }
  return {};
}

/// All classes at once.
Status ToyEngine::write_layers(Step& step,
                               std::span<ItemRows const> items,
                               std::span<Token const* const> tokens,
                               std::uint32_t rank,
                               Stream stream) noexcept {
  constexpr std::size_t kMost = 16;  // of one call
  PlaneRows classes[kMost];
  std::size_t count = 0;
  for (PlaneShape const& plane : shape_.planes) {
    if (count == kMost) {
      HOLDFAST_TRY(write_classes(step, {classes, count}, rank, stream));
      count = 0;
    }
    auto const rows = stage_layers(plane, items, tokens, rank, stream);
    HOLDFAST_TRY(rows);
    classes[count] = *rows;
    count += rows->layers == 0 ? 0U : 1U;
  }
  return write_classes(step, {classes, count}, rank, stream);
}

Status ToyEngine::write_classes(Step& step,
                                std::span<PlaneRows const> classes,
                                std::uint32_t rank,
                                Stream stream) noexcept {
  return try_again([&]() noexcept { return step.write_all(classes, stream, rank); });
}

/// Rows of the class that a plane is the first one of, where the device can read them; no layers when it
/// is another one.
Result<PlaneRows> ToyEngine::stage_layers(PlaneShape const& plane,
                                          std::span<ItemRows const> items,
                                          std::span<Token const* const> tokens,
                                          std::uint32_t rank,
                                          Stream stream) noexcept {
  auto const begin = shape_.planes.begin();
  auto const has_its_shape = [&](PlaneShape const& other) { return is_of_class(plane, other); };
  if (plane.derived || rule_of(plane.kind) == PlaneRule::kDraft ||
      &*std::find_if(begin, shape_.planes.end(), has_its_shape) != &plane) {
    return PlaneRows{};
  }
  auto const layers =
      static_cast<std::uint32_t>(std::count_if(begin, shape_.planes.end(), has_its_shape));
  std::uint32_t const elements = shard_elements(plane, shape_.ranks);
  std::uint32_t rows = 0;
  for (ItemRows const& item : items) {
    rows += item.rows;
  }
  float* const staging = scratch_.take<float>(std::size_t{layers} * rows * elements);
  float* out = staging;
  for (PlaneShape const& layer : shape_.planes) {
    for (std::size_t i = 0; i < items.size() && has_its_shape(layer); ++i) {
      ItemRows const& item = items[i];
      if (!item.is_padding && item.rows != 0) {
        RowSpan const span{
            .tokens = tokens[i], .position = item.position, .first = 0, .count = item.rows};
        HOLDFAST_TRY(make_rows(layer, span, out, rank, stream));
      }
      out += std::size_t{item.rows} * elements;
    }
  }
  return PlaneRows{.plane = plane.kind, .layer = plane.layer, .layers = layers, .source = staging};
}

}  // namespace holdfast::model
