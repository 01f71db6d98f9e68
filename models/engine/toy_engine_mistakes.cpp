// SPDX-License-Identifier: Apache-2.0
// The toy engine's mistakes: calls that must be refused. A call that is taken has rows of other tokens, so
// that what it wrote shows.
#include <algorithm>

#include "models/engine/toy_engine.hpp"

namespace holdfast::model {
namespace {

constexpr Token kOtherToken = 1U << 22U;  // programs have fewer

/// What a call answered that must be refused.
template <typename Answer>
Status refused(Answer const& answer) noexcept {
  return !answer && answer.error().code == ErrorCode::kInvalidArgument
             ? Status{}
             : Status{Error{.code = kNeverAnswered,
                            .text = "a wrong call was not refused as wrong",
                            .subject = "engine"}};
}

/// A write call.
struct WriteCall {
  PlaneKind plane;
  std::uint32_t layer;
  float const* source;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t rank;
};

Status call(Append& handle, WriteCall const& call, Stream stream) noexcept {
  return handle.write(call.plane, call.layer, call.source, call.count, stream, call.rank);
}
Status call(Round& handle, WriteCall const& call, Stream stream) noexcept {
  return handle.write(
      call.plane, call.layer, call.source, call.first, call.count, stream, call.rank);
}
Status call(StepRows& handle, WriteCall const& call, Stream stream) noexcept {
  return handle.step.write(
      handle.item, call.plane, call.layer, call.source, call.first, call.count, stream, call.rank);
}

/// A kind of which the layer has no rows that an engine writes.
PlaneKind kind_without_rows(ModelShape const& shape, PlaneShape const& plane) noexcept {
  auto kind = static_cast<std::uint32_t>(plane.kind);
  std::uint32_t found = 0;
  do {
    kind = (kind + 1) % kPlaneKindCount;
    found = shape.find(static_cast<PlaneKind>(kind), plane.layer);
  } while (found != UINT32_MAX && !shape.planes[found].derived);
  return static_cast<PlaneKind>(kind);
}

}  // namespace

std::uint32_t ToyEngine::layer_past_all() const noexcept {
  std::uint32_t past = 0;
  for (PlaneShape const& plane : shape_.planes) {
    past = std::max(past, plane.layer + 1);
  }
  for (StateShape const& state : shape_.states) {
    past = std::max(past, state.layer + 1);
  }
  return past;
}

Token const* ToyEngine::other_tokens(std::uint32_t count) noexcept {
  Token* const tokens = scratch_.take<Token>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens[i] = kOtherToken + i;
  }
  return tokens;
}

template <typename Handle>
Status ToyEngine::err(Handle& handle,
                      PlaneShape const& plane,
                      std::uint32_t written,
                      std::uint32_t rank,
                      WriteStyle const& style) noexcept {
  Mistake const mistake = style.plan.mistake;
  if (mistake == Mistake::kNone || (mistake == Mistake::kRange && !is_round(handle))) {
    return {};
  }
  auto const open = handle.range(plane.kind, plane.layer);
  HOLDFAST_TRY(open);
  auto* const source = scratch_.take<float>(plane.elements);
  RowSpan const row{.tokens = other_tokens(1), .position = open->first, .first = 0, .count = 1};
  HOLDFAST_TRY(make_rows(plane, row, source, rank, stream_));
  WriteCall wrong{.plane = plane.kind,
                  .layer = plane.layer,
                  .source = source,
                  .first = 0,
                  .count = 1,
                  .rank = rank};
  switch (mistake) {
    case Mistake::kRank:
      wrong.rank = shape_.ranks;
      break;
    case Mistake::kPlane:
      wrong.plane = kind_without_rows(shape_, plane);
      break;
    case Mistake::kLayer:
      wrong.layer = layer_past_all();
      break;
    case Mistake::kRange:
      // Rows that were written again may be there already: behind all that are open nothing is.
      wrong.first = style.again ? open->count : std::min(written + 1, open->count);
      break;
    case Mistake::kCount:
      wrong.count = open->count + 1;
      break;
    case Mistake::kSource:
      wrong.source = nullptr;
      break;
    case Mistake::kNone:
      break;
  }
  HOLDFAST_TRY(refused(call(handle, wrong, stream_)));
  if (wrong.rank != rank || wrong.plane != plane.kind || wrong.layer != plane.layer) {
    HOLDFAST_TRY(refused(handle.rows(wrong.plane, wrong.layer, open->count, wrong.rank)));
  }
  return wrong.plane != plane.kind || wrong.layer != plane.layer
             ? refused(handle.range(wrong.plane, wrong.layer))
             : Status{};
}

