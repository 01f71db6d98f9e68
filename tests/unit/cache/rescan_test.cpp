// SPDX-License-Identifier: Apache-2.0
// Goal: a rescan round takes one slot and no copy, its state is what the engine's function makes of
// the stashed inputs, and an error of that function changes nothing. Method: against histories, with
// a function that notes what it is called with and fails on demand.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/step_engine.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kField = "recurrent.stash_row_bytes";

/// Stashes tokens, and makes states of them as ToyEngine does.
class Rescanner {
 public:
  explicit Rescanner(Cache& cache) : cache_{cache} {
    EXPECT_TRUE(IsOk(cache.set_rescan(&run, this)));
  }

  /// What one call was given.
  struct Call {
    Device* device;
    std::uint32_t stage;
    std::uint32_t rank;
    Stream stream;
    std::vector<RescanItem> items;
  };
  std::vector<Call> calls;
  bool fails = false;

  /// Stashes `tokens` as the inputs of rows [first, ...) of all layers; `open` is a Round or an
  /// item of a step.
  template <typename Open>
  void stash(Open& open, History const& tokens, std::uint32_t first = 0) {
    views_.clear();
    for (StateInfo const& info : cache_.inspect().states()) {
      if (info.kind == PlaneKind::kHeld) {
        views_.push_back(views_.back());  // has no stash of its own
        continue;
      }
      auto const written = first + static_cast<std::uint32_t>(tokens.size());
      auto const view = open.stash(info.layer, written);
      ASSERT_TRUE(IsOk(view));
      for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        std::byte* const row = view->areas + view->area * view->area_bytes +
                               (first + i) * view->row_stride + view->layer_offset;
        // The last word, so that rows of two layers that overlap are noticed.
        std::memset(row, 0, view->row_bytes);
        auto const token = static_cast<std::uint32_t>(tokens[i]);
        std::memcpy(row + view->row_bytes - sizeof token, &token, sizeof token);
      }
      views_.push_back(*view);
    }
  }

 private:
  static Status run(void* context, RescanCall const& call) noexcept {
    auto& self = *static_cast<Rescanner*>(context);
    self.calls.push_back(
        {&call.device, call.stage, call.rank, call.stream, {call.items.begin(), call.items.end()}});
    for (RescanItem const& item : call.items) {
      if (self.fails) {
        std::memset(item.fresh, 0x5A, 4);  // work that is half done
        return Error{.code = ErrorCode::kDeviceFailed, .text = "planned", .subject = "rescan"};
      }
      self.make_state(item);
    }
    return {};
  }
  void make_state(RescanItem const& item) const noexcept {
    auto const states = cache_.inspect().states();
    for (std::size_t i = 0; i < states.size(); ++i) {
      StateInfo const& info = states[i];
      for (std::uint32_t element = 0; element < info.conv_elements; ++element) {
        fold(item, views_[i], info.conv_offset, info.layer, element);
      }
      for (std::uint32_t element = 0; element < info.ssm_elements; ++element) {
        fold(item, views_[i], info.ssm_offset, info.layer + 1, element);
      }
      EXPECT_EQ(std::memcmp(item.fresh + info.held_offset,
                            item.base + info.held_offset,
                            info.held_elements * sizeof(float)),
                0)
          << "the fresh slot starts with the base's side state";
      for (std::uint32_t element = 0; element < info.held_elements; ++element) {
        fold(item, views_[i], info.held_offset, info.layer + 2, element);
      }
    }
  }
  static void fold(RescanItem const& item,
                   StashView const& view,
                   std::uint64_t offset,
                   std::uint32_t layer,
                   std::uint32_t element) noexcept {
    std::uint64_t const at = offset + element * sizeof(float);
    float value = 0;
    std::memcpy(&value, item.base + at, sizeof value);
    for (std::uint32_t row = 0; row < item.keep; ++row) {
      std::uint32_t token = 0;
      std::memcpy(
          &token,
          item.stash + row * view.row_stride + view.layer_offset + view.row_bytes - sizeof token,
          sizeof token);
      value = next_state(value, layer, token, element);
    }
    std::memcpy(item.fresh + at, &value, sizeof value);
  }

  Cache& cache_;
  std::vector<StashView> views_;  // by state
};

