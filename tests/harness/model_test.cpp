// SPDX-License-Identifier: Apache-2.0
// Goal: the reference model says what the rules say, so that a difference is the library's fault.
// Method: hand-made cases with answers worked out from the rules, one rule a test.
#include "models/reference/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/geometry/geometry.hpp"
#include "models/input_error.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {
namespace {

constexpr SequenceName kS0{0};
constexpr SequenceName kS1{1};
constexpr SequenceName kS2{2};
constexpr SnapshotName kH0{0};
constexpr SnapshotName kH1{1};

Observation ok(std::uint32_t value) {
  return Observation::success(value);
}
StepPart append_of(SequenceName name, std::uint32_t rows, Token token) {
  return {.deed = StepDeed::kAppend, .sequence = name, .rows = rows, .keep = rows, .token = token};
}
Observation no(ErrorCode code) {
  return Observation::failure(code);
}

ModelShape shape_of(char const* geometry) {
  return make_model_shape(load_geometry(geometry).layout);
}

/// tiny-rows: pages of 4 rows, pools of 4, ring of 12, no recurrent state. tiny: ring of 16, state.
class ModelTest : public testing::Test {
 protected:
  Observation append(SequenceName name, std::uint32_t rows, bool exhausted = false) {
    Observation const opened =
        model_.begin(name, false, rows, rows, model_.next_token(), exhausted);
    return opened.ok ? model_.commit(name) : opened;
  }
  Observation verify(SequenceName name, std::uint32_t rows) {
    return model_.begin(name, true, rows, rows, model_.next_token(), false);
  }
  std::vector<Token> tokens(SequenceName name) {
    return model_.history(model_.sequence(name)).tokens;
  }
  std::uint32_t lo(SequenceName name) { return model_.history(model_.sequence(name)).lo[0]; }

  Model model_{shape_of("tiny-rows")};
};

TEST_F(ModelTest, TokensFollowCommitDropAndAccept) {
  EXPECT_EQ(model_.create(kS0, false), ok(0));
  EXPECT_EQ(append(kS0, 2), ok(0));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2}));
  EXPECT_EQ(model_.begin(kS0, false, 2, 2, 3, false), ok(2));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2})) << "open rows are not committed";
  EXPECT_EQ(model_.drop(kS0), ok(0));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2}));
  EXPECT_EQ(verify(kS0, 3), ok(3));
  EXPECT_EQ(model_.rewrite(kS0, 1, 2, 8), ok(2));
  EXPECT_EQ(model_.accept(kS0, 2), ok(2));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2, 5, 8}));
  EXPECT_EQ(model_.next_token(), 10U) << "a rejected token is never used again";
}

