// SPDX-License-Identifier: Apache-2.0
// Goal: a step is its items one by one, in any row order and with any padding; it costs one launch
// to begin and one to end, and no allocation; a failed launch taints its items and no other.
// Method: the same tokens through steps and through single calls; counters on device and heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/heap_counter.hpp"
#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/step_engine.hpp"
#include "tests/support/toy_engine.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::test {
namespace {

/// A cache with some sequences of different lengths.
template <typename DeviceType = WrappingDevice>
class Batch {
 public:
  explicit Batch(std::uint32_t count, Layout const& layout = hybrid_layout())
      : cache_{Cache::create(layout, device)}, sequences_(count), histories_(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto sequence = cache_->create_sequence();
      EXPECT_TRUE(IsOk(sequence));
      sequences_[i] = std::move(*sequence);
      engine().append(sequences_[i], histories_[i], make_tokens(3 + i % 5, i));
    }
  }

  [[nodiscard]] Cache& cache() { return *cache_; }
  [[nodiscard]] ToyEngine engine() const { return ToyEngine{*cache_}; }
  [[nodiscard]] Sequence& sequence(std::uint32_t i) { return sequences_[i]; }
  [[nodiscard]] History& history(std::uint32_t i) { return histories_[i]; }
  [[nodiscard]] std::uint32_t index(std::uint32_t i) const { return sequences_[i].id().index; }
  [[nodiscard]] StepPart append(std::uint32_t i, History tokens) {
    return append_part(sequences_[i], histories_[i], std::move(tokens));
  }
  [[nodiscard]] StepPart verify(std::uint32_t i, History tokens, std::uint32_t keep) {
    return verify_part(sequences_[i], histories_[i], std::move(tokens), keep);
  }
  void expect_all() {
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].position()) {
        engine().expect(sequences_[i], histories_[i]);
      }
    }
  }
  /// Everything goes, and nothing is left.
  void expect_closes() {
    for (Sequence& sequence : sequences_) {
      static_cast<void>(sequence.release());
    }
    EXPECT_EQ(used_pages(*cache_), 0U);
    EXPECT_TRUE(IsOk(cache_->close()));
  }

  DeviceType device;

 private:
  Result<Cache> cache_;
  std::vector<Sequence> sequences_;
  std::vector<History> histories_;
};

TEST(StepRows, AreInTheItemsOrderAndPaddingNamesSequenceZero) {
  Batch<> batch{3};
  std::vector<StepPart> const parts = {pad_part(1),
                                       batch.verify(2, make_tokens(2, 1), 1),
                                       batch.verify(0, {}, 0),
                                       pad_part(0),
                                       batch.append(1, make_tokens(3, 2)),
                                       pad_part(2)};
  auto step = batch.cache().begin(items_of(parts));
  ASSERT_TRUE(IsOk(step));
  std::uint32_t const first = batch.index(1);
  std::uint32_t const second = batch.index(2);
  EXPECT_EQ(row_map(batch.device, *step, 8),
            (std::vector<std::uint32_t>{0, second, second, first, first, first, 0, 0}));
  write_items(batch.cache(), *step, parts);
  ASSERT_TRUE(IsOk(step->finish(keeps_of(parts))));
  note_kept(parts);
  batch.expect_all();
}

TEST(StepRows, OfPaddingAlone) {
  Batch<> batch{1};
  Picture const before = picture_of(batch.cache());
  auto step = batch.cache().begin(std::vector<StepItem>{{.rows = 3}, {.rows = 2}});
  ASSERT_TRUE(IsOk(step));
  EXPECT_EQ(row_map(batch.device, *step, 5), std::vector<std::uint32_t>(5));
  ASSERT_TRUE(IsOk(step->finish(std::vector<std::uint32_t>{0, 0})));
  EXPECT_EQ(picture_of(batch.cache()), before);
}

