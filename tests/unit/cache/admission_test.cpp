// SPDX-License-Identifier: Apache-2.0
// Goal: who asks first gets the answer that the call would give. Method: a device that counts bytes beside
// bytes_needed; can_begin beside begin in every kind of refusal, and nothing changed by asking.
#include <gtest/gtest.h>

#include <holdfast/cache.hpp>

#include "models/forwarding_device.hpp"
#include "tests/support/layouts.hpp"
#include "tests/support/picture.hpp"
#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"

namespace holdfast::test {
namespace {

/// Host memory that adds up what it hands out.
class CountingDevice final : public model::ForwardingDevice {
 public:
  CountingDevice() : ForwardingDevice{make_host_device()} {}

  std::uint64_t device = 0;
  std::uint64_t pinned = 0;

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    (kind == MemoryKind::kDevice ? device : pinned) += bytes;
    return inner().allocate(bytes, kind);
  }
};

TEST(BytesNeeded, AreWhatCreateTakes) {
  for (Layout const& layout : {attention_layout(), latent_layout(), hybrid_layout()}) {
    CountingDevice device;
    auto const needed = bytes_needed(layout);
    ASSERT_TRUE(IsOk(needed));
    ASSERT_TRUE(IsOk(Cache::create(layout, device)));
    EXPECT_EQ(needed->device, device.device);
    EXPECT_EQ(needed->pinned, device.pinned);
    EXPECT_GT(needed->per_page, 0U) << "an addressed plane is never free of charge";
  }
}

TEST(BytesNeeded, GrowByAPageAndASlot) {
  Layout layout = hybrid_layout();
  layout.capacity.pages = 64;
  layout.capacity.ring_pages = 64;
  layout.capacity.slots = 64;
  auto const small = bytes_needed(layout);
  ASSERT_TRUE(IsOk(small));
  constexpr std::uint32_t kMore = 256;  // so that the arenas' alignment cancels out
  layout.capacity.pages += kMore;
  layout.capacity.ring_pages += kMore;
  layout.capacity.slots += kMore;
  auto const large = bytes_needed(layout);
  ASSERT_TRUE(IsOk(large));
  EXPECT_EQ(large->device - small->device, kMore * (small->per_page + small->per_slot));
}

TEST(BytesNeeded, RefuseWhatValidateRefuses) {
  Layout layout = hybrid_layout();
  layout.capacity.tokens = 0;
  EXPECT_TRUE(HasCode(bytes_needed(layout), ErrorCode::kInvalidArgument, "capacity.tokens"));
}

class CanBegin : public testing::Test {
 protected:
  CanBegin() {
    Layout layout = hybrid_layout();
    layout.capacity.pages = 4;
    cache_ = Cache::create(layout, *device_);
    EXPECT_TRUE(IsOk(cache_));
    for (auto& sequence : sequences_) {
      sequence = cache_->create_sequence();
      EXPECT_TRUE(IsOk(sequence));
    }
  }

  /// Both answer alike, and asking changes nothing.
  void expect_alike(std::vector<StepItem> const& items) {
    Picture const before = picture_of(*cache_);
    Status const asked = cache_->can_begin(items);
    EXPECT_EQ(picture_of(*cache_), before);
    auto const step = cache_->begin(items);
    ASSERT_EQ(asked.has_value(), step.has_value());
    if (!asked) {
      EXPECT_EQ(asked.error().code, step.error().code);
      EXPECT_EQ(asked.error().item, step.error().item);
      EXPECT_STREQ(asked.error().subject, step.error().subject);
      EXPECT_EQ(asked.error().got, step.error().got);
      EXPECT_EQ(asked.error().limit, step.error().limit);
    }
  }
  StepItem append(std::uint32_t which, std::uint32_t rows) {
    return {.sequence = &*sequences_[which], .kind = StepKind::kAppend, .rows = rows};
  }

  std::unique_ptr<Device> device_ = make_host_device();
  Result<Cache> cache_{Error{}};
  Result<Sequence> sequences_[2] = {Error{}, Error{}};
};

TEST_F(CanBegin, SaysWhatBeginSays) {
  expect_alike({append(0, 3), append(1, 2)});
  expect_alike({append(0, 0)});
  expect_alike({append(0, 41)});
  expect_alike({append(0, 1), append(0, 1)});
  expect_alike({append(0, 4), append(1, 6)});  // five pages of four
  expect_alike({});
  expect_alike({{.sequence = &*sequences_[0], .kind = StepKind::kPad, .rows = 1}});
  ASSERT_TRUE(IsOk(sequences_[1]->release()));
  expect_alike({append(0, 1), append(1, 1)});
}

TEST_F(CanBegin, NamesWhatIsLacking) {
  Status const asked = cache_->can_begin(std::vector<StepItem>{append(0, 4), append(1, 6)});
  ASSERT_TRUE(HasCode(asked, ErrorCode::kExhausted, "attention_kv"));
  EXPECT_EQ(asked.error().item, 1);
  EXPECT_EQ(asked.error().got, 5);
  EXPECT_EQ(asked.error().limit, 4);
}

TEST_F(CanBegin, IsStaleOnAClosedCache) {
  EXPECT_TRUE(
      HasCode(Cache{}.can_begin(std::vector<StepItem>{{.rows = 1}}), ErrorCode::kStale, "cache"));
}

}  // namespace
}  // namespace holdfast::test
