// SPDX-License-Identifier: Apache-2.0
// Goal: a step begins for all items or for none, and ends for all or for none; the error names the
// item, and nothing has changed. Method: one wrong item among right ones, and a picture of
// everything before and after.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <utility>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/step_engine.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

class StepRefusal : public testing::Test {
 protected:
  StepRefusal() { create(hybrid_layout()); }

  void create(Layout const& layout) {
    sequences_ = {};
    cache_ = Cache::create(layout, device_);
    ASSERT_TRUE(IsOk(cache_));
    ToyEngine const engine{*cache_};
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      auto sequence = cache_->create_sequence();
      ASSERT_TRUE(IsOk(sequence));
      sequences_[i] = std::move(*sequence);
      histories_[i].clear();
      engine.append(sequences_[i], histories_[i], make_tokens(3 + i, i));
    }
  }

  /// These items are refused with this code, for this item, and nothing has changed.
  Error expect_refused(std::vector<StepItem> const& items, ErrorCode code, std::int32_t item) {
    Picture const before = picture_of(*cache_);
    std::uint64_t const launches = device_.launches;
    auto const step = cache_->begin(items);
    EXPECT_TRUE(HasCode(step, code));
    EXPECT_EQ(device_.launches, launches);
    EXPECT_EQ(picture_of(*cache_), before);
    if (step) {
      return {};
    }
    EXPECT_EQ(step.error().item, item) << describe(step.error());
    return step.error();
  }
  [[nodiscard]] StepItem append(std::uint32_t sequence, std::uint32_t rows) {
    return {&sequences_[sequence], StepKind::kAppend, rows};
  }
  [[nodiscard]] StepItem verify(std::uint32_t sequence, std::uint32_t rows) {
    return {&sequences_[sequence], StepKind::kVerify, rows};
  }
  [[nodiscard]] static StepItem pad(std::uint32_t rows) { return {nullptr, StepKind::kPad, rows}; }
  /// A step over all sequences goes on as if nothing had been tried.
  void expect_goes_on() {
    run_step(*cache_,
             {append_part(sequences_[0], histories_[0], make_tokens(2, 7)),
              pad_part(1),
              verify_part(sequences_[1], histories_[1], make_tokens(3, 8), 1),
              append_part(sequences_[2], histories_[2], make_tokens(1, 9))});
    ToyEngine const engine{*cache_};
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      engine.expect(sequences_[i], histories_[i]);
    }
  }

  WrappingDevice device_;
  Result<Cache> cache_{Error{}};
  std::array<Sequence, 3> sequences_;
  std::array<History, 3> histories_;
};

TEST_F(StepRefusal, LacksPages) {
  Layout layout = hybrid_layout();
  layout.capacity.pages = 8;  // rows 3, 4 and 5 take 2 + 2 + 3 of them
  create(layout);
  Error const error =
      expect_refused({append(0, 1), append(1, 1), append(2, 2)}, ErrorCode::kExhausted, 2);
  EXPECT_STREQ(error.subject, "attention_kv");
  EXPECT_EQ(error.got, 2);
  EXPECT_EQ(error.limit, 1);
  expect_refused({append(1, 3), pad(1), append(0, 1)}, ErrorCode::kExhausted, 0);
  ASSERT_TRUE(IsOk(sequences_[1].release()));
  EXPECT_TRUE(IsOk(cache_->begin(std::vector{append(0, 1), append(2, 2)})));
}

TEST_F(StepRefusal, LacksSlots) {
  Layout layout = hybrid_layout();
  layout.capacity.slots = 8;  // three are the sequences' own
  create(layout);
  Error const error =
      expect_refused({verify(0, 4), append(1, 1), verify(2, 1)}, ErrorCode::kExhausted, 2);
  EXPECT_STREQ(error.subject, "recurrent");
  EXPECT_EQ(error.got, 6);
  EXPECT_EQ(error.limit, 5);
  EXPECT_TRUE(IsOk(cache_->begin(std::vector{verify(0, 4), append(1, 1), verify(2, 0)})));
}

TEST_F(StepRefusal, Stale) {
  ASSERT_TRUE(IsOk(sequences_[1].release()));
  expect_refused({append(0, 1), pad(2), append(1, 1)}, ErrorCode::kStale, 2);
  auto fresh = cache_->create_sequence();  // takes the released one's place
  ASSERT_TRUE(IsOk(fresh));
  expect_refused({verify(1, 2), append(0, 1)}, ErrorCode::kStale, 0);
  sequences_[1] = std::move(*fresh);
  histories_[1].clear();
  expect_goes_on();
}