/// Pages and slots that are handed out, but for tail rings: a ring keeps the pages that it once
/// took.
std::uint64_t used_but_for_rings(Cache const& cache) {
  Inspection const look = cache.inspect();
  std::uint64_t used = 0;
  for (std::uint32_t plane = 0; plane < look.plane_count(); ++plane) {
    bool const is_ring = look.plane(plane).ring_rows != 0;
    used += is_ring ? 0 : look.plane(plane).pages - 1 - look.pages_free(plane);
  }
  return used;
}

TEST(StepEnd, DropForgetsEveryRow) {
  Batch<> batch{3};
  std::vector<StepPart> const parts = {
      batch.append(0, make_tokens(2, 1)), pad_part(1), batch.verify(2, make_tokens(4, 2), 0)};
  std::uint64_t const used = used_but_for_rings(batch.cache());
  auto step = batch.cache().begin(items_of(parts));
  ASSERT_TRUE(IsOk(step));
  write_items(batch.cache(), *step, parts);
  ASSERT_TRUE(IsOk(step->drop()));
  batch.expect_all();
  EXPECT_EQ(used_but_for_rings(batch.cache()), used);
  {
    auto again = batch.cache().begin(items_of(parts));
    ASSERT_TRUE(IsOk(again));
    write_items(batch.cache(), *again, parts);
  }  // destroying it drops it
  batch.expect_all();
  EXPECT_EQ(used_but_for_rings(batch.cache()), used);
  run_step(batch.cache(), parts);
  batch.expect_all();
  batch.expect_closes();
}

TEST(StepEnd, AnAppendMayBeDroppedWhereOthersAreKept) {
  Batch<> batch{3};
  std::vector<StepPart> parts = {batch.append(0, make_tokens(2, 1)),
                                 batch.append(1, make_tokens(3, 2)),
                                 batch.verify(2, make_tokens(4, 3), 4)};
  parts[0].keep = 0;
  run_step(batch.cache(), parts);
  batch.expect_all();
}

TEST(StepEnd, AssigningAnotherStepDropsTheFirst) {
  Batch<> batch{2};
  auto first = batch.cache().begin(items_of({batch.append(0, make_tokens(2, 1))}));
  std::vector<StepPart> const parts = {batch.append(1, make_tokens(2, 2))};
  auto second = batch.cache().begin(items_of(parts));
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(second));
  *first = std::move(*second);
  EXPECT_TRUE(HasCode(second->drop(), ErrorCode::kStale, "step"));
  EXPECT_FALSE(batch.cache().inspect().sequence(batch.index(0)).open);
  write_items(batch.cache(), *first, parts);
  ASSERT_TRUE(IsOk(first->finish(keeps_of(parts))));
  note_kept(parts);
  batch.expect_all();
}

void expect_stale(Step& step, std::vector<std::uint32_t> const& keep) {
  std::array<float, 4> const source{};
  EXPECT_TRUE(HasCode(step.finish(keep), ErrorCode::kStale, "step"));
  EXPECT_TRUE(HasCode(step.drop(), ErrorCode::kStale, "step"));
  EXPECT_TRUE(HasCode(
      step.write(0, PlaneKind::kAttentionKv, 0, source.data(), 0, 1), ErrorCode::kStale, "step"));
  EXPECT_TRUE(HasCode(step.rows(0, PlaneKind::kAttentionKv, 0), ErrorCode::kStale, "step"));
  EXPECT_TRUE(HasCode(step.state(0, 1), ErrorCode::kStale, "step"));
  EXPECT_TRUE(HasCode(step.row_sequences(), ErrorCode::kStale, "step"));
}

