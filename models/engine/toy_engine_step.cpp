// SPDX-License-Identifier: Apache-2.0
// The toy engine's writes of whole steps.
#include <algorithm>

#include "models/engine/toy_engine.hpp"
#include "models/engine/try_again.hpp"

namespace holdfast::model {

Status ToyEngine::write_step(Step& step,
                             std::span<ItemRows const> items,
                             WriteStyle style) noexcept {
  std::uint64_t need = 0;
  for (ItemRows const& item : items) {
    need += style.plan.is_plain() ? need_of(item.rows) : 2 * need_of(std::uint64_t{item.rows} + 2);
  }
  HOLDFAST_TRY(make_room(need, style.stream));
  for (Stream const stream :
       {style.via.value_or(style.stream),
        style.plan.via == kStreamNames ? style.stream : Stream{style.plan.via}}) {
    HOLDFAST_TRY(make_room(0, stream));
  }
  Token const* tokens[kStepItemLimit];
  for (std::size_t i = 0; i < items.size(); ++i) {
    tokens[i] = scratch_.keep(std::span<Token const>{items[i].tokens});
  }
  WritePlan const plan = style.plan;
  for (std::uint32_t i = 0; i < shape_.ranks; ++i) {
    std::uint32_t const rank = plan.reversed ? shape_.ranks - 1 - i : i;
    choose_special(plan);
    HOLDFAST_TRY(write_layers(step, items, {tokens, items.size()}, rank, style));
    for (std::uint32_t item = 0; item < items.size(); ++item) {
      style.plan = plan_of_item(shape_, plan, item, static_cast<std::uint32_t>(items.size()));
      style.mode = items[item].mode;
      HOLDFAST_TRY(write_item(step, items[item], item, tokens[item], rank, style));
    }
    style.plan = plan;
  }
  return {};
}

/// What no write of whole layers takes: the special plane, drafts and states.
Status ToyEngine::write_item(Step& step,
                             ItemRows const& item,
                             std::uint32_t index,
                             Token const* tokens,
                             std::uint32_t rank,
                             WriteStyle style) noexcept {
  if (item.is_padding || item.rows == 0) {
    return {};
  }
  std::optional<Part> const excluded = special_;
  StepRows handle{step, index, item.round};
  stream_ = style.stream;
  tokens_ = tokens;
  WriteWork const work{.tokens = tokens,
                       .position = item.position,
                       .end = item.rows,
                       .special_end = style.plan.rows_of(item.rows),
                       .state_end = item.rows,
                       .special_state_end = style.plan.rows_of(item.rows),
                       .history = item.history};
  bool const is_plain = style.plan.liberty == Liberty::kNone &&
                        style.plan.mistake == Mistake::kNone && style.plan.via == kStreamNames;
  special_ = is_plain ? std::nullopt : excluded;
  Status wrote;
  for (std::uint32_t const at : shape_.written_planes) {
    PlaneShape const& plane = shape_.planes[at];
    if (!wrote) {
      break;
    }
    if (rule_of(plane.kind) == PlaneRule::kDraft) {
      wrote = write_draft(handle, plane, work, rank, style);
    } else if (excluded == Part{.rank = rank, .plane = at}) {
      RowSpan const rows{.tokens = tokens,
                         .position = item.position,
                         .first = 0,
                         .count = special_ ? work.special_end : work.end};
      wrote = write_part(handle, plane, rows, rank, style);
    }
  }
  wrote = wrote ? write_slots(handle, work, rank, style) : wrote;
  special_ = excluded;
  return wrote;
}

/// All classes at once; the special layer is left out.
Status ToyEngine::write_layers(Step& step,
                               std::span<ItemRows const> items,
                               std::span<Token const* const> tokens,
                               std::uint32_t rank,
                               WriteStyle const& style) noexcept {
  constexpr std::size_t kMost = 16;  // of one call
  Stream const stream = style.via.value_or(style.stream);
  PlaneRows classes[kMost];
  std::size_t count = 0;
  std::size_t const planes = shape_.written_planes.size();
  for (std::size_t i = 0; i < planes; ++i) {
    if (count == kMost) {
      HOLDFAST_TRY(write_classes(step, {classes, count}, rank, stream));
      count = 0;
    }
    std::size_t const at = style.plan.reversed ? planes - 1 - i : i;
    auto const rows =
        stage_layers(shape_.planes[shape_.written_planes[at]], items, tokens, rank, stream);
    HOLDFAST_TRY(rows);
    classes[count] = *rows;
    count += rows->layers == 0 ? 0U : 1U;
  }
  HOLDFAST_TRY(write_classes(step, {classes, count}, rank, stream));
  bool const has_append = std::any_of(items.begin(), items.end(), [](ItemRows const& item) {
    return !item.is_padding && !item.round;
  });
  return count == 0 || !special_ || special_->rank != rank
             ? Status{}
             : err_layers(step, classes[0], has_append, rank, style);
}

Status ToyEngine::write_classes(Step& step,
                                std::span<PlaneRows const> classes,
                                std::uint32_t rank,
                                Stream stream) noexcept {
  return try_again([&]() noexcept { return step.write_all(classes, stream, rank); });
}

/// Rows of the layers from a plane on that follow each other in its class, where the device can read
/// them; no layers when an earlier plane's have it.
Result<PlaneRows> ToyEngine::stage_layers(PlaneShape const& plane,
                                          std::span<ItemRows const> items,
                                          std::span<Token const* const> tokens,
                                          std::uint32_t rank,
                                          Stream stream) noexcept {
  if (rule_of(plane.kind) == PlaneRule::kDraft || is_special(plane, rank)) {
    return PlaneRows{};
  }
  PlaneShape const* const first = shape_.planes.data();
  PlaneShape const* const end = first + shape_.planes.size();
  auto const has_its_shape = [&](PlaneShape const& other) { return is_of_class(plane, other); };
  for (PlaneShape const* before = &plane; before != first;) {
    if (has_its_shape(*--before)) {
      if (!is_special(*before, rank)) {
        return PlaneRows{};
      }
      break;
    }
  }
  std::uint32_t const elements = shard_elements(plane, shape_.ranks);
  std::uint32_t rows = 0;
  for (ItemRows const& item : items) {
    rows += item.rows;
  }
  std::uint32_t layers = 0;
  PlaneShape const* last = &plane;
  for (; last != end && !(has_its_shape(*last) && is_special(*last, rank)); ++last) {
    layers += has_its_shape(*last) ? 1U : 0U;
  }
  float* const staging = scratch_.take<float>(std::size_t{layers} * rows * elements);
  float* out = staging;
  for (PlaneShape const* layer = &plane; layer != last; ++layer) {
    for (std::size_t i = 0; i < items.size() && has_its_shape(*layer); ++i) {
      ItemRows const& item = items[i];
      if (!item.is_padding && item.rows != 0) {
        RowSpan const span{
            .tokens = tokens[i], .position = item.position, .first = 0, .count = item.rows};
        HOLDFAST_TRY(make_rows(*layer, span, out, rank, stream));
      }
      out += std::size_t{item.rows} * elements;
    }
  }
  return PlaneRows{.plane = plane.kind, .layer = plane.layer, .layers = layers, .source = staging};
}

}  // namespace holdfast::model