TEST_F(StepRefusal, Busy) {
  auto open = sequences_[2].verify(2);
  ASSERT_TRUE(IsOk(open));
  expect_refused({append(0, 1), append(1, 1), append(2, 1)}, ErrorCode::kBusy, 2);
  ASSERT_TRUE(IsOk(open->drop()));
  expect_goes_on();
}

TEST_F(StepRefusal, BusyInAnotherStep) {
  auto step = cache_->begin(std::vector{append(1, 1)});
  ASSERT_TRUE(IsOk(step));
  expect_refused({append(0, 1), append(1, 1)}, ErrorCode::kBusy, 1);
  EXPECT_TRUE(HasCode(sequences_[1].append(1), ErrorCode::kBusy));
  EXPECT_TRUE(HasCode(sequences_[1].snapshot(), ErrorCode::kBusy));
  ASSERT_TRUE(IsOk(step->drop()));
  expect_goes_on();
}

TEST_F(StepRefusal, Tainted) {
  device_.fail_next_launch();
  ASSERT_TRUE(HasCode(sequences_[0].append(1), ErrorCode::kDeviceFailed));
  expect_refused({append(1, 1), append(0, 1)}, ErrorCode::kTainted, 1);
}

TEST_F(StepRefusal, TooLong) {
  Error const error = expect_refused({append(0, 1), append(1, 37)}, ErrorCode::kTooLong, 1);
  EXPECT_EQ(error.got, 41);
  EXPECT_EQ(error.limit, 40);
  expect_goes_on();
}

TEST_F(StepRefusal, RowsOfAnItem) {
  expect_refused({append(0, 1), append(1, 0)}, ErrorCode::kInvalidArgument, 1);
  expect_refused({verify(0, 5), append(1, 1)}, ErrorCode::kInvalidArgument, 0);
  expect_goes_on();
}

TEST_F(StepRefusal, RowsOfTheStep) {
  Layout layout = hybrid_layout();
  layout.capacity.step_rows = 6;
  create(layout);
  Error const error = expect_refused({append(0, 2), verify(1, 3), pad(2)}, ErrorCode::kTooLong, -1);
  EXPECT_EQ(error.got, 7);
  EXPECT_EQ(error.limit, 6);
  EXPECT_TRUE(IsOk(cache_->begin(std::vector{append(0, 2), verify(1, 3), pad(1)})));
}

TEST_F(StepRefusal, Twice) {
  expect_refused({append(0, 1), append(1, 1), append(0, 1)}, ErrorCode::kInvalidArgument, 2);
  expect_refused({verify(0, 0), verify(0, 0)}, ErrorCode::kInvalidArgument, 1);
  expect_refused({append(2, 1), pad(1), verify(2, 2)}, ErrorCode::kInvalidArgument, 2);
  expect_goes_on();
}

TEST_F(StepRefusal, OtherCaches) {
  WrappingDevice device;
  auto other = Cache::create(hybrid_layout(), device);
  ASSERT_TRUE(IsOk(other));
  auto foreign = other->create_sequence();
  ASSERT_TRUE(IsOk(foreign));
  expect_refused({append(0, 1), {&*foreign, StepKind::kAppend, 1}}, ErrorCode::kInvalidArgument, 1);
  expect_goes_on();
}

TEST_F(StepRefusal, PaddingAndSequencesMixedUp) {
  expect_refused(
      {append(0, 1), {&sequences_[1], StepKind::kPad, 1}}, ErrorCode::kInvalidArgument, 1);
  expect_refused({{nullptr, StepKind::kAppend, 1}, append(0, 1)}, ErrorCode::kInvalidArgument, 0);
  expect_refused({{nullptr, StepKind::kVerify, 1}}, ErrorCode::kInvalidArgument, 0);
  expect_goes_on();
}

TEST_F(StepRefusal, NoItemAndTooMany) {
  Error const none = expect_refused({}, ErrorCode::kInvalidArgument, -1);
  EXPECT_STREQ(none.subject, "items");
  std::vector<StepItem> items(static_cast<std::size_t>(none.limit), pad(1));
  EXPECT_TRUE(IsOk(cache_->begin(items)));
  items.push_back(pad(1));
  Error const many = expect_refused(items, ErrorCode::kInvalidArgument, -1);
  EXPECT_EQ(many.got, none.limit + 1);
  EXPECT_TRUE(HasCode(Cache{}.begin(items), ErrorCode::kStale, "cache"));
}