TEST(StepEnd, LeavesItStaleForEver) {
  Batch<> batch{2};
  std::vector<StepPart> const parts = {batch.append(0, make_tokens(1, 1))};
  auto finished = batch.cache().begin(items_of(parts));
  ASSERT_TRUE(IsOk(finished));
  write_items(batch.cache(), *finished, parts);
  ASSERT_TRUE(IsOk(finished->finish(keeps_of(parts))));
  note_kept(parts);
  expect_stale(*finished, keeps_of(parts));
  auto dropped = batch.cache().begin(items_of(parts));  // takes the finished one's place
  ASSERT_TRUE(IsOk(dropped));
  expect_stale(*finished, keeps_of(parts));
  ASSERT_TRUE(IsOk(dropped->drop()));
  expect_stale(*dropped, keeps_of(parts));
  batch.expect_all();
}

TEST(StepEnd, OneItemReleasedInBetween) {
  Batch<> batch{3};
  std::vector<StepPart> parts = {batch.append(0, make_tokens(2, 1)),
                                 batch.verify(1, make_tokens(3, 2), 2),
                                 batch.append(2, make_tokens(1, 3))};
  auto step = batch.cache().begin(items_of(parts));
  ASSERT_TRUE(IsOk(step));
  write_items(batch.cache(), *step, parts);
  ASSERT_TRUE(IsOk(batch.sequence(1).release()));
  auto heir = batch.cache().create_sequence();  // the same index, with rows open of its own
  ASSERT_TRUE(IsOk(heir));
  auto open = heir->append(2);
  ASSERT_TRUE(IsOk(open));

  Picture const before = picture_of(batch.cache());
  Status const refused = step->finish(keeps_of(parts));
  ASSERT_TRUE(HasCode(refused, ErrorCode::kStale, "sequence"));
  EXPECT_EQ(refused.error().item, 1);
  std::array<float, 4> const source{};
  EXPECT_TRUE(
      HasCode(step->write(1, PlaneKind::kAttentionKv, 0, source.data(), 0, 1), ErrorCode::kStale));
  EXPECT_EQ(picture_of(batch.cache()), before);

  parts[1].keep = 0;
  ASSERT_TRUE(IsOk(step->finish(keeps_of(parts))));
  note_kept(parts);
  batch.expect_all();
  History history = make_tokens(2, 4);
  batch.engine().write(*open, 0, history);
  ASSERT_TRUE(IsOk(open->commit()));
  batch.engine().expect(*heir, history);
}

TEST(StepEnd, EveryItemReleasedInBetween) {
  Batch<> batch{2};
  auto step = batch.cache().begin(
      items_of({batch.append(0, make_tokens(2, 1)), batch.verify(1, make_tokens(3, 2), 0)}));
  ASSERT_TRUE(IsOk(step));
  ASSERT_TRUE(IsOk(batch.sequence(0).release()));
  ASSERT_TRUE(IsOk(batch.sequence(1).release()));
  EXPECT_EQ(used_pages(batch.cache()), 0U);
  ASSERT_TRUE(IsOk(step->finish(std::vector<std::uint32_t>{0, 0})));
  EXPECT_TRUE(HasCode(step->drop(), ErrorCode::kStale));
  EXPECT_TRUE(IsOk(batch.cache().close()));
}

TEST(StepEnd, TwoStepsOverDisjointSequences) {
  Batch<> batch{3};
  std::vector<StepPart> const first = {
      batch.append(0, make_tokens(2, 1)), pad_part(2), batch.verify(2, make_tokens(4, 2), 3)};
  std::vector<StepPart> const second = {pad_part(1), batch.verify(1, make_tokens(3, 3), 1)};
  auto one = batch.cache().begin(items_of(first));
  ASSERT_TRUE(IsOk(one));
  write_item(batch.cache(), *one, 0, first[0]);
  auto other = batch.cache().begin(items_of(second));
  ASSERT_TRUE(IsOk(other));
  EXPECT_EQ(row_map(batch.device, *other, 2), (std::vector<std::uint32_t>{0, batch.index(1)}));
  write_items(batch.cache(), *other, second);
  write_item(batch.cache(), *one, 2, first[2]);
  ASSERT_TRUE(IsOk(one->finish(keeps_of(first))));
  note_kept(first);
  EXPECT_TRUE(HasCode(one->drop(), ErrorCode::kStale));
  ASSERT_TRUE(IsOk(other->finish(keeps_of(second))));
  note_kept(second);
  batch.expect_all();
  batch.expect_closes();
}