/// One item of a step, with the calls of a round.
struct StashItem {
  Step& step;
  std::uint32_t item;
  Result<StashView> stash(std::uint32_t layer, std::uint32_t written) noexcept {
    return step.stash(item, layer, written);
  }
};

class RescanTest : public testing::Test {
 protected:
  RescanTest()
      : cache_{Cache::create(rescan_layout(), device_)},
        engine_{*cache_},
        rescanner_{*cache_},
        sequence_{cache_->create_sequence()} {
    engine_.append(*sequence_, history_, make_tokens(3, 1));
  }

  std::uint32_t position() const { return static_cast<std::uint32_t>(history_.size()); }
  Result<Round> open(std::uint32_t rows) { return sequence_->verify(rows, {}, RoundKind::kRescan); }
  /// All rows of a round, its inputs stashed.
  void write(Round& round, History const& tokens) {
    engine_.write_rows(round, position(), tokens);
    rescanner_.stash(round, tokens);
  }
  std::byte* slot(std::uint32_t index) const {
    PlaneInfo const plane = cache_->inspect().plane(slot_plane());
    return const_cast<std::byte*>(plane.base) + index * plane.page_bytes;
  }
  std::uint32_t slot_plane() const {
    Inspection const look = cache_->inspect();
    std::uint32_t plane = 0;
    while (look.plane(plane).page_rows != 0) {
      ++plane;
    }
    return plane;
  }
  std::uint32_t base_slot(Sequence const& sequence) const {
    return cache_->inspect().state({HolderKind::kSequence, sequence.id().index}, slot_plane()).slot;
  }

  WrappingDevice device_;
  Result<Cache> cache_;
  ToyEngine engine_;
  Rescanner rescanner_;
  Result<Sequence> sequence_;
  History history_;
};

TEST_F(RescanTest, EveryKeepGivesTheStateOfTheKeptRows) {
  for (std::uint32_t rows = 0; rows <= 4; ++rows) {
    for (std::uint32_t keep = 0; keep <= rows; ++keep) {
      rescanner_.calls.clear();
      auto round = open(rows);
      ASSERT_TRUE(IsOk(round));
      History const tokens = make_tokens(rows, 7 * rows + keep);
      write(*round, tokens);
      auto const accepted = round->accept(keep);
      ASSERT_TRUE(IsOk(accepted));
      EXPECT_EQ(accepted->committed, keep);
      EXPECT_EQ(accepted->rows_to_append, 0U);
      EXPECT_EQ(rescanner_.calls.size(), keep == 0 ? 0U : 1U);
      history_ = joined(history_, first_of(tokens, keep));
      engine_.expect(*sequence_, history_);
    }
  }
}

TEST_F(RescanTest, TakesOneSlotNoCopyAndTheUsualLaunches) {
  std::uint64_t const launches = device_.launches;
  std::uint32_t const free = cache_->inspect().pages_free(slot_plane());
  auto round = open(4);
  ASSERT_TRUE(IsOk(round));
  EXPECT_EQ(cache_->inspect().pages_free(slot_plane()), free - 1);
  EXPECT_EQ(device_.launches, launches + 1);
  write(*round, make_tokens(4, 2));
  std::uint64_t const before_end = device_.launches;
  ASSERT_TRUE(IsOk(round->accept(2)));
  EXPECT_EQ(device_.launches, before_end + 1);
  EXPECT_EQ(device_.copies, 0U);
  EXPECT_EQ(cache_->inspect().pages_free(slot_plane()), free) << "the base is given up";
}

TEST_F(RescanTest, WritingAgainStashesAgain) {
  auto round = open(3);
  write(*round, make_tokens(3, 2));
  History const again = make_tokens(3, 5);
  engine_.write_rows(*round, position(), again);
  rescanner_.stash(*round, {again[1], again[2]}, 1);
  rescanner_.stash(*round, {again[0]}, 0);
  ASSERT_TRUE(IsOk(round->accept(2)));
  engine_.expect(*sequence_, joined(history_, first_of(again, 2)));
}