TEST_F(ModelTest, WhatIsUsedUpIsStale) {
  EXPECT_EQ(append(kS0, 1), no(ErrorCode::kStale));
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.snapshot(kS0, kH0).ok);
  EXPECT_EQ(model_.commit(kS0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.drop(kS0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.accept(kS0, 0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.rewrite(kS0, 0, 1, 9), no(ErrorCode::kStale));
  EXPECT_EQ(verify(kS0, 1), ok(1));
  EXPECT_EQ(model_.commit(kS0), no(ErrorCode::kStale)) << "a round is not an append";
  EXPECT_EQ(model_.release(kS0), ok(0)) << "release cancels what is open";
  EXPECT_EQ(model_.release(kS0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.rollback(kS0, kH0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.accept(kS0, 0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.drop_snapshot(kH0), ok(0)) << "a snapshot outlives its sequence";
  EXPECT_EQ(model_.drop_snapshot(kH0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.fork(kH0, kS1), no(ErrorCode::kStale));
}

TEST_F(ModelTest, WhatIsOpenIsBusy) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.snapshot(kS0, kH0).ok);
  ASSERT_TRUE(model_.begin(kS0, false, 2, 1, 1, false).ok);
  EXPECT_EQ(append(kS0, 1), no(ErrorCode::kBusy));
  EXPECT_EQ(verify(kS0, 0), no(ErrorCode::kBusy));
  EXPECT_EQ(model_.snapshot(kS0, kH1), no(ErrorCode::kBusy));
  EXPECT_EQ(model_.rollback(kS0, kH0), no(ErrorCode::kBusy));
  EXPECT_EQ(model_.truncate(kS0, 0), no(ErrorCode::kBusy));
  EXPECT_EQ(model_.can_truncate(kS0, 99), no(ErrorCode::kBusy));
  EXPECT_EQ(model_.fork(kH0, kS1), ok(0)) << "others are not affected";
}

TEST_F(ModelTest, ArgumentsAreChecked) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  EXPECT_EQ(append(kS0, 0), no(ErrorCode::kInvalidArgument));
  EXPECT_EQ(verify(kS0, 9), no(ErrorCode::kInvalidArgument)) << "the largest round has 8";
  EXPECT_EQ(append(kS0, 65), no(ErrorCode::kTooLong));
  EXPECT_EQ(append(kS0, 64), ok(0));
  EXPECT_EQ(append(kS0, 1), no(ErrorCode::kTooLong));
  EXPECT_EQ(verify(kS0, 1), no(ErrorCode::kTooLong));
  EXPECT_EQ(verify(kS0, 0), ok(0)) << "an empty round is legal";
  EXPECT_EQ(model_.accept(kS0, 1), no(ErrorCode::kInvalidArgument));
  EXPECT_EQ(model_.accept(kS0, 0), ok(0));
  EXPECT_EQ(model_.truncate(kS0, 65), no(ErrorCode::kInvalidArgument));
}

TEST_F(ModelTest, APartThatIsLeftOutIsMissing) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  std::uint32_t token = 1;
  for (std::uint32_t part = 0; part < parts_of_rank(model_.shape()); ++part) {
    SCOPED_TRACE(part);
    WriteStyle const omit{.plan = {.liberty = Liberty::kOmit, .part = part}};
    WriteStyle const cut{.plan = {.liberty = Liberty::kShort, .part = part}};
    ASSERT_TRUE(model_.begin(kS0, false, 3, 3, token, false, omit).ok);
    Observation const refused = model_.commit(kS0);
    EXPECT_EQ(refused, no(ErrorCode::kIncomplete));
    Part const left_out = *part_of(model_.shape(), omit.plan);
    bool const is_state = left_out.plane == UINT32_MAX;
    EXPECT_EQ(refused.says.layer,
              is_state ? model_.shape().states[left_out.state].layer
                       : model_.shape().planes[left_out.plane].layer);
    EXPECT_EQ(refused.says.got, 0);
    EXPECT_EQ(refused.says.limit, 3);
    EXPECT_EQ(model_.fill(kS0, false), ok(3));
    EXPECT_EQ(model_.commit(kS0), ok(0));
    EXPECT_EQ(model_.fill(kS0, false), no(ErrorCode::kStale));
    ASSERT_TRUE(model_.begin(kS0, true, 3, 3, token + 3, false, cut).ok);
    EXPECT_EQ(model_.fill(kS0, false), no(ErrorCode::kStale)) << "rounds are written again";
    Observation const cut_off = model_.accept(kS0, 3);
    EXPECT_EQ(cut_off, no(ErrorCode::kIncomplete));
    EXPECT_EQ(cut_off.says.layer, refused.says.layer);
    EXPECT_EQ(cut_off.says.got, 2);
    EXPECT_EQ(model_.accept(kS0, 2), ok(2));
    token += 6;
  }
}

TEST_F(ModelTest, AStepIsBegunWrittenAndEndedInParts) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.create(kS1, false).ok);
  StepParts const first{.parts = {append_of(kS0, 3, 1), {.deed = StepDeed::kPad, .rows = 2}},
                        .count = 2};
  StepParts const second{.parts = {append_of(kS1, 2, 4)}, .count = 1};
  EXPECT_EQ(model_.write_step(kS0, {}, ok(0)), no(ErrorCode::kStale)) << "it is in no step";
  EXPECT_EQ(model_.begin_step(first, false), ok(2));
  EXPECT_EQ(model_.commit(kS0), no(ErrorCode::kStale)) << "its handle is the step's";
  EXPECT_EQ(model_.finish_step(kS0), no(ErrorCode::kIncomplete));
  EXPECT_EQ(model_.begin_step(second, false), ok(1));
  EXPECT_EQ(model_.write_step(kS0, {.whole = true}, ok(0)), no(ErrorCode::kInvalidArgument))
      << "the devices have a map of the other step";
  EXPECT_EQ(model_.write_step(kS0, {}, ok(0)), ok(0));
  EXPECT_EQ(model_.write_step(kS1, {.whole = true}, ok(0)), ok(0));
  EXPECT_EQ(model_.write_step(kS1, {.whole = true}, ok(0)), no(ErrorCode::kInvalidArgument))
      << "rows of an append are written once";
  EXPECT_EQ(model_.finish_step(kS0), ok(3));
  EXPECT_EQ(model_.finish_step(kS0), no(ErrorCode::kStale));
  EXPECT_EQ(model_.drop_step(kS1), ok(0));
  EXPECT_EQ(model_.position(kS0), 3U);
  EXPECT_EQ(model_.position(kS1), 0U);
}

