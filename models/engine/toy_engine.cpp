// SPDX-License-Identifier: Apache-2.0
// The toy engine's kernels.
#include "models/engine/toy_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>

namespace holdfast::model {
namespace {

/// Rows of one layer: into staging memory, or into the pages of a view.
struct RowsParameters {
  PlaneShape const* shape;
  RowsView view;        // pages == nullptr: into `out`
  Token const* tokens;  // [count]
  float* out;           // [count, elements]
  std::uint32_t position;
  std::uint32_t count;
};

std::byte* row_of(RowsView const& view, std::uint32_t position) noexcept {
  std::uint32_t const physical = view.ring_rows == 0 ? position : position % view.ring_rows;
  return view.pages + view.table[physical / view.page_rows] * view.page_bytes + view.layer_offset +
         std::uint64_t{physical % view.page_rows} * view.row_bytes;
}

void declare_rows(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  sink.read(parameters.tokens, parameters.count * sizeof(Token));
  if (parameters.view.pages == nullptr) {
    sink.write(parameters.out,
               std::uint64_t{parameters.count} * parameters.shape->elements * sizeof(float));
    return;
  }
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    for (std::uint32_t part = 0; part < parameters.view.parts; ++part) {
      sink.write(
          row_of(parameters.view, parameters.position + i) + part * parameters.view.part_stride,
          parameters.view.row_bytes);
    }
  }
}

void make_rows(void const* raw) noexcept {
  auto const& parameters = *static_cast<RowsParameters const*>(raw);
  PlaneShape const& shape = *parameters.shape;
  std::uint32_t const part_elements = shape.elements / shape.parts;
  float* out = parameters.out;
  for (std::uint32_t i = 0; i < parameters.count; ++i) {
    make_row(shape, parameters.tokens[i], parameters.position + i, out);
    if (parameters.view.pages == nullptr) {
      out += shape.elements;
      continue;
    }
    std::byte* const row = row_of(parameters.view, parameters.position + i);
    for (std::uint32_t part = 0; part < parameters.view.parts; ++part) {
      narrow_elements(parameters.view.format,
                      out + std::size_t{part} * part_elements,
                      part_elements,
                      row + part * parameters.view.part_stride);
    }
  }
}

Kernel const kRowsKernel{"toy.rows", sizeof(RowsParameters), &declare_rows, &make_rows};

/// States of all layers over open rows [first, count): a round fills columns; anything else ends in
/// write slot 0, which in place is the slot that is read.
struct StateParameters {
  StateShape const* shapes;  // [layers]
  StateView const* views;    // [layers]; one sequence and one slot arena
  Token const* tokens;       // [count], from open row 0 on
  std::uint32_t layers;
  std::uint32_t first;
  std::uint32_t count;
  bool columns;
  bool again;  // in place: the state has advanced already, so start from the base
};

float* state_of(StateView const& view, std::uint32_t slot) noexcept {
  return reinterpret_cast<float*>(view.slots + slot * view.slot_bytes + view.conv_offset);
}

std::uint32_t first_slot(StateParameters const& parameters) noexcept {
  return parameters.again ? parameters.views[0].base_slot : parameters.views[0].sequence->read_slot;
}

void declare_states(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<StateParameters const*>(raw);
  SequenceMirror const& mirror = *parameters.views[0].sequence;
  sink.read(&mirror, offsetof(SequenceMirror, write_slot));
  // The layers' states lie one after the other in a slot.
  std::uint64_t bytes = 0;
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    bytes += parameters.shapes[layer].elements() * sizeof(float);
  }
  sink.read(state_of(parameters.views[0], first_slot(parameters)), bytes);
  std::uint32_t const first = parameters.columns ? parameters.first : 0;
  std::uint32_t const last = parameters.columns ? parameters.count : 1;
  if (first != 0) {
    sink.read(state_of(parameters.views[0], mirror.write_slot[first - 1]), bytes);
  }
  for (std::uint32_t column = first; column < last; ++column) {
    sink.write(state_of(parameters.views[0], mirror.write_slot[column]), bytes);
  }
}

void run_layer(StateParameters const& parameters, std::uint32_t layer) noexcept {
  StateShape const& shape = parameters.shapes[layer];
  StateView const& view = parameters.views[layer];
  SequenceMirror const& mirror = *view.sequence;
  if (!parameters.columns) {
    advance_state(shape,
                  {parameters.tokens, parameters.count},
                  state_of(view, first_slot(parameters)),
                  state_of(view, mirror.write_slot[0]));
    return;
  }
  for (std::uint32_t row = parameters.first; row < parameters.count; ++row) {
    std::uint32_t const from = row == 0 ? mirror.read_slot : mirror.write_slot[row - 1];
    advance_state(shape,
                  {parameters.tokens + row, 1},
                  state_of(view, from),
                  state_of(view, mirror.write_slot[row]));
  }
}

