// SPDX-License-Identifier: Apache-2.0
// The list of reference planes: one line a plane spec.
#pragma once

#include "models/reference/planes/attention_kv.hpp"
#include "models/reference/planes/draft.hpp"
#include "models/reference/planes/held.hpp"
#include "models/reference/planes/indexer.hpp"
#include "models/reference/planes/latent.hpp"
#include "models/reference/planes/recurrent.hpp"

namespace holdfast::model {

template <typename... R>
struct ReferenceList {
  /// The reference plane of a kind; nullptr for a kind without rows.
  [[nodiscard]] static constexpr ReferencePlane const* find(PlaneKind kind) noexcept {
    ReferencePlane const* found = nullptr;
    (find_in<R>(kind, found), ...);
    return found;
  }
  /// Reads a spec into the shape.
  template <typename Spec, typename Shape>
  static void read(Spec const& spec, Shape& shape) {
    static_assert((std::is_same_v<Spec, typename R::Spec> + ... + 0) == 1,
                  "every plane spec has one reference");
    (read_as<R>(spec, shape), ...);
  }

 private:
  template <typename One>
  static constexpr void find_in(PlaneKind kind, ReferencePlane const*& found) noexcept {
    for (ReferencePlane const& plane : One::kPlanes) {
      if (plane.kind == kind) {
        found = &plane;
      }
    }
  }
  template <typename One, typename Spec, typename Shape>
  static void read_as(Spec const& spec, Shape& shape) {
    if constexpr (std::is_same_v<Spec, typename One::Spec>) {
      One::read(spec, shape);
    }
  }
};

using AllReferences = ReferenceList<AttentionKvReference,
                                    LatentReference,
                                    IndexerReference,
                                    RecurrentReference,
                                    HeldReference,
                                    DraftKvReference,
                                    DraftLatentReference>;

}  // namespace holdfast::model