TEST_F(ModelTest, ASequenceLeavesItsStepWhenItIsReleased) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.create(kS1, false).ok);
  StepParts items{.parts = {append_of(kS0, 1, 1), append_of(kS1, 1, 2)}, .count = 2};
  ASSERT_TRUE(model_.begin_step(items, false).ok);
  ASSERT_TRUE(model_.release(kS0).ok);
  Observation const whole = model_.write_step(kS0, {.whole = true}, ok(0));
  EXPECT_EQ(whole, no(ErrorCode::kStale)) << "a name that left still names the step";
  EXPECT_EQ(whole.says.item, 0);
  EXPECT_EQ(model_.write_step(kS1, {}, ok(0)), ok(0));
  EXPECT_EQ(model_.finish_step(kS1), no(ErrorCode::kStale)) << "a row of what left cannot be kept";
  EXPECT_EQ(model_.drop_step(kS1), ok(0));
}

TEST_F(ModelTest, AGraphServesStepsOfTheSameItems) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  auto const step_of = [](std::uint32_t rows, Token token) {
    return StepParts{.parts = {append_of(kS0, rows, token)}, .count = 1};
  };
  WriteStyle const replay{.graph = true};
  ASSERT_TRUE(model_.begin_step(step_of(1, 1), false).ok);
  EXPECT_FALSE(model_.has_graph_for(kS0));
  ASSERT_TRUE(model_.write_step(kS0, {.view = true}, ok(0)).ok);
  EXPECT_TRUE(model_.has_graph_for(kS0));
  ASSERT_TRUE(model_.finish_step(kS0).ok);
  ASSERT_TRUE(model_.begin_step(step_of(2, 2), false).ok);
  EXPECT_EQ(model_.write_step(kS0, replay, ok(0)), no(ErrorCode::kInvalidArgument));
  ASSERT_TRUE(model_.drop_step(kS0).ok);
  ASSERT_TRUE(model_.begin_step(step_of(1, 4), false).ok);
  EXPECT_EQ(model_.write_step(kS0, replay, ok(0)), ok(0));
  EXPECT_EQ(model_.finish_step(kS0), ok(1));
}

TEST_F(ModelTest, MissingRowsKeepTheHandleOpen) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.begin(kS0, false, 3, 2, 1, false).ok);
  EXPECT_EQ(model_.commit(kS0), no(ErrorCode::kIncomplete));
  EXPECT_TRUE(model_.sequence(kS0).open.open);
  EXPECT_EQ(model_.drop(kS0), ok(0));
  ASSERT_TRUE(model_.begin(kS0, true, 3, 2, 4, false).ok);
  EXPECT_EQ(model_.accept(kS0, 3), no(ErrorCode::kIncomplete));
  EXPECT_EQ(model_.rewrite(kS0, 3, 1, 9), no(ErrorCode::kInvalidArgument)) << "row 2 comes first";
  EXPECT_EQ(model_.rewrite(kS0, 2, 2, 9), no(ErrorCode::kInvalidArgument));
  EXPECT_EQ(model_.rewrite(kS0, 2, 1, 9), ok(1));
  EXPECT_EQ(model_.accept(kS0, 3), ok(3));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{4, 5, 9}));
}

