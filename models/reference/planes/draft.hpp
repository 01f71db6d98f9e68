// SPDX-License-Identifier: Apache-2.0
// Draft planes: one row a token, up to the watermark.
#pragma once

#include "models/reference/planes/attention_kv.hpp"
#include "models/reference/planes/latent.hpp"

namespace holdfast::model {

/// Rows of a plane that may lag behind its sequence.
struct DraftRows {
  static RowRange rows(PlaneShape const& /*shape*/, HistoryView const& history) noexcept {
    return {0, history.watermark};
  }
};

struct DraftKvReference {
  using Spec = DraftKvSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kDraftKv, &DraftRows::rows, &TokenRows::expect}};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_rows(AttentionKvReference::shape_of(spec, PlaneKind::kDraftKv));
  }
};

struct DraftLatentReference {
  using Spec = DraftLatentSpec;
  static constexpr std::array kPlanes = {
      ReferencePlane{PlaneKind::kDraftLatent, &DraftRows::rows, &TokenRows::expect}};

  template <typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    shape.add_rows(LatentReference::shape_of(spec, PlaneKind::kDraftLatent));
  }
};

}  // namespace holdfast::model
