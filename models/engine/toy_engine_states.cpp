// SPDX-License-Identifier: Apache-2.0
// The toy engine's states: kernels that advance them, stash their inputs and make them of a stash.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/engine/toy_engine.hpp"

namespace holdfast::model {
namespace {

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

/// Where tokens go on: what was written already of an append has advanced its write slot.
std::uint32_t first_slot(StateParameters const& parameters) noexcept {
  SequenceMirror const& mirror = *parameters.parts[0].sequence;
  bool const goes_on = !parameters.columns && parameters.first != 0;
  return parameters.again ? parameters.parts[0].base_slot
         : goes_on        ? mirror.write_slot[0]
                          : mirror.read_slot;
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
            std::span{parameters.tokens, parameters.count}.subspan(
                parameters.again ? 0 : parameters.first),
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

}  // namespace

/// Looks where the parts lie, and says which rows are written.
template <typename Handle>
Status ToyEngine::look_at_states(Handle& handle,
                                 WriteWork const& work,
                                 std::uint32_t rank,
                                 bool rescans) noexcept {
  for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
    StateShape const& state = shape_.states[i];
    std::uint32_t const written =
        is_special_state(i, rank) ? work.special_state_end : work.state_end;
    auto const part = part_of(handle, state, rescans ? 0 : written, rank);
    HOLDFAST_TRY(part);
    parts_[i] = *part;
    if (rescans && state.stash_row_bytes == 0) {
      // Side state has no stash of its own: what the stage's recurrent layers stash will do.
      stash_views_[i] = stash_views_[i - 1];
    } else if (rescans) {
      auto const stash = handle.stash(state.layer, written, rank);
      HOLDFAST_TRY(stash);
      stash_views_[i] = *stash;
    }
  }
  return {};
}

/// The parts of one stage share a slot, and a launch, but for one that has other rows.
void ToyEngine::find_runs(WriteWork const& work, std::uint32_t rank, bool reversed) noexcept {
  runs_.clear();
  auto const count = static_cast<std::uint32_t>(shape_.states.size());
  for (std::uint32_t begin = 0, end = 0; begin < count; begin = end) {
    std::uint32_t const last = end_of_stage(begin);
    bool const special = is_special_state(begin, rank);
    end = begin + 1;
    while (!special && end < last && !is_special_state(end, rank)) {
      ++end;
    }
    runs_.push_back({.begin = begin,
                     .end = end,
                     .first = special ? work.special_first : work.first,
                     .last = special ? work.special_state_end : work.state_end,
                     .is_special = special});
  }
  if (reversed) {
    std::reverse(runs_.begin(), runs_.end());
  }
}

template <typename Handle>
Status ToyEngine::write_slots(Handle& handle,
                              WriteWork const& work,
                              std::uint32_t rank,
                              WriteStyle style) noexcept {
  bool const rescans = is_round(handle) && style.mode == StateMode::kRescan;
  HOLDFAST_TRY(look_at_states(handle, work, rank, rescans));
  find_runs(work, rank, style.plan.reversed);
  // The base of an in-place append is gone when it is advanced.
  bool const can_twice = rescans || is_round(handle) || style.mode != StateMode::kInPlace;
  for (StateRun const& run : runs_) {
    WriteStyle own = style;
    Token const* const tokens = tokens_;
    if (run.is_special) {
      HOLDFAST_TRY(err_state(handle, shape_.states[run.begin], rank, style));
    } else {
      own.plan = {};
    }
    bool const twice = can_twice && own.plan.liberty == Liberty::kTwice;
    for (std::uint32_t times = twice ? 2 : 1; run.first < run.last && times != 0; --times) {
      tokens_ = times == 2 ? other_tokens(run.last) : tokens;
      Status const wrote = rescans ? write_stash(run, rank) : write_states(handle, run, rank, own);
      tokens_ = tokens;
      HOLDFAST_TRY(wrote);
      own.again = is_round(handle);
    }
  }
  return {};
}

Status ToyEngine::write_stash(StateRun const& run, std::uint32_t rank) noexcept {
  std::uint32_t const layers = run.end - run.begin;
  StashParameters const parameters{
      .views = scratch_.keep(std::span<StashView const>{stash_views_}.subspan(run.begin, layers)),
      .tokens = tokens_,
      .layers = layers,
      .first = run.first,
      .count = run.last};
  Device& own = device(shape_.states[run.begin].stage, rank);
  return launch(own, kStashKernel, &parameters);
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
                               StateRun const& run,
                               std::uint32_t rank,
                               WriteStyle const& style) noexcept {
  std::uint32_t const layers = run.end - run.begin;
  StateParameters const parameters{
      .shapes = shape_.states.data() + run.begin,
      .parts = scratch_.keep(std::span<SlotPart const>{parts_}.subspan(run.begin, layers)),
      .tokens = tokens_,
      .layers = layers,
      .first = run.first,
      .count = run.last,
      .ranks = shape_.ranks,
      .rank = rank,
      .columns = is_round(handle) && style.mode == StateMode::kFresh,
      .again = style.again && style.mode == StateMode::kInPlace};
  Device& own = device(shape_.states[run.begin].stage, rank);
  return launch(own, kStatesKernel, &parameters);
}

template Status ToyEngine::write_slots(Append&,
                                       WriteWork const&,
                                       std::uint32_t,
                                       WriteStyle) noexcept;
template Status ToyEngine::write_slots(Round&,
                                       WriteWork const&,
                                       std::uint32_t,
                                       WriteStyle) noexcept;
template Status ToyEngine::write_slots(StepRows&,
                                       WriteWork const&,
                                       std::uint32_t,
                                       WriteStyle) noexcept;

}  // namespace holdfast::model
