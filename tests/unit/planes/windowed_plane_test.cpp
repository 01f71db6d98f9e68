// SPDX-License-Identifier: Apache-2.0
// Goal: a windowed plane with an absolute table keeps the rows that lengths need, gives back the pages
// below them, and refuses what needs a row that is gone.
// Method: drives one such plane by hand: a length needs its last 4 rows, two more stay; pages of 2 rows.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <memory>
#include <vector>

#include "planes/windowed_plane_impl.hpp"
#include "tests/support/status.hpp"
#include "tests/unit/one_rank.hpp"

namespace holdfast::test {
namespace {

using internal::planes::Closing;
using internal::planes::LoadKind;
using internal::planes::Opening;
using internal::planes::WindowedPlane;
using internal::storage::ClassPlan;
using internal::storage::Owner;
using internal::storage::Plan;
using internal::storage::StepWork;

constexpr std::uint32_t kSlack = 2;

/// A length needs its last window_rows rows.
struct LastRows {
  static constexpr bool kWraps = false;
  std::uint32_t rows = 1;
  LastRows() noexcept = default;
  LastRows(ClassPlan const& known, std::uint32_t /*largest_round*/) noexcept
      : rows{known.window_rows} {}
  [[nodiscard]] std::uint32_t first_needed(std::uint32_t length) const noexcept {
    return length - std::min(length, rows);
  }
  [[nodiscard]] std::uint32_t first_left(Closing const& closing) const noexcept {
    std::uint32_t const length = closing.opening.base + closing.keep;
    return length - std::min(length, rows + kSlack);
  }
  [[nodiscard]] std::uint32_t place(std::uint32_t row) const noexcept { return row; }
  [[nodiscard]] std::uint32_t lap(std::uint32_t /*row*/) const noexcept { return 0; }
  [[nodiscard]] std::uint64_t span() const noexcept { return UINT32_MAX; }
  [[nodiscard]] std::uint32_t last_at(std::uint32_t place, std::uint32_t /*n*/) const noexcept {
    return place;
  }
  [[nodiscard]] std::uint32_t view_limit(std::uint32_t /*n*/) const noexcept { return UINT32_MAX; }
  [[nodiscard]] static std::uint32_t held_pages(ClassPlan const& /*known*/) noexcept { return 3; }
};

constexpr internal::storage::StepLimits kLimits{
    .planes = 1, .copies = 8, .patches = 32, .columns = 1, .mirrors = 1, .runs = 1};
constexpr std::uint32_t kPageRows = 2;
constexpr std::uint32_t kEntries = 16;
constexpr std::uint32_t kStale = 77;  // what a device table names before anybody tells it

constexpr Owner owner(std::uint32_t index) {
  return {.index = index, .mark = (std::uint64_t{1} << 32U) | index};
}

class WindowedPlaneTest : public testing::Test {
 protected:
  WindowedPlaneTest() {
    ClassPlan& known = plan_.classes[0];
    known = {};
    known.layer_count = known.unit_tokens = 1;
    known.row_elements = 1;
    add_strip(known.strips, 1, Format::kF32, kPageRows);
    known.page_rows = kPageRows;
    known.window_rows = 4;
    known.entries = kEntries;
    known.pages = 41;
    known.page_bytes = known.strips.layer_bytes;
    plan_.class_count = 1;
    plan_.sequence_limit = 3;
    plan_.snapshot_limit = 4;
    pages_.resize(std::size_t{known.pages} * kPageRows);
    device_table_.resize(std::size_t{plan_.sequence_limit} * kEntries, kStale);
    auto* const base = reinterpret_cast<std::byte*>(pages_.data());
    EXPECT_TRUE(plane_.create(plan_, 0, {.pages = base, .device_table = device_table_.data()}));
    attach_one_rank(step_, kLimits, *device_, block_, device_table_.data());
    step_.set_strips(0,
                     0,
                     {.base = base,
                      .page_bytes = known.page_bytes,
                      .runs = internal::storage::runs_of(known.strips, known.layer_count)});
    free_at_first_ = plane_.available();
  }
  ~WindowedPlaneTest() override { EXPECT_TRUE(plane_.audit()); }