TEST_F(RescanTest, DroppedRoundsCallNobodyAndKeepTheState) {
  auto snapshot = sequence_->snapshot();
  std::uint32_t const free = cache_->inspect().pages_free(slot_plane());
  {
    auto round = open(3);
    write(*round, make_tokens(3, 2));
  }
  {
    auto round = open(3);
    write(*round, make_tokens(3, 3));
    ASSERT_TRUE(IsOk(round->drop()));
  }
  EXPECT_TRUE(rescanner_.calls.empty());
  EXPECT_EQ(cache_->inspect().pages_free(slot_plane()), free);
  engine_.expect(*sequence_, history_);
  engine_.expect(*snapshot, history_);
}

TEST_F(RescanTest, AHeldBaseStaysAsItIs) {
  auto snapshot = sequence_->snapshot();
  auto round = open(3);
  write(*round, make_tokens(3, 2));
  ASSERT_TRUE(IsOk(round->accept(3)));
  engine_.expect(*sequence_, joined(history_, make_tokens(3, 2)));
  engine_.expect(*snapshot, history_);
}

TEST_F(RescanTest, OneCallHasAllItemsOfAStep) {
  auto second = cache_->create_sequence();
  auto third = cache_->create_sequence();
  std::uint32_t const bases[] = {base_slot(*sequence_), base_slot(*second), base_slot(*third)};
  StepItem const items[] = {
      {.sequence = &*third, .kind = StepKind::kVerify, .rows = 4, .round_kind = RoundKind::kRescan},
      {.rows = 1},
      {.sequence = &*second,
       .kind = StepKind::kVerify,
       .rows = 2,
       .round_kind = RoundKind::kRescan},
      {.sequence = &*sequence_,
       .kind = StepKind::kVerify,
       .rows = 3,
       .round_kind = RoundKind::kRescan}};
  EXPECT_TRUE(IsOk(cache_->can_begin(items)));
  auto step = cache_->begin(items);
  ASSERT_TRUE(IsOk(step));
  History empty;
  std::vector<StepPart> const parts{verify_part(*third, empty, make_tokens(4, 4), 3),
                                    pad_part(1),
                                    verify_part(*second, empty, make_tokens(2, 5), 0),
                                    verify_part(*sequence_, history_, make_tokens(3, 6), 1)};
  std::vector<std::byte const*> areas;
  for (std::uint32_t const item : {0U, 2U, 3U}) {
    write_rows(*cache_, *step, item, parts[item]);
    StashItem open{*step, item};
    rescanner_.stash(open, parts[item].tokens);
    auto const view = step->stash(item, 1, 0);
    areas.push_back(view->areas + view->area * view->area_bytes);
  }
  EXPECT_TRUE(HasCode(step->stash(1, 1), ErrorCode::kStale)) << "padding has no inputs";
  EXPECT_TRUE(HasCode(step->stash(4, 1), ErrorCode::kInvalidArgument, "item"));
  std::uint32_t const keep[] = {3, 0, 0, 1};
  Accepted accepted[4] = {};
  std::uint64_t const launches = device_.launches;
  ASSERT_TRUE(IsOk(step->finish(keep, accepted, Stream{0})));
  EXPECT_EQ(device_.launches, launches + 1);
  ASSERT_EQ(rescanner_.calls.size(), 1U);
  Rescanner::Call const& call = rescanner_.calls[0];
  EXPECT_EQ(call.device, &device_);
  EXPECT_EQ(call.stage, 0U);
  EXPECT_EQ(call.rank, 0U);
  ASSERT_EQ(call.items.size(), 2U) << "in the order of the step, nothing for a keep of 0";
  EXPECT_EQ(call.items[0].base, slot(bases[2]));
  EXPECT_EQ(call.items[0].fresh, slot(base_slot(*third)));
  EXPECT_EQ(call.items[0].stash, areas[0]);
  EXPECT_EQ(call.items[0].keep, 3U);
  EXPECT_EQ(call.items[1].base, slot(bases[0]));
  EXPECT_EQ(call.items[1].fresh, slot(base_slot(*sequence_)));
  EXPECT_EQ(call.items[1].stash, areas[2]);
  EXPECT_EQ(call.items[1].keep, 1U);
  EXPECT_EQ(accepted[0].committed, 3U);
  EXPECT_EQ(accepted[2].committed, 0U);
  EXPECT_EQ(accepted[3].committed, 1U);
  engine_.expect(*third, first_of(make_tokens(4, 4), 3));
  engine_.expect(*second, {});
  engine_.expect(*sequence_, joined(history_, first_of(make_tokens(3, 6), 1)));
}