template <typename Handle>
Status ToyEngine::err_state(Handle& handle,
                            StateShape const& state,
                            std::uint32_t rank,
                            WriteStyle const& style) noexcept {
  bool const rescans = is_round(handle) && style.mode == StateMode::kRescan;
  std::uint32_t const declared = rescans ? 0 : 1;
  bool const is_held = state.kind == PlaneKind::kHeld;
  bool const has_other =
      std::any_of(shape_.states.begin(), shape_.states.end(), [&](StateShape const& other) {
        return other.layer == state.layer && other.kind != state.kind;
      });
  auto const look = [&](bool held, std::uint32_t layer, std::uint32_t rows, std::uint32_t of_rank) {
    return held ? refused(handle.held(layer, rows, of_rank))
                : refused(handle.state(layer, rows, of_rank));
  };
  switch (style.plan.mistake) {
    case Mistake::kRank:
      if (rescans && !is_held) {
        HOLDFAST_TRY(refused(handle.stash(state.layer, 1, shape_.ranks)));
      }
      return look(is_held, state.layer, declared, shape_.ranks);
    case Mistake::kPlane:
      return has_other ? Status{} : look(!is_held, state.layer, declared, rank);
    case Mistake::kLayer:
      return look(is_held, layer_past_all(), declared, rank);
    case Mistake::kRange:
      // A rescan round takes inputs and no states, any other handle states and no inputs.
      return rescans ? look(is_held, state.layer, 1, rank)
                     : refused(handle.stash(state.layer, 1, rank));
    default:
      return {};
  }
}

Status ToyEngine::err_layers(Step& step,
                             PlaneRows const& rows,
                             bool has_append,
                             std::uint32_t rank,
                             WriteStyle const& style) noexcept {
  Stream const stream = style.via.value_or(style.stream);
  PlaneRows wrong[] = {rows, rows};
  std::size_t count = 1;
  switch (style.plan.mistake) {
    case Mistake::kNone:
      return {};
    case Mistake::kRank:
      rank = shape_.ranks;
      break;
    case Mistake::kPlane:
      wrong[0].plane =
          kind_without_rows(shape_, shape_.planes[shape_.find(rows.plane, rows.layer)]);
      break;
    case Mistake::kLayer:
      wrong[0].layer = layer_past_all();
      break;
    case Mistake::kRange:
      count = 2;  // a layer twice
      break;
    case Mistake::kCount:
      wrong[0].layers = has_append ? rows.layers : UINT32_MAX;  // an append's rows are written once
      break;
    case Mistake::kSource:
      wrong[0].source = nullptr;
      break;
  }
  return refused(step.write_all({wrong, count}, stream, rank));
}

template Status ToyEngine::err(
    Append&, PlaneShape const&, std::uint32_t, std::uint32_t, WriteStyle const&) noexcept;
template Status ToyEngine::err(
    Round&, PlaneShape const&, std::uint32_t, std::uint32_t, WriteStyle const&) noexcept;
template Status ToyEngine::err(
    StepRows&, PlaneShape const&, std::uint32_t, std::uint32_t, WriteStyle const&) noexcept;
template Status ToyEngine::err_state(Append&,
                                     StateShape const&,
                                     std::uint32_t,
                                     WriteStyle const&) noexcept;
template Status ToyEngine::err_state(Round&,
                                     StateShape const&,
                                     std::uint32_t,
                                     WriteStyle const&) noexcept;
template Status ToyEngine::err_state(StepRows&,
                                     StateShape const&,
                                     std::uint32_t,
                                     WriteStyle const&) noexcept;

}  // namespace holdfast::model