  void run(Owner who, Opening const& opening, std::uint32_t keep, float value = 0) {
    std::uint32_t const needed = plane_.need(who, opening);
    std::uint32_t const before = plane_.available();
    EXPECT_TRUE(step_.begin());
    plane_.open(who, opening, step_);
    EXPECT_EQ(before - plane_.available(), needed) << "need is exact";
    ASSERT_TRUE(IsOk(step_.launch({})));
    for (std::uint32_t row = opening.base; row < opening.base + opening.rows; ++row) {
      cell({HolderKind::kSequence, who.index}, row) = static_cast<float>(row) + value;
    }
    EXPECT_TRUE(step_.begin());
    plane_.close(who,
                 {.opening = opening,
                  .keep = keep,
                  .reached = opening.base + opening.rows,
                  .written = opening.rows},
                 step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
    check(who.index);
  }
  void append(Owner who, std::uint32_t base, std::uint32_t rows, float value = 0) {
    run(who, {.base = base, .rows = rows, .round = false}, rows, value);
  }
  void load(std::uint32_t snapshot, Owner who, LoadKind kind) {
    EXPECT_TRUE(step_.begin());
    plane_.load(snapshot, who, kind, step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
    check(who.index);
  }
  void truncate(Owner who, std::uint32_t length) {
    EXPECT_TRUE(step_.begin());
    plane_.truncate(who, length, step_);
    ASSERT_TRUE(IsOk(step_.launch({})));
    check(who.index);
  }
  /// The device's table is the host's, and entries below the resident rows name page 0.
  void check(std::uint32_t index) {
    PlaneState const known = state(index);
    EXPECT_EQ(known.pages, (known.length + 1) / kPageRows);
    for (std::uint32_t entry = 0; entry < known.pages; ++entry) {
      std::uint32_t const page = plane_.page_at({HolderKind::kSequence, index}, entry);
      EXPECT_EQ(plane_.device_table(index)[entry], page) << "entry " << entry;
      EXPECT_EQ(page == 0, (entry + 1) * kPageRows <= known.lo) << "entry " << entry;
    }
  }
  float& cell(Holder holder, std::uint32_t row) {
    std::uint32_t const page = plane_.page_at(holder, row / kPageRows);
    EXPECT_NE(page, 0U) << "row " << row;
    return pages_[std::size_t{page} * kPageRows + row % kPageRows];
  }
  PlaneState state(std::uint32_t index) const {
    return plane_.state({HolderKind::kSequence, index});
  }
  std::uint32_t taken() const { return free_at_first_ - plane_.available(); }

  Plan plan_;
  std::vector<float> pages_;
  std::vector<std::uint32_t> device_table_;
  std::vector<std::max_align_t> block_;
  std::unique_ptr<Device> device_ = make_host_device();
  WindowedPlane<LastRows> plane_;
  StepWork step_;
  std::uint32_t free_at_first_ = 0;
};

TEST_F(WindowedPlaneTest, PagesBelowTheWindowAreGivenBack) {
  append(owner(1), 0, 13);
  EXPECT_EQ(state(1).lo, 7U);
  EXPECT_EQ(taken(), 4U) << "rows 7 to 12 lie in pages 3 to 6";
  append(owner(1), 13, 1);
  EXPECT_EQ(taken(), 3U);
}

TEST_F(WindowedPlaneTest, ShortensByTheSlackAndNotFurther) {
  append(owner(1), 0, 13);
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 11)));
  EXPECT_TRUE(HasCode(plane_.can_truncate(1, 10), ErrorCode::kRefused));
  EXPECT_EQ(plane_.can_truncate(1, 10).error().limit, 7);
  EXPECT_TRUE(IsOk(plane_.can_truncate(1, 0))) << "an empty sequence needs nothing";
  truncate(owner(1), 11);
  EXPECT_EQ(state(1).lo, 7U);
  EXPECT_EQ(taken(), 3U) << "the page above goes at once";
  truncate(owner(1), 0);
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WindowedPlaneTest, DroppedRowsLeaveItAsItWas) {
  append(owner(1), 0, 9);
  PlaneState const before = state(1);
  run(owner(1), {.base = 9, .rows = 6, .round = true}, 0);
  EXPECT_EQ(state(1), before);
  run(owner(1), {.base = 9, .rows = 6, .round = true}, 2);
  EXPECT_EQ(state(1).lo, 5U);
}

TEST_F(WindowedPlaneTest, SnapshotHoldsThePagesOfTheRowsThatItNeeds) {
  append(owner(1), 0, 9);
  plane_.hold(1, 1);
  PlaneState const held = plane_.state({HolderKind::kSnapshot, 1});
  EXPECT_EQ(held.lo, 5U);
  EXPECT_EQ(held.pages, 5U);
  for (std::uint32_t entry = 0; entry < 5; ++entry) {
    bool const needed = entry >= 2;
    EXPECT_EQ(plane_.page_at({HolderKind::kSnapshot, 1}, entry) != 0, needed) << entry;
  }
  append(owner(1), 9, 12, 100);
  load(1, owner(2), LoadKind::kFork);
  for (std::uint32_t row = 5; row < 9; ++row) {
    EXPECT_EQ(cell({HolderKind::kSequence, 2}, row), static_cast<float>(row));
  }
  EXPECT_EQ(state(2).lo, 5U);
  append(owner(2), 9, 1, 200);
  EXPECT_EQ(cell({HolderKind::kSnapshot, 1}, 8), 8.0F);
  load(1, owner(1), LoadKind::kRollback);
  plane_.drop(1);
  plane_.release(owner(1));
  plane_.release(owner(2));
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WindowedPlaneTest, SharedPageIsCopiedBeforeItIsWritten) {
  append(owner(1), 0, 5);
  plane_.hold(1, 1);
  load(1, owner(2), LoadKind::kFork);
  append(owner(2), 5, 1, 100);
  EXPECT_EQ(cell({HolderKind::kSequence, 2}, 4), 4.0F) << "the copy has the row before";
  EXPECT_EQ(cell({HolderKind::kSequence, 2}, 5), 105.0F);
  append(owner(1), 5, 1, 200);
  EXPECT_EQ(cell({HolderKind::kSequence, 1}, 5), 205.0F);
  EXPECT_EQ(cell({HolderKind::kSequence, 2}, 5), 105.0F);
}

TEST_F(WindowedPlaneTest, EntryIsUsableWhereItsRowsSuffice) {
  append(owner(1), 0, 9);
  plane_.hold(1, 1);
  plane_.capture(1, 3);
  EXPECT_TRUE(IsOk(plane_.can_restore(3, 9)));
  EXPECT_TRUE(HasCode(plane_.can_restore(3, 8), ErrorCode::kRefused));
  EXPECT_EQ(plane_.can_restore(3, 8).error().limit, 0);
  EXPECT_TRUE(IsOk(plane_.can_restore(3, 0)));
  EXPECT_TRUE(step_.begin());
  plane_.restore(3, owner(2), 9, step_);
  ASSERT_TRUE(IsOk(step_.launch({})));
  check(2);
  EXPECT_EQ(cell({HolderKind::kSequence, 2}, 5), 5.0F);
}

TEST_F(WindowedPlaneTest, EntryComesBackFromItsBytes) {
  append(owner(1), 0, 9);
  plane_.hold(1, 1);
  struct Sink final : internal::planes::PieceSink {
    std::vector<float> rows;
    void piece(std::byte* base, std::uint64_t bytes) noexcept override {
      auto const* const first = reinterpret_cast<float const*>(base);
      rows.insert(rows.end(), first, first + bytes / sizeof(float));
    }
  };
  Sink sink;
  plane_.serialize(1, 0, sink);
  EXPECT_EQ(sink.rows, (std::vector<float>{5, 6, 7, 8}));
  auto const shape = WindowedPlane<LastRows>::entry_shape(plan_.classes[0], 9);
  EXPECT_EQ(shape.rows, 4U);
  EXPECT_EQ(shape.pages, 3U);
  std::uint32_t const before = plane_.available();
  plane_.deserialize(3, 9);
  EXPECT_EQ(before - plane_.available(), shape.pages);
  plane_.drop(3);
}

}  // namespace
}  // namespace holdfast::test