TEST_F(RescanTest, AnErrorChangesNothingAndTheRoundGoesOn) {
  auto round = open(3);
  History const tokens = make_tokens(3, 2);
  write(*round, tokens);
  auto const numbers = picture_of(*cache_).numbers;
  std::uint64_t const launches = device_.launches;
  rescanner_.fails = true;
  EXPECT_TRUE(HasCode(round->accept(2), ErrorCode::kDeviceFailed, "rescan"));
  EXPECT_EQ(picture_of(*cache_).numbers, numbers);
  EXPECT_EQ(device_.launches, launches);
  EXPECT_FALSE(cache_->inspect().sequence(sequence_->id().index).tainted);
  rescanner_.fails = false;
  ASSERT_TRUE(IsOk(round->accept(2)));
  engine_.expect(*sequence_, joined(history_, first_of(tokens, 2)));
}

TEST_F(RescanTest, AnErrorLeavesAStepOpenWithAllItsItems) {
  auto second = cache_->create_sequence();
  StepItem const items[] = {{.sequence = &*second, .kind = StepKind::kAppend, .rows = 2},
                            {.sequence = &*sequence_,
                             .kind = StepKind::kVerify,
                             .rows = 3,
                             .round_kind = RoundKind::kRescan}};
  auto step = cache_->begin(items);
  ASSERT_TRUE(IsOk(step));
  History empty;
  std::vector<StepPart> const parts{append_part(*second, empty, make_tokens(2, 4)),
                                    verify_part(*sequence_, history_, make_tokens(3, 6), 2)};
  write_item(*cache_, *step, 0, parts[0]);
  write_rows(*cache_, *step, 1, parts[1]);
  StashItem open{*step, 1};
  rescanner_.stash(open, parts[1].tokens);
  auto const numbers = picture_of(*cache_).numbers;
  rescanner_.fails = true;
  std::uint32_t const keep[] = {2, 2};
  EXPECT_TRUE(HasCode(step->finish(keep), ErrorCode::kDeviceFailed, "rescan"));
  EXPECT_EQ(picture_of(*cache_).numbers, numbers);
  rescanner_.fails = false;
  ASSERT_TRUE(IsOk(step->finish(keep)));
  engine_.expect(*second, make_tokens(2, 4));
  engine_.expect(*sequence_, joined(history_, first_of(make_tokens(3, 6), 2)));
}

TEST_F(RescanTest, OtherRefusalsComeBeforeTheCall) {
  auto round = open(3);
  engine_.write_rows(*round, position(), make_tokens(3, 2));
  EXPECT_TRUE(HasCode(round->accept(1), ErrorCode::kIncomplete, "recurrent"));
  rescanner_.stash(*round, first_of(make_tokens(3, 2), 1));
  EXPECT_TRUE(HasCode(round->accept(2), ErrorCode::kIncomplete, "recurrent"));
  EXPECT_TRUE(HasCode(round->accept(4), ErrorCode::kInvalidArgument, "keep"));
  EXPECT_TRUE(rescanner_.calls.empty());
  ASSERT_TRUE(IsOk(round->accept(1)));
  EXPECT_TRUE(HasCode(round->stash(1), ErrorCode::kStale));
}

