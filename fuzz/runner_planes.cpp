// SPDX-License-Identifier: Apache-2.0
// The driver's planes: those of the library by their classes, those of other systems as the model has
// them.
#include "fuzz/runner.hpp"

namespace holdfast::fuzz {

/// What Visible numbers, tied to the model.
void Runner::bind_planes() {
  if (internals_ != nullptr) {
    bind_classes(internals_->inspect());
  } else {
    bind_shape();
  }
  for (Subject& subject : subjects_) {
    subject.before.planes.resize(planes_.size());
    subject.before.pages.resize(planes_.size());
    subject.now.resize(planes_.size());
  }
}

/// The library's plane classes.
void Runner::bind_classes(Inspection const& inspection) {
  planes_.resize(inspection.plane_count());
  for (std::uint32_t index = 0; index < planes_.size(); ++index) {
    invariant::PlaneBinding& plane = planes_[index];
    plane.info = inspection.plane(index);
    plane.arena_bytes = plane.info.page_bytes * plane.info.pages;
    plane.bases.resize(inspection.ranks());
    for (std::uint32_t rank = 0; rank < plane.bases.size(); ++rank) {
      plane.bases[rank] = inspection.base(index, rank);
    }
    plane.index = index;
    plane.reference = model::AllReferences::find(plane.info.kind);
    plane.model_planes.clear();  // a mutant may make other classes of the same layout
    for (std::uint32_t const layer : plane.info.layers) {
      if (plane.reference != nullptr) {
        plane.model_planes.push_back(model_.shape().find(plane.info.kind, layer));
      }
    }
  }
}

/// Every plane of the model by itself, and all states together.
void Runner::bind_shape() {
  model::ModelShape const& shape = model_.shape();
  planes_.assign(shape.planes.size() + (shape.states.empty() ? 0 : 1), {});
  for (std::uint32_t index = 0; index < planes_.size(); ++index) {
    invariant::PlaneBinding& plane = planes_[index];
    plane.index = index;
    if (index == shape.planes.size()) {
      model::StateShape const& first = shape.states.front();
      plane.info.kind = first.kind;
      plane.info.name = holdfast::name_of(first.kind);
      plane.info.layers = {&first.layer, 1};
      continue;
    }
    model::PlaneShape const& own = shape.planes[index];
    plane.info = {.kind = own.kind,
                  .name = holdfast::name_of(own.kind),
                  .layers = {&own.layer, 1},
                  .unit_tokens = own.kind == PlaneKind::kPoolKeys ? own.pool : 1,
                  .row_elements = shard_elements(own, shape.ranks),
                  .window_rows = own.window_rows,
                  .ring_rows = own.kind == PlaneKind::kTailRing ? own.ring_rows : 0,
                  .stage = own.stage,
                  .split = own.split};
    plane.model_planes = {index};
    plane.reference = model::AllReferences::find(own.kind);
  }
}

}  // namespace holdfast::fuzz