TEST(StepEnd, EverySequenceInAStepOfItsOwn) {
  Batch<> batch{3};
  std::vector<Step> open;
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto step = batch.cache().begin(items_of({batch.verify(i, {}, 0)}));
    ASSERT_TRUE(IsOk(step));
    open.push_back(std::move(*step));
  }
  open.clear();
  batch.expect_all();
  batch.expect_closes();
}

/// What a round of some sequences does: rows, and what is kept.
struct Deed {
  std::uint32_t sequence;
  bool verify;
  std::uint32_t rows;
  std::uint32_t keep;
};

/// Three steps whose deeds cross page, chunk, pool and ring edges.
std::vector<std::vector<Deed>> const& deeds() {
  static std::vector<std::vector<Deed>> const table = {
      {{0, false, 2, 2}, {1, true, 4, 2}, {2, true, 3, 0}},
      {{0, true, 4, 4}, {1, false, 3, 0}, {2, false, 4, 4}},
      {{0, false, 5, 5}, {1, true, 1, 1}, {2, true, 0, 0}},
  };
  return table;
}

StepPart part_of(Batch<>& batch, Deed const& deed, std::uint32_t seed) {
  History tokens = make_tokens(deed.rows, seed * 3 + deed.sequence);
  StepPart part = deed.verify ? batch.verify(deed.sequence, std::move(tokens), deed.keep)
                              : batch.append(deed.sequence, std::move(tokens));
  part.keep = deed.keep;
  return part;
}

/// All that the batch shows after the deeds, by single calls.
std::vector<Visible> shown_one_by_one() {
  Batch<> batch{3};
  std::uint32_t seed = 0;
  for (auto const& step : deeds()) {
    ++seed;
    for (Deed const& deed : step) {
      StepPart const part = part_of(batch, deed, seed);
      if (deed.verify) {
        batch.engine().verify(*part.sequence, *part.history, part.tokens, part.keep);
        continue;
      }
      auto open = part.sequence->append(deed.rows);
      EXPECT_TRUE(IsOk(open));
      batch.engine().write(*open, static_cast<std::uint32_t>(part.history->size()), part.tokens);
      EXPECT_TRUE(IsOk(deed.keep == 0 ? open->drop() : open->commit()));
      note_kept({part});
    }
  }
  batch.expect_all();
  return {visible_of(batch.cache(), batch.sequence(0)),
          visible_of(batch.cache(), batch.sequence(1)),
          visible_of(batch.cache(), batch.sequence(2))};
}

/// The same by steps, their items in this order; padding of `pad` rows around each, when there is
/// some.
std::vector<Visible> shown_by_steps(std::array<std::uint32_t, 3> order,
                                    std::optional<std::uint32_t> pad) {
  Batch<> batch{3};
  std::uint32_t seed = 0;
  for (auto const& step : deeds()) {
    ++seed;
    std::vector<StepPart> parts;
    for (std::uint32_t const i : order) {
      if (pad) {
        parts.push_back(pad_part(*pad));
      }
      parts.push_back(part_of(batch, step[i], seed));
    }
    run_step(batch.cache(), parts);
  }
  batch.expect_all();
  return {visible_of(batch.cache(), batch.sequence(0)),
          visible_of(batch.cache(), batch.sequence(1)),
          visible_of(batch.cache(), batch.sequence(2))};
}

