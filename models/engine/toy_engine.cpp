// SPDX-License-Identifier: Apache-2.0
// The toy engine's kernels.
#include "models/engine/toy_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <holdfast/formats.hpp>
#include <new>
#include <type_traits>
#include <vector>

#include "models/engine/try_again.hpp"

namespace holdfast::model {
namespace {

/// Rows of one layer: into staging memory, or into the pages of a view.
struct RowsParameters {
  PlaneShape const* shape;
  RowsView view;        // pages == nullptr: into `out`
  Token const* tokens;  // [count]
  float* out;           // [count, elements of the rank]
  std::uint32_t position;
  std::uint32_t count;
  std::uint32_t ranks;
  std::uint32_t rank;
};

/// Where strip `strip` of a row lies.
std::byte* row_of(RowsView const& view, std::uint32_t position, Strip const& strip) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? position : position % view.ring_rows;
  return view.pages + view.table[physical / view.page_rows] * view.page_bytes + view.layer_offset +
         strip.offset + std::uint64_t{physical % view.page_rows} * strip.row_bytes;
}

void declare_rows(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  sink.read(parameters.tokens, parameters.count * sizeof(Token));
  if (parameters.view.pages == nullptr) {
    sink.write(parameters.out,
               std::uint64_t{parameters.count} *
                   shard_elements(*parameters.shape, parameters.ranks) * sizeof(float));
    return;
  }
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    for (Strip const& strip : parameters.view.strips) {
      sink.write(row_of(parameters.view, parameters.position + i, strip), strip.row_bytes);
    }
  }
}

void make_rows(void const* raw) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  PlaneShape const& shape = *parameters.shape;
  float* out = parameters.out;
  float whole[kWidestRow];
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    if (parameters.ranks == 1) {
      make_row(shape, parameters.tokens[i], parameters.position + i, out);
    } else {
      make_row(shape, parameters.tokens[i], parameters.position + i, whole);
      take_shard(shape, whole, parameters.ranks, parameters.rank, out);
    }
    if (parameters.view.pages == nullptr) {
      out += shard_elements(shape, parameters.ranks);
      continue;
    }
    float const* from = out;
    for (Strip const& strip : parameters.view.strips) {
      encode_elements(strip.format,
                      from,
                      strip.elements,
                      row_of(parameters.view, parameters.position + i, strip));
      from += strip.elements;
    }
  }
}

Kernel const kRowsKernel{"toy.rows", sizeof(RowsParameters), &declare_rows, &make_rows};

/// States of the slot parts of one stage on one rank over open rows [first, count): a round fills
/// columns; anything else ends in write slot 0, which in place is the slot that is read.
struct StateParameters {
  StateShape const* shapes;  // [layers]
  SlotPart const* parts;     // [layers]; one sequence and one slot arena
  Token const* tokens;       // [count], from open row 0 on
  std::uint32_t layers;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t ranks;
  std::uint32_t rank;
  bool columns;
  bool again;  // in place: the state has advanced already, so start from the base
};

float* state_of(SlotPart const& part, std::uint32_t slot) noexcept {
  return reinterpret_cast<float*>(part.slots + slot * part.slot_bytes + part.offset);
}

template <typename Handle>
Result<SlotPart> part_of(Handle& handle,
                         StateShape const& state,
                         std::uint32_t written,
                         std::uint32_t rank) noexcept {
  if (state.kind == PlaneKind::kHeld) {
    auto const view = handle.held(state.layer, written, rank);
    HOLDFAST_TRY(view);
    return SlotPart{view->slots, view->offset, view->sequence, view->slot_bytes, view->base_slot};
  }
  auto const view = handle.state(state.layer, written, rank);
  HOLDFAST_TRY(view);
  return SlotPart{
      view->slots, view->conv_offset, view->sequence, view->slot_bytes, view->base_slot};
}

std::uint32_t first_slot(StateParameters const& parameters) noexcept {
  return parameters.again ? parameters.parts[0].base_slot : parameters.parts[0].sequence->read_slot;
}

