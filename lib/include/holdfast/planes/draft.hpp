// SPDX-License-Identifier: Apache-2.0
// Draft planes: rows of the layers that guess tokens ahead. They may lag behind the sequence.
#pragma once

#include <holdfast/planes/attention_kv.hpp>
#include <holdfast/planes/latent.hpp>
#include <holdfast/planes/spec.hpp>

namespace holdfast {

// Whichever header of the specs is included first, the others come before its own spec.
struct AttentionKvSpec;
struct LatentSpec;

/// Rows of another spec in a draft layer. Their length is the draft's watermark: the rows that are
/// there and right, at most the sequence's position. See
/// docs/decisions/0005-a-watermark-is-a-length.md.
template <typename Rows, PlaneKind Kind>
struct DraftSpec : Rows {
  static constexpr char const* kName = Kind == PlaneKind::kDraftKv ? "draft_kv" : "draft_latent";
  static constexpr PlaneTrait kPlanes[] = {{Kind, kName, PlaneRule::kDraft}};

  template <typename Sink>
  void describe(Sink&& sink) const {
    Rows::describe([&](RowsDescription rows) {
      rows.kind = Kind;
      sink(rows);
    });
  }
};

/// K and V rows of a draft layer.
using DraftKvSpec = DraftSpec<AttentionKvSpec, PlaneKind::kDraftKv>;
/// Latent rows of a draft layer.
using DraftLatentSpec = DraftSpec<LatentSpec, PlaneKind::kDraftLatent>;

}  // namespace holdfast
