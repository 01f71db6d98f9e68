// SPDX-License-Identifier: Apache-2.0
// A layout as the model reads it.
#include <algorithm>
#include <tuple>
#include <utility>

#include "models/input_error.hpp"
#include "models/reference/model.hpp"

namespace holdfast::model {
namespace {

/// Takes the planes of one layer into the shape.
struct LayerShape {
  ModelShape& shape;
  std::uint32_t layer;
  std::uint32_t stage;

  void add_rows(PlaneShape plane) const {
    plane.layer = layer;
    plane.stage = stage;
    plane.shares = plane.split ? shape.ranks : 1;
    if (plane.elements > kWidestRow) {
      throw InputError("layout: layer " + std::to_string(layer) +
                       ": rows of more than 4096 elements are not modelled");
    }
    if (!plane.derived) {
      shape.written_planes.push_back(static_cast<std::uint32_t>(shape.planes.size()));
    }
    shape.planes.push_back(plane);
    ReferenceWindow const* const meaning = AllReferences::find(plane.kind)->window;
    shape.window_of_plane.push_back(meaning == nullptr ? kWindowLimit : window_of(plane, *meaning));
  }
  void add_state(StateShape state) const {
    state.layer = layer;
    state.stage = stage;
    state.groups = shape.ranks;
    shape.states.push_back(state);
  }
  [[nodiscard]] std::uint32_t window_of(PlaneShape const& plane,
                                        ReferenceWindow const& meaning) const {
    auto const same = [&](ModelShape::Window const& window) {
      return window.meaning == &meaning && is_of_class(window.plane, plane);
    };
    auto const found = std::find_if(shape.windows.begin(), shape.windows.end(), same);
    auto const index = static_cast<std::uint32_t>(found - shape.windows.begin());
    if (index == kWindowLimit) {
      throw InputError("layout: more than 4 different windows are not modelled");
    }
    if (found == shape.windows.end()) {
      shape.windows.push_back({&meaning, plane});
    }
    return index;
  }
};

/// Puts planes and states into the order in which refusals name them, and counts the classes.
void name_planes(ModelShape& shape) {
  for (std::uint32_t i = 0; i < shape.planes.size(); ++i) {
    PlaneShape const& plane = shape.planes[i];
    shape.named.push_back({plane.kind, plane.stage, plane.layer, i});
    auto const first = shape.planes.begin() + i;
    bool const is_first = std::none_of(
        shape.planes.begin(), first, [&](auto const& other) { return is_of_class(plane, other); });
    shape.class_count += is_first ? 1 : 0;
    bool const is_draft = rule_of(plane.kind) == PlaneRule::kDraft;
    shape.draft = is_draft && !shape.has_draft() ? i : shape.draft;
  }
  for (std::size_t i = 0; i < shape.states.size(); ++i) {
    StateShape const& state = shape.states[i];
    if (i == 0 || shape.states[i - 1].stage != state.stage) {
      shape.named.push_back({state.kind, state.stage, state.layer, ModelShape::kNoPlane});
      ++shape.class_count;
    }
  }
  std::sort(shape.named.begin(), shape.named.end(), [](auto const& a, auto const& b) {
    return std::tuple{a.stage, a.kind, a.layer} < std::tuple{b.stage, b.kind, b.layer};
  });
}

}  // namespace

std::uint64_t ModelShape::page_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (PlaneShape const& plane : planes) {
    std::uint32_t const elements = plane.strip_elements() / (plane.split ? ranks : 1);
    for (std::uint32_t strip = 0; strip < plane.strips; ++strip) {
      std::uint64_t const rows = page_rows * stored_bytes(plane.formats[strip], elements);
      bytes += ranks * ((rows + kStripAlignment - 1) / kStripAlignment * kStripAlignment);
    }
  }
  return bytes;
}

std::uint64_t ModelShape::slot_bytes() const noexcept {
  // Side state is there once for each rank.
  return std::uint64_t{ranks} * shard_state_elements * sizeof(float);
}

std::uint32_t ModelShape::find(PlaneKind kind, std::uint32_t layer) const noexcept {
  for (std::uint32_t i = 0; i < planes.size(); ++i) {
    if (planes[i].kind == kind && planes[i].layer == layer) {
      return i;
    }
  }
  return UINT32_MAX;
}

ModelShape make_model_shape(Layout const& layout) {
  ModelShape shape;
  shape.capacity = layout.capacity;
  shape.page_rows = layout.page_rows;
  shape.ranks = layout.ranks;
  shape.stages = layout.stages;
  for (std::uint32_t layer = 0; layer < layout.layers.size(); ++layer) {
    for (PlaneSpec const& spec : layout.layers[layer].planes) {
      LayerShape owner{shape, layer, layout.layers[layer].stage};
      std::visit([&](auto const& known) { AllReferences::read(known, owner); }, spec);
    }
  }
  // The slot of a stage has the parts of one kind after the other, each in the order of the layers.
  auto const place = [](StateShape const& state) { return std::pair{state.stage, state.kind}; };
  std::stable_sort(shape.states.begin(),
                   shape.states.end(),
                   [&](StateShape const& a, StateShape const& b) { return place(a) < place(b); });
  for (std::size_t i = 0; i < shape.states.size(); ++i) {
    bool const is_first = i == 0 || shape.states[i - 1].stage != shape.states[i].stage;
    if (is_first && shape.states[i].stash_row_bytes == 0 && shape.can_rescan()) {
      throw InputError("layout: a stage whose states stash nothing is not modelled beside others");
    }
  }
  for (StateShape const& state : shape.states) {
    shape.state_offsets.push_back(shape.state_elements);
    shape.state_elements += state.elements();
    shape.shard_offsets.push_back(shape.shard_state_elements);
    shape.shard_state_elements += shard_elements(state, shape.ranks);
  }
  name_planes(shape);
  return shape;
}

}  // namespace holdfast::model