void declare_states(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<StateParameters const*>(raw);
  SequenceMirror const& mirror = *parameters.parts[0].sequence;
  sink.read(&mirror, offsetof(SequenceMirror, write_slot));
  // The parts lie one after the other in a slot.
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    bytes += shard_elements(parameters.shapes[layer], parameters.ranks) * sizeof(float);
  }
  sink.read(state_of(parameters.parts[0], first_slot(parameters)), bytes);
  std::uint32_t const first = parameters.columns ? parameters.first : 0;
  std::uint32_t const last = parameters.columns ? parameters.count : 1;
  if (first != 0) {
    sink.read(state_of(parameters.parts[0], mirror.write_slot[first - 1]), bytes);
  }
  for (std::uint32_t column = first; column < last; ++column) {
    sink.write(state_of(parameters.parts[0], mirror.write_slot[column]), bytes);
  }
}

/// Advances what the rank holds of one layer's state. The model knows whole states only; what lies
/// in the other ranks' places does not matter, since no group of heads reads another's channels.
void advance_shard(StateShape const& shape,
                   std::uint32_t ranks,
                   std::uint32_t rank,
                   std::span<Token const> tokens,
                   float const* before,
                   float* after) noexcept {
  if (ranks == 1) {
    recall_state(shape, tokens, before, after);
    return;
  }
  static thread_local std::vector<float> whole;
  whole.assign(shape.elements(), 0.0F);
  put_shard(shape, before, ranks, rank, whole.data());
  recall_state(shape, tokens, whole.data(), whole.data());
  take_shard(shape, whole.data(), ranks, rank, after);
}

void advance(StateParameters const& parameters,
             std::uint32_t layer,
             std::span<Token const> tokens,
             std::uint32_t from,
             std::uint32_t to) noexcept {
  advance_shard(parameters.shapes[layer],
                parameters.ranks,
                parameters.rank,
                tokens,
                state_of(parameters.parts[layer], from),
                state_of(parameters.parts[layer], to));
}

void run_layer(StateParameters const& parameters, std::uint32_t layer) noexcept {
  SequenceMirror const& mirror = *parameters.parts[layer].sequence;
  if (!parameters.columns) {
    advance(parameters,
            layer,
            {parameters.tokens, parameters.count},
            first_slot(parameters),
            mirror.write_slot[0]);
    return;
  }
  for (std::uint32_t row = parameters.first; row < parameters.count; ++row) {
    std::uint32_t const from = row == 0 ? mirror.read_slot : mirror.write_slot[row - 1];
    advance(parameters, layer, {parameters.tokens + row, 1}, from, mirror.write_slot[row]);
  }
}

void run_states(void const* raw) noexcept {
  auto const& parameters = *static_cast<StateParameters const*>(raw);
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    run_layer(parameters, layer);
  }
}

Kernel const kStatesKernel{"toy.states", sizeof(StateParameters), &declare_states, &run_states};

/// Open rows [first, count) into the stash of the layers of one stage: the token in every word.
struct StashParameters {
  StashView const* views;  // [layers]
  Token const* tokens;     // [count], from open row 0 on
  std::uint32_t layers;
  std::uint32_t first;
  std::uint32_t count;
};

template <typename Visit>
void for_each_stash_row(StashParameters const& parameters, Visit visit) noexcept {
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    StashView const& view = parameters.views[layer];
    for (std::uint32_t row = parameters.first; row < parameters.count; ++row) {
      visit(view.areas + view.area * view.area_bytes + row * view.row_stride + view.layer_offset,
            view.row_bytes,
            parameters.tokens[row]);
    }
  }
}

void declare_stash(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<StashParameters const*>(raw);
  sink.read(parameters.tokens, parameters.count * sizeof(Token));
  for_each_stash_row(parameters, [&](std::byte* row, std::uint32_t bytes, Token /*token*/) {
    sink.write(row, bytes);
  });
}

void fill_stash(void const* raw) noexcept {
  for_each_stash_row(*static_cast<StashParameters const*>(raw),
                     [](std::byte* row, std::uint32_t bytes, Token token) {
                       std::fill_n(reinterpret_cast<Token*>(row), bytes / sizeof(Token), token);
                     });
}