TEST(StepLaw, EqualsItsItemsOneByOneInAnyOrderWithAnyPadding) {
  std::vector<Visible> const wanted = shown_one_by_one();
  EXPECT_EQ(wanted[0].lengths[0], 3U + 2 + 4 + 5);
  EXPECT_EQ(wanted[1].lengths[0], 4U + 2 + 0 + 1);
  EXPECT_EQ(wanted[2].lengths[0], 5U + 0 + 4 + 0);
  std::array<std::uint32_t, 3> order = {0, 1, 2};
  do {
    EXPECT_EQ(shown_by_steps(order, std::nullopt), wanted);
    EXPECT_EQ(shown_by_steps(order, 0), wanted);
    EXPECT_EQ(shown_by_steps(order, 3), wanted);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(StepLaw, HoldsForSequencesThatShareStorage) {
  Batch<> batch{1};
  auto snapshot = batch.sequence(0).snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  auto left = snapshot->fork();
  auto right = snapshot->fork();
  ASSERT_TRUE(IsOk(left));
  ASSERT_TRUE(IsOk(right));
  History const base = batch.history(0);
  History lefts = base;
  History rights = base;
  for (std::uint32_t i = 0; i < 3; ++i) {
    run_step(batch.cache(),
             {append_part(*right, rights, make_tokens(2, 10 + i)),
              verify_part(*left, lefts, make_tokens(4, 20 + i), i),
              pad_part(1),
              batch.append(0, make_tokens(1, 30 + i))});
  }
  batch.expect_all();
  batch.engine().expect(*left, lefts);
  batch.engine().expect(*right, rights);
  batch.engine().expect(*snapshot, base);
}

TEST(StepWork, WritesOnlyWhatItsKernelsDeclare) {
  Batch<DeclaringDevice> batch{3};
  auto snapshot = batch.sequence(0).snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  for (std::uint32_t i = 0; i < 3; ++i) {
    run_step(batch.cache(),
             {pad_part(2),
              batch.verify(1, make_tokens(3, 2 + i), i),
              batch.append(0, make_tokens(2, 1 + i)),
              batch.verify(2, make_tokens(4, 3 + i), 4)});
  }
  EXPECT_EQ(batch.device.undeclared_bytes, 0U);
  EXPECT_GT(batch.device.changed_bytes, 0U);
  batch.expect_all();
}

/// 32 appends of one to three rows, then 32 rounds of four.
std::vector<StepPart> sixty_four_parts(Batch<>& batch, std::uint32_t seed) {
  std::vector<StepPart> parts;
  for (std::uint32_t i = 0; i < 64; ++i) {
    parts.push_back(i < 32 ? batch.append(i, make_tokens(1 + i % 3, seed + i))
                           : batch.verify(i, make_tokens(4, seed + i), (seed + i) % 5));
  }
  return parts;
}

TEST(StepCost, SixtyFourSequencesTakeTwoLaunchesAndNoMemory) {
  Layout layout = hybrid_layout();
  layout.capacity.sequences = 64;
  Batch<> batch{64, layout};
  auto snapshot = batch.sequence(0).snapshot();  // some pages are shared, so that there are copies
  auto held = batch.sequence(40).snapshot();
  ASSERT_TRUE(IsOk(snapshot));
  ASSERT_TRUE(IsOk(held));
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    std::vector<StepPart> const parts = sixty_four_parts(batch, seed);
    std::vector<StepItem> const items = items_of(parts);
    std::vector<std::uint32_t> const keeps = keeps_of(parts);
    std::vector<Accepted> accepted(parts.size());
    std::uint64_t const device_allocations = batch.device.allocations;

    std::uint64_t launches = batch.device.launches;
    std::uint64_t heap = heap_allocations();
    auto step = batch.cache().begin(items);
    EXPECT_EQ(heap_allocations() - heap, 0U);
    EXPECT_EQ(batch.device.launches - launches, 1U);
    ASSERT_TRUE(IsOk(step));

    write_items(batch.cache(), *step, parts);

    launches = batch.device.launches;
    heap = heap_allocations();
    Status const finished = step->finish(keeps, accepted);
    EXPECT_EQ(heap_allocations() - heap, 0U);
    EXPECT_EQ(batch.device.launches - launches, 1U);
    ASSERT_TRUE(IsOk(finished));

    EXPECT_EQ(batch.device.allocations, device_allocations);
    note_kept(parts);
  }
  batch.expect_all();
}

TEST(StepCost, ADropTakesOneLaunchAndNoMemory) {
  Layout layout = hybrid_layout();
  layout.capacity.sequences = 64;
  Batch<> batch{64, layout};
  std::vector<StepItem> const items = items_of(sixty_four_parts(batch, 1));
  std::uint64_t const launches = batch.device.launches;
  std::uint64_t const heap = heap_allocations();
  std::uint64_t failures = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    auto step = batch.cache().begin(items);
    failures += step && step->drop() ? 0U : 1U;
  }
  EXPECT_EQ(heap_allocations() - heap, 0U);
  EXPECT_EQ(batch.device.launches - launches, 200U);
  EXPECT_EQ(failures, 0U);
  batch.expect_all();
}