TEST_F(ModelTest, SnapshotsHoldAndLoad) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(append(kS0, 5).ok);
  EXPECT_EQ(model_.snapshot(kS0, kH0), ok(5));
  ASSERT_TRUE(append(kS0, 2).ok);
  EXPECT_EQ(model_.fork(kH0, kS1), ok(5));
  ASSERT_TRUE(append(kS1, 1).ok);
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(tokens(kS1), (std::vector<Token>{1, 2, 3, 4, 5, 8}));
  EXPECT_EQ(model_.rollback(kS0, kH0), ok(5));
  EXPECT_EQ(tokens(kS0), (std::vector<Token>{1, 2, 3, 4, 5}));
  EXPECT_EQ(model_.rollback(kS1, kH0), ok(5)) << "any live snapshot will do, and twice";
  EXPECT_EQ(model_.close(), no(ErrorCode::kBusy));
  ASSERT_TRUE(model_.release(kS0).ok);
  ASSERT_TRUE(model_.release(kS1).ok);
  EXPECT_EQ(model_.close(), no(ErrorCode::kBusy));
  ASSERT_TRUE(model_.drop_snapshot(kH0).ok);
  EXPECT_EQ(model_.close(), ok(0));
}

TEST_F(ModelTest, CountsOfSequencesAndSnapshotsAreExact) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(model_.create({i}, false).ok);
  }
  EXPECT_EQ(model_.create({4}, false), no(ErrorCode::kExhausted));
  for (std::uint32_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(model_.snapshot(kS0, {i}).ok);
  }
  EXPECT_EQ(model_.snapshot(kS0, {6}), no(ErrorCode::kExhausted));
  EXPECT_EQ(model_.fork(kH0, {5}), no(ErrorCode::kExhausted));
  ASSERT_TRUE(model_.release(kS0).ok);
  EXPECT_EQ(model_.fork(kH0, {5}), ok(0));
}

TEST_F(ModelTest, ResidencyFollowsTheRing) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(append(kS0, 12).ok);
  EXPECT_EQ(lo(kS0), 0U);
  ASSERT_TRUE(append(kS0, 2).ok);
  EXPECT_EQ(lo(kS0), 2U) << "commit: e - R";
  ASSERT_TRUE(verify(kS0, 8).ok);
  ASSERT_TRUE(model_.accept(kS0, 1).ok);
  EXPECT_EQ(lo(kS0), 10U) << "rejected rows count";
  ASSERT_TRUE(model_.begin(kS0, false, 20, 20, 100, false).ok);
  ASSERT_TRUE(model_.drop(kS0).ok);
  EXPECT_EQ(lo(kS0), 12U) << "a drop keeps the rows of the open pool";
  ASSERT_TRUE(model_.snapshot(kS0, kH0).ok);
  EXPECT_EQ(model_.truncate(kS0, 13), ok(13)) << "12 is resident";
  ASSERT_TRUE(append(kS0, 4).ok);
  ASSERT_TRUE(model_.rollback(kS0, kH0).ok);
  EXPECT_EQ(lo(kS0), 12U) << "rollback: the live rows and no more";
}

TEST_F(ModelTest, TruncationNeedsTheRowsOfTheOpenPool) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(append(kS0, 14).ok);  // [2, 14) is resident
  EXPECT_EQ(model_.can_truncate(kS0, 14), ok(14));
  EXPECT_EQ(model_.can_truncate(kS0, 13), ok(13));
  EXPECT_EQ(model_.can_truncate(kS0, 5), ok(5)) << "needs row 4";
  EXPECT_EQ(model_.can_truncate(kS0, 4), ok(4)) << "needs none";
  EXPECT_EQ(model_.can_truncate(kS0, 3), no(ErrorCode::kRefused)) << "needs row 0";
  EXPECT_EQ(model_.can_truncate(kS0, 0), ok(0));
  EXPECT_EQ(model_.truncate(kS0, 3), no(ErrorCode::kRefused));
  EXPECT_EQ(model_.position(kS0), 14U) << "a refusal changes nothing";
  EXPECT_EQ(model_.truncate(kS0, 4), ok(4));
  EXPECT_EQ(lo(kS0), 2U);
  EXPECT_EQ(model_.truncate(kS0, 1), no(ErrorCode::kRefused));
  EXPECT_EQ(model_.truncate(kS0, 0), ok(0));
  EXPECT_EQ(lo(kS0), 0U) << "min(lo, L)";
}