Kernel const kStashKernel{"toy.stash", sizeof(StashParameters), &declare_stash, &fill_stash};

/// States of the layers of one stage on one rank after the kept rows of one rescan round.
struct RescanParameters {
  StateShape const* shapes;  // [layers]
  SlotPart const* parts;     // [layers]; where a layer lies in a slot
  StashView const* stashes;  // [layers]; where it lies in a row
  RescanItem item;
  std::uint32_t layers;
  std::uint32_t ranks;
  std::uint32_t rank;
};

std::byte const* stash_row(RescanParameters const& parameters,
                           std::uint32_t layer,
                           std::uint32_t row) noexcept {
  StashView const& view = parameters.stashes[layer];
  return parameters.item.stash + row * view.row_stride + view.layer_offset;
}

/// The token that a row of the stash says in every word; 0 when it does not.
Token stashed_token(RescanParameters const& parameters,
                    std::uint32_t layer,
                    std::uint32_t row) noexcept {
  auto const* const words = reinterpret_cast<Token const*>(stash_row(parameters, layer, row));
  auto const* const end = words + parameters.stashes[layer].row_bytes / sizeof(Token);
  return std::all_of(words, end, [&](Token word) { return word == *words; }) ? *words : 0;
}

void declare_rescan(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<RescanParameters const*>(raw);
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    std::uint64_t const bytes =
        shard_elements(parameters.shapes[layer], parameters.ranks) * sizeof(float);
    std::uint64_t const offset = parameters.parts[layer].offset;
    sink.read(parameters.item.base + offset, bytes);
    for (std::uint32_t row = 0; row < parameters.item.keep; ++row) {
      sink.read(stash_row(parameters, layer, row), parameters.stashes[layer].row_bytes);
    }
    sink.write(parameters.item.fresh + offset, bytes);
  }
}

void run_rescan(void const* raw) noexcept {
  auto const& parameters = *static_cast<RescanParameters const*>(raw);
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    std::uint64_t const offset = parameters.parts[layer].offset;
    auto const* before = reinterpret_cast<float const*>(parameters.item.base + offset);
    auto* const after = reinterpret_cast<float*>(parameters.item.fresh + offset);
    for (std::uint32_t row = 0; row < parameters.item.keep; ++row) {
      Token const token = stashed_token(parameters, layer, row);
      advance_shard(
          parameters.shapes[layer], parameters.ranks, parameters.rank, {&token, 1}, before, after);
      before = after;
    }
  }
}

Kernel const kRescanKernel{"toy.rescan", sizeof(RescanParameters), &declare_rescan, &run_rescan};

bool is_round(Append const& /*handle*/) noexcept {
  return false;
}
bool is_round(Round const& /*handle*/) noexcept {
  return true;
}
bool is_round(StepRows const& handle) noexcept {
  return handle.round;
}

}  // namespace

Status ToyEngine::make_rows(PlaneShape const& plane,
                            RowSpan const& rows,
                            float* out,
                            std::uint32_t rank,
                            Stream stream) noexcept {
  RowsParameters const parameters{.shape = &plane,
                                  .view = {},
                                  .tokens = rows.tokens + rows.first,
                                  .out = out,
                                  .position = rows.position + rows.first,
                                  .count = rows.count,
                                  .ranks = shape_.ranks,
                                  .rank = rank};
  return device(plane.stage, rank).launch(kRowsKernel, &parameters, stream);
}

