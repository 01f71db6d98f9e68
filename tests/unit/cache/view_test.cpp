// SPDX-License-Identifier: Apache-2.0
// Goal: a view that is handed out counts as written, whatever the caller declares. Method: a ring
// of 6 rows whose oldest rows a view may have overwritten; what is resident afterwards must say so.
#include <gtest/gtest.h>

#include <holdfast/cache.hpp>

#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"

namespace holdfast::test {
namespace {

class ViewTest : public testing::Test {
 protected:
  ViewTest() {
    EXPECT_TRUE(IsOk(cache_));
    sequence_ = cache_->create_sequence();
    engine_.append(*sequence_, history_, make_tokens(9, 1));
  }

  std::unique_ptr<Device> device_ = make_host_device();
  Result<Cache> cache_ = Cache::create(latent_layout(), *device_);
  Result<Sequence> sequence_{Error{}};
  ToyEngine engine_{*cache_};
  History history_;
};

TEST_F(ViewTest, RowsThatARingViewGaveOutAreNoLongerResidentAfterADrop) {
  // Positions 3 to 8 are resident; pools are [4, 6) and [6, 8).
  EXPECT_TRUE(IsOk(sequence_->can_truncate(5)));
  auto append = sequence_->append(4);
  ASSERT_TRUE(IsOk(append));
  // Rows 9 to 12 lie where 3 to 6 did.
  ASSERT_TRUE(IsOk(append->rows(PlaneKind::kTailRing, 0, 0)));
  ASSERT_TRUE(IsOk(append->drop()));
  EXPECT_TRUE(HasCode(sequence_->can_truncate(5), ErrorCode::kRefused, "tail_ring"));
  EXPECT_TRUE(IsOk(sequence_->can_truncate(8)));
}

TEST_F(ViewTest, ADropThatGaveOutNoViewLosesNothing) {
  auto append = sequence_->append(4);
  ASSERT_TRUE(IsOk(append));
  ASSERT_TRUE(IsOk(append->drop()));
  EXPECT_TRUE(IsOk(sequence_->can_truncate(5)));
}

}  // namespace
}  // namespace holdfast::test