TEST(ModelState, IsNeverTruncated) {
  Model model{shape_of("tiny")};
  ASSERT_TRUE(model.create(kS0, false).ok);
  ASSERT_TRUE(model.begin(kS0, false, 5, 5, 1, false).ok);
  ASSERT_TRUE(model.commit(kS0).ok);
  EXPECT_EQ(model.truncate(kS0, 5), ok(5)) << "the own length is no truncation";
  EXPECT_EQ(model.truncate(kS0, 4), no(ErrorCode::kRefused));
  EXPECT_EQ(model.truncate(kS0, 0), no(ErrorCode::kRefused));
}

TEST(ModelState, IsTheReplayOfTheAcceptedTokens) {
  Model model{shape_of("tiny")};
  ModelShape const& shape = model.shape();
  ASSERT_EQ(shape.states.size(), 2U);
  ASSERT_TRUE(model.create(kS0, false).ok);
  ASSERT_TRUE(model.begin(kS0, true, 5, 5, 1, false).ok);
  ASSERT_TRUE(model.accept(kS0, 3).ok);
  ASSERT_TRUE(model.begin(kS0, false, 4, 4, 6, false).ok);
  ASSERT_TRUE(model.drop(kS0).ok);
  std::vector<float> want(shape.state_elements, 0.0F);
  for (Token const token : {1U, 2U, 3U}) {
    for (std::uint32_t i = 0; i < shape.states.size(); ++i) {
      float* const state = want.data() + shape.state_offsets[i];
      shape.states[i].advance(shape.states[i], {&token, 1}, state, state);
    }
  }
  EXPECT_EQ(model.history(model.sequence(kS0)).state, want);
}

/// What fits must succeed, though the system says otherwise; beyond it the system decides.
TEST(ModelExhaustion, SlotsAreABound) {
  ModelShape shape = shape_of("tiny");
  shape.capacity.slots = 5;
  Model model{shape};
  ASSERT_EQ(model.create(kS0, true), ok(0)) << "1 of 5";
  ASSERT_EQ(model.create(kS1, true), ok(0)) << "2 of 5";
  ASSERT_EQ(model.snapshot(kS0, kH0), ok(0));  // 3 of 5 when nothing were shared
  EXPECT_EQ(model.begin(kS0, true, 3, 0, 1, true), no(ErrorCode::kExhausted));
  EXPECT_EQ(model.begin(kS0, true, 3, 0, 1, false), ok(3)) << "sharing may make it fit";
  ASSERT_TRUE(model.drop(kS0).ok);
  EXPECT_EQ(model.begin(kS0, true, 2, 0, 1, true), ok(2)) << "it fits: the model insists";
  EXPECT_EQ(model.begin(kS1, false, 1, 1, 9, true), no(ErrorCode::kExhausted));
  EXPECT_EQ(model.create(kS2, true), no(ErrorCode::kExhausted));
  EXPECT_EQ(model.create(kS2, false), ok(0));
}

TEST(ModelExhaustion, PagesAreABound) {
  ModelShape shape = shape_of("tiny-rows");
  shape.capacity.pages = 4;  // three for rows, one to copy
  Model model{shape};
  ASSERT_TRUE(model.create(kS0, false).ok);
  EXPECT_EQ(model.begin(kS0, false, 12, 12, 1, true), ok(12)) << "three pages: the model insists";
  ASSERT_TRUE(model.drop(kS0).ok);
  EXPECT_EQ(model.begin(kS0, false, 13, 13, 20, true), no(ErrorCode::kExhausted));
  EXPECT_EQ(model.begin(kS0, false, 13, 13, 20, false), ok(13));
}

TEST(ModelLog, NamesWriterAndRemover) {
  Model model{shape_of("tiny-rows")};
  EXPECT_EQ(model.record_of(1), nullptr);
  model.keep_log();
  ASSERT_TRUE(model.create(kS0, false).ok);
  model.set_operation(5);
  ASSERT_TRUE(model.begin(kS0, true, 3, 3, 1, false).ok);
  model.set_operation(6);
  ASSERT_TRUE(model.accept(kS0, 2).ok);
  ASSERT_NE(model.record_of(3), nullptr);
  EXPECT_EQ(model.record_of(3)->written_by, 5U);
  EXPECT_EQ(model.record_of(3)->removed_by, 6U);
  EXPECT_EQ(model.record_of(3)->position, 2U);
  ASSERT_NE(model.record_of(2), nullptr);
  EXPECT_EQ(model.record_of(2)->removed_by, UINT32_MAX);
  EXPECT_EQ(model.record_of(4), nullptr);
}

