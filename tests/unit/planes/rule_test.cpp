// SPDX-License-Identifier: Apache-2.0
// Goal: a rule refuses what its class cannot serve, naming layer and plane; what it takes it can size.
// Method: descriptions as a spec would make them, each wrong in one way.
#include <gtest/gtest.h>

#include <cstdint>

#include "planes/plane_list.hpp"
#include "tests/support/status.hpp"

namespace holdfast::test {
namespace {

using internal::storage::traits_of;

constexpr LayerRules kRules{.layer = 3, .ranks = 2, .page_rows = 4, .largest_round = 4};

RowsDescription ring() {
  return {.kind = PlaneKind::kTailRing,
          .strips = strips_of({4}),
          .window_rows = 2,
          .ring_rows = 8,
          .pool = 2,
          .key_width = 2,
          .pooled = true};
}

Status check(PlaneRule rule, RowsDescription const& rows) {
  return traits_of(rule).check_rows(rows, kRules);
}

TEST(Rule, RingTakesPooledRows) {
  EXPECT_TRUE(IsOk(check(PlaneRule::kRing, ring())));
}

TEST(Rule, RingRefusesWhatItCannotServe) {
  auto const refused = [](auto change) {
    RowsDescription rows = ring();
    change(rows);
    Status const answer = check(PlaneRule::kRing, rows);
    EXPECT_FALSE(answer);
    EXPECT_TRUE(answer || answer.error().layer == 3) << "the layer is named";
    return answer;
  };
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.pool = 0; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.pool = 1; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(
      refused([](auto& rows) { rows.pool = rows.window_rows = 3; }), kInvalid, "page_rows"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.window_rows = 4; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.pooled = false; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.ring_rows = 0; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.ring_rows = 4; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.ring_rows = 10; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(
      HasCode(refused([](auto& rows) { rows.strips[0].elements = 3; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(
      HasCode(refused([](auto& rows) { rows.strips[1].elements = 4; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(refused([](auto& rows) { rows.split = true; }), kInvalid, "tail_ring"));
  EXPECT_TRUE(HasCode(
      refused([](auto& rows) { rows.strips[0].format = Format::kF16; }), kInvalid, "tail_ring"));
}

TEST(Rule, PagedRefusesARing) {
  EXPECT_TRUE(HasCode(check(PlaneRule::kPaged, ring()), ErrorCode::kInvalidArgument, "tail_ring"));
}

TEST(Rule, DraftRefusesKeysAndWhatTheyAreMadeOf) {
  RowsDescription rows{.kind = PlaneKind::kDraftLatent, .strips = strips_of({4})};
  EXPECT_TRUE(IsOk(check(PlaneRule::kDraft, rows)));
  rows.pooled = true;
  EXPECT_TRUE(HasCode(check(PlaneRule::kDraft, rows), ErrorCode::kInvalidArgument, "draft_latent"));
  rows.pooled = false;
  rows.unit_tokens = 2;
  EXPECT_TRUE(HasCode(check(PlaneRule::kDraft, rows), ErrorCode::kInvalidArgument, "draft_latent"));
}

TEST(Rule, RowsAndStatesDoNotChangePlaces) {
  RowsDescription const rows{.kind = PlaneKind::kLatent, .strips = strips_of({4})};
  StateDescription const state{.kind = PlaneKind::kHeld, .held = 1};
  EXPECT_TRUE(HasCode(check(PlaneRule::kSlot, rows), ErrorCode::kInvalidArgument, "latent"));
  EXPECT_TRUE(IsOk(traits_of(PlaneRule::kSlot).check_state(state, kRules)));
  for (PlaneRule const rule : {PlaneRule::kPaged, PlaneRule::kRing, PlaneRule::kDraft}) {
    EXPECT_TRUE(
        HasCode(traits_of(rule).check_state(state, kRules), ErrorCode::kInvalidArgument, "held"));
  }
}

}  // namespace
}  // namespace holdfast::test