TEST(StepCost, PaddingAloneEndsWithoutALaunch) {
  Batch<> batch{1};
  std::vector<StepItem> const items = {{.kind = StepKind::kPad, .rows = 3}};
  auto step = batch.cache().begin(items);
  ASSERT_TRUE(IsOk(step));
  std::uint64_t const launches = batch.device.launches;
  EXPECT_TRUE(IsOk(step->finish(std::vector<std::uint32_t>{0})));
  EXPECT_EQ(batch.device.launches, launches);
  EXPECT_TRUE(HasCode(step->finish(std::vector<std::uint32_t>{0}), ErrorCode::kStale, "step"));
  batch.expect_all();
}

/// Three sequences with rows; two of them in a step.
class StepFailure : public testing::Test {
 protected:
  StepFailure()
      : parts_{batch_.append(0, make_tokens(2, 1)),
               pad_part(1),
               batch_.verify(1, make_tokens(3, 2), 2)} {
    auto taken = batch_.sequence(0).snapshot();
    EXPECT_TRUE(IsOk(taken));
    snapshot_ = std::move(*taken);
    base_ = batch_.history(0);
  }

  [[nodiscard]] bool tainted(std::uint32_t i) {
    return batch_.cache().inspect().sequence(batch_.index(i)).tainted;
  }
  /// The sequences of the step are tainted and can go; the third, and the snapshot, are good.
  void expect_items_tainted() {
    for (std::uint32_t const i : {0U, 1U}) {
      EXPECT_TRUE(tainted(i));
      EXPECT_TRUE(HasCode(batch_.sequence(i).append(1), ErrorCode::kTainted));
    }
    EXPECT_FALSE(tainted(2));
    EXPECT_TRUE(HasCode(batch_.cache().begin(items_of(parts_)), ErrorCode::kTainted));
    ASSERT_TRUE(IsOk(batch_.sequence(0).release()));
    ASSERT_TRUE(IsOk(batch_.sequence(1).release()));
    run_step(batch_.cache(), {pad_part(1), batch_.append(2, make_tokens(2, 5))});
    batch_.engine().expect(batch_.sequence(2), batch_.history(2));
    batch_.engine().expect(snapshot_, base_);
    ASSERT_TRUE(IsOk(snapshot_.drop()));
    batch_.expect_closes();
  }

  Batch<> batch_{3};
  std::vector<StepPart> parts_;
  Snapshot snapshot_;
  History base_;
};

TEST_F(StepFailure, FailedBeginTaintsEveryItem) {
  batch_.device.fail_next_launch();
  EXPECT_TRUE(HasCode(batch_.cache().begin(items_of(parts_)), ErrorCode::kDeviceFailed));
  expect_items_tainted();
}