TEST(ModelShapes, AreReadFromLayouts) {
  ModelShape const shape = shape_of("tiny");
  std::uint32_t const ring = shape.find(PlaneKind::kTailRing, 2);
  ASSERT_NE(ring, UINT32_MAX);
  EXPECT_EQ(shape.planes[ring].ring_rows, 16U);
  EXPECT_EQ(shape.planes[ring].elements, 8U);
  std::uint32_t const keys = shape.find(PlaneKind::kPoolKeys, 2);
  ASSERT_NE(keys, UINT32_MAX);
  EXPECT_EQ(shape.planes[keys].elements, 4U);
  EXPECT_EQ(shape.find(PlaneKind::kLatent, 1), UINT32_MAX);
  EXPECT_EQ(shape.windows.size(), 1U);
  EXPECT_EQ(shape.state_offsets.back() + shape.states.back().elements(), shape.state_elements);

  Layout layout;
  layout.layers = {{{LatentSpec{.width = 4097}}}};
  try {
    static_cast<void>(make_model_shape(layout));
    FAIL() << "accepted";
  } catch (InputError const& error) {
    EXPECT_EQ(std::string_view{error.what()},
              "layout: layer 0: rows of more than 4096 elements are not modelled");
  }
}

/// A model with recurrent layers.
class StateTest : public testing::Test {
 protected:
  Observation begin(SequenceName name, bool round, std::uint32_t rows, StateMode mode) {
    return model_.begin(name, round, rows, rows, model_.next_token(), false, {.mode = mode});
  }
  bool exact(SequenceName name) { return model_.sequence(name).open.drop_is_exact; }
  std::uint32_t state(SequenceName name) { return model_.history(model_.sequence(name)).state_id; }

  Model model_{shape_of("tiny")};
};

TEST_F(StateTest, DroppingAnInPlaceAppendOnTheOnlyHolderLosesTheState) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(begin(kS0, false, 2, StateMode::kInPlace).ok);
  EXPECT_FALSE(exact(kS0));
  EXPECT_EQ(model_.drop(kS0), ok(1));
  EXPECT_TRUE(model_.sequence(kS0).tainted);
  EXPECT_EQ(begin(kS0, false, 1, StateMode::kFresh), no(ErrorCode::kTainted));
  EXPECT_EQ(begin(kS0, true, 0, StateMode::kFresh), no(ErrorCode::kTainted));
  EXPECT_EQ(model_.snapshot(kS0, kH0), no(ErrorCode::kTainted));
  EXPECT_EQ(model_.truncate(kS0, 0), no(ErrorCode::kTainted));
  EXPECT_EQ(model_.can_truncate(kS0, 0), no(ErrorCode::kTainted));
  EXPECT_EQ(model_.drop(kS0), no(ErrorCode::kStale)) << "the handle is used up";
  EXPECT_EQ(model_.release(kS0), ok(0));
  EXPECT_FALSE(model_.sequence(kS0).tainted);
}

TEST_F(StateTest, WhoSharesAStateDropsExactly) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.snapshot(kS0, kH0).ok);
  ASSERT_TRUE(model_.fork(kH0, kS1).ok);
  ASSERT_TRUE(model_.drop_snapshot(kH0).ok);
  EXPECT_EQ(state(kS0), state(kS1));
  ASSERT_TRUE(begin(kS0, false, 2, StateMode::kInPlace).ok);
  EXPECT_TRUE(exact(kS0)) << "the fork has it too";
  EXPECT_EQ(model_.drop(kS0), ok(0));
  ASSERT_TRUE(begin(kS0, false, 2, StateMode::kInPlace).ok);
  ASSERT_TRUE(model_.commit(kS0).ok);
  EXPECT_NE(state(kS0), state(kS1));
  ASSERT_TRUE(begin(kS1, false, 2, StateMode::kInPlace).ok);
  EXPECT_FALSE(exact(kS1)) << "the other one has moved on";
  EXPECT_EQ(model_.commit(kS1), ok(0));
  ASSERT_TRUE(begin(kS1, true, 2, StateMode::kInPlace).ok);
  EXPECT_TRUE(exact(kS1)) << "a round holds its base";
  EXPECT_EQ(model_.drop(kS1), ok(0));
}