template <typename Handle>
Status ToyEngine::write_plane(Handle& handle,
                              PlaneShape const& plane,
                              RowSpan const& span,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  auto const [tokens, position, all_first, count] = span;
  std::uint32_t const first = all_first;  // clang 14 captures no structured binding
  auto* const staging = scratch_.take<float>(std::size_t{count} * plane.elements);
  RowsParameters parameters{.shape = &plane,
                            .view = {},
                            .tokens = tokens + first,
                            .out = staging,
                            .position = position + first,
                            .count = count,
                            .ranks = shape_.ranks,
                            .rank = rank};
  if (style.view) {
    // A ring has a view only for few rows; the engine falls back to writing.
    if (auto view = handle.rows(plane.kind, plane.layer, first + count, rank); view) {
      parameters.view = *view;
      return device(plane.stage, rank).launch(kRowsKernel, &parameters, style.stream);
    }
  }
  HOLDFAST_TRY(device(plane.stage, rank).launch(kRowsKernel, &parameters, style.stream));
  std::uint32_t const piece = style.piece == 0 ? count : style.piece;
  for (std::uint32_t done = 0; done < count; done += piece) {
    std::uint32_t const rows = std::min(piece, count - done);
    float const* const source = staging + std::size_t{done} * shard_elements(plane, shape_.ranks);
    auto const write = [&]() noexcept -> Status {
      if constexpr (std::is_same_v<Handle, StepRows>) {
        return handle.step.write(
            handle.item, plane.kind, plane.layer, source, first + done, rows, style.stream, rank);
      } else if constexpr (std::is_same_v<Handle, Round>) {
        return handle.write(
            plane.kind, plane.layer, source, first + done, rows, style.stream, rank);
      } else {
        return handle.write(plane.kind, plane.layer, source, rows, style.stream, rank);
      }
    };
    HOLDFAST_TRY(try_again(write));
  }
  return {};
}

/// From the watermark to the last of the span's rows, as far as the handle allows.
template <typename Handle>
Status ToyEngine::write_draft(Handle& handle,
                              PlaneShape const& plane,
                              RowSpan const& rows,
                              std::span<Token const> history,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  auto const open = handle.range(plane.kind, plane.layer);
  HOLDFAST_TRY(open);
  std::uint32_t const behind = rows.position - open->first;
  std::uint32_t const most = std::min(open->count, behind + rows.first + rows.count);
  if (most <= style.skip || history.size() < rows.position) {
    return {};
  }
  std::uint32_t const count = most - style.skip;
  Token* const tokens = scratch_.take<Token>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens[i] = i < behind ? history[open->first + i] : rows.tokens[i - behind];
  }
  RowSpan const span{.tokens = tokens, .position = open->first, .first = 0, .count = count};
  return write_plane(handle, plane, span, rank, style);
}

template <typename Handle>
Status ToyEngine::write(Handle& handle,
                        std::uint32_t position,
                        std::span<Token const> tokens,
                        std::uint32_t first,
                        std::uint32_t count,
                        WriteStyle style,
                        std::span<Token const> history) noexcept {
  if (count == 0) {
    return {};
  }
  HOLDFAST_TRY(make_room(need_of(tokens.size()), style.stream));
  tokens_ = scratch_.keep(tokens);
  RowSpan const rows{.tokens = tokens_, .position = position, .first = first, .count = count};
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    for (PlaneShape const& plane : shape_.planes) {
      if (rule_of(plane.kind) == PlaneRule::kDraft) {
        HOLDFAST_TRY(write_draft(handle, plane, rows, history, rank, style));
      } else if (!plane.derived) {
        HOLDFAST_TRY(write_plane(handle, plane, rows, rank, style));
      }
    }
    auto const written = static_cast<std::uint32_t>(tokens.size());
    HOLDFAST_TRY(write_slots(handle, written, first, rank, style));
  }
  return {};
}

template <typename Handle>
Status ToyEngine::write_slots(Handle& handle,
                              std::uint32_t count,
                              std::uint32_t first,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  if constexpr (!std::is_same_v<Handle, Append>) {
    if (is_round(handle) && style.mode == StateMode::kRescan) {
      return write_stash(handle, count, first, rank, style);
    }
  }
  return write_states(handle, count, first, rank, style);
}