TEST_F(RescanTest, StatesAreReadAndInputsStashed) {
  {
    auto round = open(2);
    EXPECT_TRUE(HasCode(round->state(1), ErrorCode::kInvalidArgument, "written"));
    auto const state = round->state(1, 0);
    ASSERT_TRUE(IsOk(state));
    EXPECT_EQ(state->base_slot, base_slot(*sequence_));
    EXPECT_EQ(state->sequence->read_slot, base_slot(*sequence_));
    EXPECT_NE(state->sequence->write_slot[0], base_slot(*sequence_));
    engine_.write_rows(*round, position(), make_tokens(2, 2));
    EXPECT_TRUE(HasCode(round->accept(1), ErrorCode::kIncomplete, "recurrent"))
        << "a look counts for nothing";
    EXPECT_TRUE(HasCode(round->stash(0), ErrorCode::kInvalidArgument, "layer"));
    EXPECT_TRUE(HasCode(round->stash(1, 1, 1), ErrorCode::kInvalidArgument, "rank"));
    auto const first = round->stash(1, 0);
    auto const second = round->stash(3, 0);
    ASSERT_TRUE(IsOk(first));
    ASSERT_TRUE(IsOk(second));
    EXPECT_EQ(first->area, sequence_->id().index);
    EXPECT_EQ(first->areas, second->areas);
    EXPECT_EQ(first->row_bytes, 16U);
    EXPECT_EQ(second->row_bytes, 32U);
    EXPECT_EQ(first->layer_offset, 0U);
    EXPECT_EQ(second->layer_offset, 16U);
    EXPECT_EQ(first->row_stride, 48U);
    EXPECT_EQ(first->area_bytes, 4 * 48U);
  }
  auto columns = sequence_->verify(2);
  EXPECT_TRUE(HasCode(columns->stash(1), ErrorCode::kInvalidArgument, "handle"));
}

TEST_F(RescanTest, TheFunctionStaysWhileARoundIsOpen) {
  auto round = open(1);
  EXPECT_TRUE(HasCode(cache_->set_rescan(nullptr, nullptr), ErrorCode::kBusy, "rescan"));
  ASSERT_TRUE(IsOk(round->drop()));
  ASSERT_TRUE(IsOk(cache_->set_rescan(nullptr, nullptr)));
  auto const picture = picture_of(*cache_);
  EXPECT_TRUE(HasCode(open(1), ErrorCode::kInvalidArgument, "rescan"));
  StepItem const items[] = {{.rows = 1},
                            {.sequence = &*sequence_,
                             .kind = StepKind::kVerify,
                             .rows = 1,
                             .round_kind = RoundKind::kRescan}};
  auto const refused = cache_->can_begin(items);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "rescan"));
  EXPECT_EQ(refused.error().item, 1);
  EXPECT_EQ(picture_of(*cache_), picture);
  Cache closed;
  EXPECT_TRUE(HasCode(closed.set_rescan(nullptr, nullptr), ErrorCode::kStale));
}

TEST(RescanLayout, GivesAStashToAllStatesOrToNone) {
  EXPECT_TRUE(HasCode(validate(rescan_layout(16, 0)), ErrorCode::kInvalidArgument, kField));
  EXPECT_TRUE(HasCode(validate(rescan_layout(0, 16)), ErrorCode::kInvalidArgument, kField));
  EXPECT_TRUE(HasCode(validate(rescan_layout(8, 16)), ErrorCode::kInvalidArgument, kField));
  EXPECT_TRUE(HasCode(validate(rescan_layout(1U << 25U, 16)), ErrorCode::kInvalidArgument, kField));
  auto const without = bytes_needed(hybrid_layout());
  auto const with = bytes_needed(rescan_layout(256, 256));
  ASSERT_TRUE(IsOk(with));
  // Three sequences and the padding's, four rows each.
  EXPECT_EQ(with->device - without->device, 4U * 4 * 512);
  EXPECT_EQ(with->per_slot, without->per_slot);
}

TEST(RescanLayout, WithoutAStashARoundIsRefused) {
  WrappingDevice device;
  auto cache = Cache::create(hybrid_layout(), device);
  auto sequence = cache->create_sequence();
  Rescanner const rescanner{*cache};
  EXPECT_TRUE(
      HasCode(sequence->verify(1, {}, RoundKind::kRescan), ErrorCode::kInvalidArgument, kField));
}