/// A step with an append of 2 rows, padding of 3, and a round of 3 rows.
class FinishRefusal : public StepRefusal {
 protected:
  FinishRefusal()
      : parts_{append_part(sequences_[0], histories_[0], make_tokens(2, 7)),
               pad_part(3),
               verify_part(sequences_[1], histories_[1], make_tokens(3, 8), 2)},
        step_{cache_->begin(items_of(parts_))} {}

  /// finish() with these is refused for this item, and the step is open as before.
  void expect_open(std::vector<std::uint32_t> const& keep, ErrorCode code, std::int32_t item) {
    Picture const before = picture_of(*cache_);
    std::uint64_t const launches = device_.launches;
    Status const refused = step_->finish(keep);
    ASSERT_TRUE(HasCode(refused, code));
    EXPECT_EQ(refused.error().item, item) << describe(refused.error());
    EXPECT_EQ(device_.launches, launches);
    EXPECT_EQ(picture_of(*cache_), before);
  }
  void expect_finishes() {
    ASSERT_TRUE(IsOk(step_->finish(keeps_of(parts_))));
    note_kept(parts_);
    ToyEngine const engine{*cache_};
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      engine.expect(sequences_[i], histories_[i]);
    }
  }

  std::vector<StepPart> parts_;
  Result<Step> step_;
};

TEST_F(FinishRefusal, KeepsThatNoItemCanHave) {
  write_items(*cache_, *step_, parts_);
  expect_open({1, 0, 2}, ErrorCode::kInvalidArgument, 0);  // an append is kept whole or not at all
  expect_open({3, 0, 2}, ErrorCode::kInvalidArgument, 0);
  expect_open({2, 1, 2}, ErrorCode::kInvalidArgument, 1);  // padding
  expect_open({2, 0, 4}, ErrorCode::kInvalidArgument, 2);
  expect_finishes();
}

TEST_F(FinishRefusal, ListsOfAnotherLength) {
  write_items(*cache_, *step_, parts_);
  expect_open({}, ErrorCode::kInvalidArgument, -1);
  expect_open({2, 0}, ErrorCode::kInvalidArgument, -1);
  expect_open({2, 0, 2, 0}, ErrorCode::kInvalidArgument, -1);
  std::array<Accepted, 2> accepted{};
  EXPECT_TRUE(
      HasCode(step_->finish(keeps_of(parts_), accepted), ErrorCode::kInvalidArgument, "keep"));
  expect_finishes();
}

TEST_F(FinishRefusal, MissingRowsNameTheItem) {
  expect_open({2, 0, 2}, ErrorCode::kIncomplete, 0);
  write_item(*cache_, *step_, 0, parts_[0]);
  expect_open({2, 0, 2}, ErrorCode::kIncomplete, 2);
  write_item(*cache_, *step_, 2, parts_[2]);
  expect_finishes();
}

TEST_F(FinishRefusal, NothingKeptNeedsNothingWritten) {
  parts_[0].keep = 0;
  parts_[2].keep = 0;
  expect_finishes();
}

TEST_F(FinishRefusal, ItemsThatTakeNoRows) {
  std::array<float, 16> const source{};
  auto const write = [&](std::uint32_t item, std::uint32_t first, std::uint32_t count) {
    return step_->write(item, PlaneKind::kAttentionKv, 0, source.data(), first, count);
  };
  Picture const before = picture_of(*cache_);
  EXPECT_TRUE(HasCode(write(1, 0, 1), ErrorCode::kStale)) << "padding";
  EXPECT_TRUE(HasCode(write(3, 0, 1), ErrorCode::kInvalidArgument, "item"));
  EXPECT_TRUE(HasCode(write(0, 0, 3), ErrorCode::kInvalidArgument)) << "more than its rows";
  EXPECT_TRUE(HasCode(write(2, 1, 1), ErrorCode::kInvalidArgument)) << "rows below are missing";
  EXPECT_TRUE(HasCode(step_->rows(1, PlaneKind::kAttentionKv, 0), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(step_->rows(3, PlaneKind::kAttentionKv, 0), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(HasCode(step_->state(1, 1), ErrorCode::kStale));
  EXPECT_TRUE(HasCode(step_->state(3, 1), ErrorCode::kInvalidArgument));
  EXPECT_EQ(picture_of(*cache_), before);
  write_items(*cache_, *step_, parts_);
  expect_finishes();
}

}  // namespace
}  // namespace holdfast::test