TEST_F(StateTest, AnInPlaceRoundKeepsWhatTheOtherKindsKeep) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.create(kS1, false).ok);
  for (std::uint32_t keep = 0; keep <= 3; ++keep) {
    Token const token = model_.next_token();
    ASSERT_TRUE(model_.begin(kS0, true, 3, 3, token, false).ok);
    ASSERT_TRUE(model_.begin(kS1, true, 3, 3, token, false, {.mode = StateMode::kInPlace}).ok);
    EXPECT_EQ(model_.accept(kS0, keep), ok(keep));
    EXPECT_EQ(model_.accept(kS1, keep), ok(keep));
    History const& columns = model_.history(model_.sequence(kS0));
    History const& in_place = model_.history(model_.sequence(kS1));
    EXPECT_EQ(columns.tokens, in_place.tokens) << keep;
    EXPECT_EQ(columns.state, in_place.state) << keep;
    EXPECT_EQ(columns.lo, in_place.lo) << keep;
  }
}

TEST_F(StateTest, ARescanRoundKeepsWhatTheOtherKindsKeepForOneSlot) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.create(kS1, false).ok);
  for (std::uint32_t keep = 0; keep <= 3; ++keep) {
    Token const token = model_.next_token();
    ASSERT_TRUE(model_.begin(kS0, true, 3, 3, token, false).ok);
    ASSERT_TRUE(model_.begin(kS1, true, 3, 3, token, false, {.mode = StateMode::kRescan}).ok);
    EXPECT_TRUE(exact(kS1));
    EXPECT_EQ(model_.sequence(kS1).open.slots, 1U);
    EXPECT_EQ(model_.accept(kS0, keep), ok(keep));
    EXPECT_EQ(model_.accept(kS1, keep), ok(keep));
    History const& columns = model_.history(model_.sequence(kS0));
    History const& rescanned = model_.history(model_.sequence(kS1));
    EXPECT_EQ(columns.tokens, rescanned.tokens) << keep;
    EXPECT_EQ(columns.state, rescanned.state) << keep;
    EXPECT_EQ(columns.lo, rescanned.lo) << keep;
  }
  ASSERT_TRUE(begin(kS1, true, 0, StateMode::kRescan).ok);
  EXPECT_EQ(model_.sequence(kS1).open.slots, 0U);
}

TEST(Rescan, NeedsAStashWhereThereIsAState) {
  Model without{shape_of("jamba-mini")};
  ASSERT_TRUE(without.create(kS0, false).ok);
  EXPECT_EQ(without.begin(kS0, true, 1, 1, 1, false, {.mode = StateMode::kRescan}),
            no(ErrorCode::kInvalidArgument));
  StepParts const items{.parts = {{.deed = StepDeed::kVerify,
                                   .sequence = kS0,
                                   .rows = 1,
                                   .keep = 1,
                                   .mode = StateMode::kRescan}},
                        .count = 1};
  EXPECT_EQ(without.step(items, false), no(ErrorCode::kInvalidArgument));
  Model stateless{shape_of("tiny-rows")};
  ASSERT_TRUE(stateless.create(kS0, false).ok);
  EXPECT_TRUE(stateless.begin(kS0, true, 1, 1, 1, false, {.mode = StateMode::kRescan}).ok);
}

TEST_F(StateTest, AStepLooksAtWhatIsSharedBeforeItChangesAnything) {
  ASSERT_TRUE(model_.create(kS0, false).ok);
  ASSERT_TRUE(model_.snapshot(kS0, kH0).ok);
  ASSERT_TRUE(model_.fork(kH0, kS1).ok);
  ASSERT_TRUE(model_.drop_snapshot(kH0).ok);
  StepPart part{.deed = StepDeed::kAppend, .rows = 1, .keep = 1, .mode = StateMode::kInPlace};
  StepParts items{.parts = {part, part}, .count = 2};
  items.parts[0].sequence = kS0;
  items.parts[1].sequence = kS1;
  items.parts[1].keep = 0;
  items.parts[1].token = 2;
  EXPECT_EQ(model_.step(items, false), ok(1));
  EXPECT_FALSE(model_.sequence(kS1).tainted) << "both began on one state, so both took a copy";
}

}  // namespace
}  // namespace holdfast::model
