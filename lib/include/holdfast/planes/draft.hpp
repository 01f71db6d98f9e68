// SPDX-License-Identifier: Apache-2.0
// Draft planes: rows of the layers that guess tokens ahead. They may lag behind the sequence.
#pragma once

#include <holdfast/planes/attention_kv.hpp>
#include <holdfast/planes/latent.hpp>
#include <holdfast/planes/spec.hpp>

namespace holdfast {

/// K and V rows of a draft layer. Its length is the draft's watermark: the rows that are there and
/// right, at most the sequence's position. See docs/decisions/0005-a-watermark-is-a-length.md.
struct DraftKvSpec : AttentionKvSpec {
  static constexpr char const* kName = "draft_kv";
  static constexpr PlaneTrait kPlanes[] = {{PlaneKind::kDraftKv, "draft_kv", PlaneRule::kDraft}};

  template <typename Sink>
  void describe(Sink&& sink) const {
    AttentionKvSpec::describe([&](RowsDescription rows) {
      rows.kind = PlaneKind::kDraftKv;
      sink(rows);
    });
  }
};

/// Latent rows of a draft layer, likewise.
struct DraftLatentSpec : LatentSpec {
  static constexpr char const* kName = "draft_latent";
  static constexpr PlaneTrait kPlanes[] = {
      {PlaneKind::kDraftLatent, "draft_latent", PlaneRule::kDraft}};

  template <typename Sink>
  void describe(Sink&& sink) const {
    LatentSpec::describe([&](RowsDescription rows) {
      rows.kind = PlaneKind::kDraftLatent;
      sink(rows);
    });
  }
};

}  // namespace holdfast