template <typename Handle>
Status ToyEngine::write_stash(Handle& handle,
                              std::uint32_t count,
                              std::uint32_t first,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  auto const layers = static_cast<std::uint32_t>(shape_.states.size());
  for (std::uint32_t i = 0; i < layers; ++i) {
    StateShape const& state = shape_.states[i];
    auto const part = part_of(handle, state, 0, rank);
    HOLDFAST_TRY(part);
    parts_[i] = *part;
    if (state.stash_row_bytes == 0) {
      // Side state has no stash of its own: what the stage's recurrent layers stash will do.
      stash_views_[i] = stash_views_[i - 1];
      continue;
    }
    auto const stash = handle.stash(state.layer, count, rank);
    HOLDFAST_TRY(stash);
    stash_views_[i] = *stash;
  }
  for (std::uint32_t begin = 0, end = 0; begin < layers; begin = end) {
    end = end_of_stage(begin);
    StashParameters const parameters{
        .views =
            scratch_.keep(std::span<StashView const>{stash_views_}.subspan(begin, end - begin)),
        .tokens = tokens_,
        .layers = end - begin,
        .first = first,
        .count = count};
    HOLDFAST_TRY(
        device(shape_.states[begin].stage, rank).launch(kStashKernel, &parameters, style.stream));
  }
  return {};
}

std::uint32_t ToyEngine::end_of_stage(std::uint32_t state) const noexcept {
  std::uint32_t const stage = shape_.states[state].stage;
  while (state < shape_.states.size() && shape_.states[state].stage == stage) {
    ++state;
  }
  return state;
}

Status ToyEngine::rescan(void* engine, RescanCall const& call) noexcept {
  ToyEngine& self = *static_cast<ToyEngine*>(engine);
  auto const& states = self.shape_.states;
  // Where layers lie is the same for every round, so that the views of the last one will do.
  std::uint32_t first = 0;
  while (states[first].stage != call.stage) {
    ++first;
  }
  std::uint32_t const layers = self.end_of_stage(first) - first;
  HOLDFAST_TRY(self.make_room(self.need_of(0), call.stream));
  SlotPart const* const parts =
      self.scratch_.keep(std::span<SlotPart const>{self.parts_}.subspan(first, layers));
  StashView const* const stashes =
      self.scratch_.keep(std::span<StashView const>{self.stash_views_}.subspan(first, layers));
  for (RescanItem const& item : call.items) {
    RescanParameters const parameters{.shapes = states.data() + first,
                                      .parts = parts,
                                      .stashes = stashes,
                                      .item = item,
                                      .layers = layers,
                                      .ranks = self.shape_.ranks,
                                      .rank = call.rank};
    HOLDFAST_TRY(call.device.launch(kRescanKernel, &parameters, call.stream));
  }
  return {};
}

template <typename Handle>
Status ToyEngine::write_states(Handle& handle,
                               std::uint32_t count,
                               std::uint32_t first,
                               std::uint32_t rank,
                               WriteStyle style) noexcept {
  auto const layers = static_cast<std::uint32_t>(shape_.states.size());
  for (std::uint32_t i = 0; i < layers; ++i) {
    auto part = part_of(handle, shape_.states[i], count, rank);
    HOLDFAST_TRY(part);
    parts_[i] = *part;
  }
  // The parts of one stage share a slot, and a launch.
  for (std::uint32_t begin = 0, end = 0; begin < layers; begin = end) {
    end = end_of_stage(begin);
    StateParameters const parameters{
        .shapes = shape_.states.data() + begin,
        .parts = scratch_.keep(std::span<SlotPart const>{parts_}.subspan(begin, end - begin)),
        .tokens = tokens_,
        .layers = end - begin,
        .first = first,
        .count = count,
        .ranks = shape_.ranks,
        .rank = rank,
        .columns = is_round(handle) && style.mode == StateMode::kFresh,
        .again = style.again && style.mode == StateMode::kInPlace};
    HOLDFAST_TRY(
        device(shape_.states[begin].stage, rank).launch(kStatesKernel, &parameters, style.stream));
  }
  return {};
}

template Status ToyEngine::write(Append&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle,
                                 std::span<Token const>) noexcept;
template Status ToyEngine::write(Round&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle,
                                 std::span<Token const>) noexcept;

template Status ToyEngine::write(StepRows&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle,
                                 std::span<Token const>) noexcept;

template Status ToyEngine::write_draft(StepRows&,
                                       PlaneShape const&,
                                       RowSpan const&,
                                       std::span<Token const>,
                                       std::uint32_t,
                                       WriteStyle) noexcept;
template Status ToyEngine::write_slots(
    StepRows&, std::uint32_t, std::uint32_t, std::uint32_t, WriteStyle) noexcept;

}  // namespace holdfast::model