TEST_F(StepFailure, FailedFinishTaintsEveryItem) {
  auto step = batch_.cache().begin(items_of(parts_));
  ASSERT_TRUE(IsOk(step));
  write_items(batch_.cache(), *step, parts_);
  batch_.device.fail_next_launch();
  EXPECT_TRUE(HasCode(step->finish(keeps_of(parts_)), ErrorCode::kDeviceFailed));
  expect_items_tainted();
}

TEST_F(StepFailure, FailedDropTaintsEveryItem) {
  auto step = batch_.cache().begin(items_of(parts_));
  ASSERT_TRUE(IsOk(step));
  batch_.device.fail_next_launch();
  EXPECT_TRUE(HasCode(step->drop(), ErrorCode::kDeviceFailed));
  EXPECT_TRUE(HasCode(step->drop(), ErrorCode::kStale));
  expect_items_tainted();
}

TEST_F(StepFailure, FailedKeyBuildingOfAViewTaintsEveryItem) {
  auto step = batch_.cache().begin(items_of(parts_));
  ASSERT_TRUE(IsOk(step));
  ItemRows open{*step, 0};
  batch_.engine().write_views(open, 3, parts_[0].tokens, false);
  write_item(batch_.cache(), *step, 2, parts_[2]);
  batch_.device.fail_next_launch();
  EXPECT_TRUE(HasCode(step->finish(keeps_of(parts_)), ErrorCode::kDeviceFailed));
  expect_items_tainted();
}

TEST_F(StepFailure, FailedWriteTaintsItsItemAlone) {
  auto step = batch_.cache().begin(items_of(parts_));
  ASSERT_TRUE(IsOk(step));
  std::array<float, 8> const source{};
  batch_.device.fail_next_launch();
  EXPECT_TRUE(HasCode(step->write(0, PlaneKind::kAttentionKv, 0, source.data(), 0, 1),
                      ErrorCode::kDeviceFailed));
  EXPECT_TRUE(tainted(0));
  EXPECT_FALSE(tainted(1));
  EXPECT_TRUE(HasCode(step->write(0, PlaneKind::kAttentionKv, 0, source.data(), 0, 1),
                      ErrorCode::kTainted));
  write_item(batch_.cache(), *step, 2, parts_[2]);
  Picture const before = picture_of(batch_.cache());
  Status const refused = step->finish(keeps_of(parts_));
  ASSERT_TRUE(HasCode(refused, ErrorCode::kTainted));
  EXPECT_EQ(refused.error().item, 0);
  EXPECT_EQ(picture_of(batch_.cache()), before);

  ASSERT_TRUE(IsOk(batch_.sequence(0).release()));
  parts_[0].keep = 0;
  ASSERT_TRUE(IsOk(step->finish(keeps_of(parts_))));
  note_kept({parts_[2]});
  batch_.expect_all();
  batch_.engine().expect(snapshot_, base_);
}

TEST_F(StepFailure, DropAfterAFailedWriteIsExactForTheOthers) {
  {
    auto step = batch_.cache().begin(items_of(parts_));
    ASSERT_TRUE(IsOk(step));
    std::array<float, 8> const source{};
    batch_.device.fail_next_launch();
    EXPECT_TRUE(HasCode(step->write(0, PlaneKind::kAttentionKv, 0, source.data(), 0, 1),
                        ErrorCode::kDeviceFailed));
  }
  EXPECT_TRUE(tainted(0));
  EXPECT_FALSE(tainted(1));
  batch_.engine().expect(batch_.sequence(1), batch_.history(1));
  ASSERT_TRUE(IsOk(batch_.sequence(0).release()));
  run_step(batch_.cache(), {batch_.append(2, make_tokens(1, 6)), parts_[2]});
  batch_.expect_all();
  ASSERT_TRUE(IsOk(snapshot_.drop()));
  batch_.expect_closes();
}

}  // namespace
}  // namespace holdfast::test