TEST(RescanLayout, WithoutStatesARoundIsLikeAnyOther) {
  WrappingDevice device;
  auto cache = Cache::create(latent_layout(), device);
  auto sequence = cache->create_sequence();
  ToyEngine const engine{*cache};
  auto round = sequence->verify(3, {}, RoundKind::kRescan);
  ASSERT_TRUE(IsOk(round));
  EXPECT_TRUE(HasCode(round->stash(0), ErrorCode::kInvalidArgument, "layer"));
  engine.write(*round, 0, make_tokens(3, 1));
  ASSERT_TRUE(IsOk(round->accept(2)));
  engine.expect(*sequence, first_of(make_tokens(3, 1), 2));
}

TEST(RescanSlots, AreOneARound) {
  WrappingDevice device;
  Layout layout = rescan_layout();
  layout.capacity.slots = 2;
  auto cache = Cache::create(layout, device);
  auto sequence = cache->create_sequence();
  Rescanner const rescanner{*cache};
  auto round = sequence->verify(4, {}, RoundKind::kRescan);
  ASSERT_TRUE(IsOk(round)) << "columns would need four slots";
  EXPECT_TRUE(HasCode(cache->create_sequence(), ErrorCode::kExhausted, "recurrent"));
  ASSERT_TRUE(IsOk(round->drop()));
  EXPECT_TRUE(IsOk(sequence->verify(0, {}, RoundKind::kRescan)));
}

TEST(RescanRanks, AreCalledOnceForEachDeviceWithStates) {
  Layout layout;
  layout.layers = {{{AttentionKvSpec{.heads = 2, .head_dim = 1}}, 0},
                   {{RecurrentSpec{.heads = 2, .d_k = 1, .d_v = 2, .stash_row_bytes = 16}}, 1}};
  layout.capacity = {.sequences = 2, .tokens = 16, .largest_round = 2, .snapshots = 2};
  layout.page_rows = 2;
  layout.chunk_pages = 2;
  layout.ranks = 2;
  layout.stages = 2;
  WrappingDevice devices[4];
  Device* const list[] = {&devices[0], &devices[1], &devices[2], &devices[3]};
  auto cache = Cache::create(layout, list);
  ASSERT_TRUE(IsOk(cache));
  Rescanner rescanner{*cache};
  auto sequence = cache->create_sequence();
  auto round = sequence->verify(2, {}, RoundKind::kRescan);
  ASSERT_TRUE(IsOk(round));
  float const rows[] = {1, 2, 3, 4};
  std::vector<std::byte const*> areas;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(IsOk(round->write(PlaneKind::kAttentionKv, 0, rows, 0, 2, {}, rank)));
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(HasCode(round->accept(1), ErrorCode::kIncomplete, "recurrent")) << rank;
    auto const view = round->stash(1, 2, rank);
    ASSERT_TRUE(IsOk(view));
    areas.push_back(view->areas + view->area * view->area_bytes);
  }
  rescanner.fails = true;  // the first error ends it
  EXPECT_TRUE(HasCode(round->accept(1), ErrorCode::kDeviceFailed));
  EXPECT_EQ(rescanner.calls.size(), 1U);
  rescanner.fails = false;
  rescanner.calls.clear();
  rescanner.stash(*round, make_tokens(2, 1));
  ASSERT_TRUE(IsOk(round->accept(1)));
  ASSERT_EQ(rescanner.calls.size(), 2U);
  Holder const holder{HolderKind::kSequence, sequence->id().index};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Rescanner::Call const& call = rescanner.calls[rank];
    EXPECT_EQ(call.device, list[2 + rank]);
    EXPECT_EQ(call.stage, 1U);
    EXPECT_EQ(call.rank, rank);
    ASSERT_EQ(call.items.size(), 1U);
    EXPECT_EQ(call.items[0].stash, areas[rank]);
    PlaneInfo const plane = cache->inspect().plane(1);
    EXPECT_EQ(
        call.items[0].fresh,
        cache->inspect().base(1, rank) + cache->inspect().state(holder, 1).slot * plane.page_bytes);
  }
}

}  // namespace
}  // namespace holdfast::test