void run_states(void const* raw) noexcept {
  auto const& parameters = *static_cast<StateParameters const*>(raw);
  for (std::uint32_t layer = 0; layer < parameters.layers; ++layer) {
    run_layer(parameters, layer);
  }
}

Kernel const kStatesKernel{"toy.states", sizeof(StateParameters), &declare_states, &run_states};

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

ToyEngine::ToyEngine(ModelShape const& shape, Device& device)
    : shape_{shape}, device_{device}, views_(shape.states.size()) {
  std::uint32_t elements = 1;
  for (PlaneShape const& plane : shape.planes) {
    elements = std::max(elements, plane.elements);
  }
  std::uint64_t const rows = std::max<std::uint64_t>(shape.capacity.tokens, 1);
  auto staging = device_.allocate(rows * elements * sizeof(float), MemoryKind::kDevice);
  auto tokens = device_.allocate(rows * sizeof(Token), MemoryKind::kPinned);
  if (!staging || !tokens) {
    throw std::bad_alloc{};
  }
  staging_ = *staging;
  tokens_ = *tokens;
}

ToyEngine::~ToyEngine() {
  device_.free(staging_);
  device_.free(tokens_);
}

template <typename Handle>
Status ToyEngine::write_plane(Handle& handle,
                              PlaneShape const& plane,
                              std::uint32_t position,
                              std::uint32_t first,
                              std::uint32_t count,
                              WriteStyle style) noexcept {
  auto const* const tokens = reinterpret_cast<Token const*>(tokens_.base);
  auto* const staging = reinterpret_cast<float*>(staging_.base);
  RowsParameters parameters{.shape = &plane,
                            .view = {},
                            .tokens = tokens + first,
                            .out = staging,
                            .position = position + first,
                            .count = count};
  if (style.view) {
    // A ring has a view only for few rows; the engine falls back to writing.
    if (auto view = handle.rows(plane.kind, plane.layer, first + count); view) {
      parameters.view = *view;
      return device_.launch(kRowsKernel, &parameters, Stream{});
    }
  }
  HOLDFAST_TRY(device_.launch(kRowsKernel, &parameters, Stream{}));
  std::uint32_t const piece = style.piece == 0 ? count : style.piece;
  for (std::uint32_t done = 0; done < count; done += piece) {
    std::uint32_t const rows = std::min(piece, count - done);
    float const* const source = staging + std::size_t{done} * plane.elements;
    if constexpr (std::is_same_v<Handle, StepRows>) {
      HOLDFAST_TRY(
          handle.step.write(handle.item, plane.kind, plane.layer, source, first + done, rows));
    } else if constexpr (std::is_same_v<Handle, Round>) {
      HOLDFAST_TRY(handle.write(plane.kind, plane.layer, source, first + done, rows));
    } else {
      HOLDFAST_TRY(handle.write(plane.kind, plane.layer, source, rows));
    }
  }
  return {};
}

template <typename Handle>
Status ToyEngine::write(Handle& handle,
                        std::uint32_t position,
                        std::span<Token const> tokens,
                        std::uint32_t first,
                        std::uint32_t count,
                        WriteStyle style) noexcept {
  std::copy(tokens.begin(), tokens.end(), reinterpret_cast<Token*>(tokens_.base));
  if (count == 0) {
    return {};
  }
  for (PlaneShape const& plane : shape_.planes) {
    if (!plane.derived) {
      HOLDFAST_TRY(write_plane(handle, plane, position, first, count, style));
    }
  }
  for (std::size_t i = 0; i < shape_.states.size(); ++i) {
    auto view = handle.state(shape_.states[i].layer, static_cast<std::uint32_t>(tokens.size()));
    if (!view) {
      return view.error();
    }
    views_[i] = *view;
  }
  if (shape_.states.empty()) {
    return {};
  }
  StateParameters const parameters{.shapes = shape_.states.data(),
                                   .views = views_.data(),
                                   .tokens = reinterpret_cast<Token const*>(tokens_.base),
                                   .layers = static_cast<std::uint32_t>(shape_.states.size()),
                                   .first = first,
                                   .count = static_cast<std::uint32_t>(tokens.size()),
                                   .columns = is_round(handle) && style.mode == StateMode::kFresh,
                                   .again = style.again && style.mode == StateMode::kInPlace};
  return device_.launch(kStatesKernel, &parameters, Stream{});
}

template Status ToyEngine::write(Append&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle) noexcept;
template Status ToyEngine::write(Round&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle) noexcept;

template Status ToyEngine::write(StepRows&,
                                 std::uint32_t,
                                 std::span<Token const>,
                                 std::uint32_t,
                                 std::uint32_t,
                                 WriteStyle) noexcept;

}  // namespace holdfast::model
