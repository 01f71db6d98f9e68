// SPDX-License-Identifier: Apache-2.0
// Goal: the CUDA device keeps the promises of the seam.
// Method: each call, with sizes around those of the bounce buffers and of a block's work; what
// was moved is read back.
#include <array>
#include <cstring>

#include "tests/unit/cuda/cuda_test.hpp"
#include "tests/unit/cuda/order_scenarios.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20U;

std::vector<std::byte> pattern(std::uint64_t bytes, std::uint32_t seed) {
  Draw draw{seed};
  std::vector<std::byte> out(bytes);
  for (std::byte& byte : out) {
    byte = static_cast<std::byte>(draw.below(256));
  }
  return out;
}

class CudaDeviceTest : public CudaTest {
 protected:
  void TearDown() override {
    for (Memory const& memory : memories_) {
      device_->free(memory);
    }
  }
  std::byte* take(std::uint64_t bytes, MemoryKind kind = MemoryKind::kDevice) {
    auto memory = device_->allocate(bytes, kind);
    EXPECT_TRUE(IsOk(memory));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->base) % 256, 0U);
    memories_.push_back(*memory);
    return memory->base;
  }

 private:
  std::vector<Memory> memories_;
};

TEST_F(CudaDeviceTest, HostWritesAndReadsOfAnySize) {
  std::byte* const memory = take(5 * kMebi);
  std::uint32_t seed = 0;
  for (std::uint64_t const bytes : {std::uint64_t{0},
                                    std::uint64_t{1},
                                    std::uint64_t{4097},
                                    kMebi - 1,
                                    kMebi,
                                    kMebi + 1,
                                    2 * kMebi,
                                    3 * kMebi + 5,
                                    5 * kMebi}) {
    auto const wanted = pattern(bytes, ++seed);
    {
      auto source = wanted;
      ASSERT_TRUE(IsOk(device_->host_write(memory, source.data(), bytes, Stream{1})));
      std::fill(source.begin(), source.end(), std::byte{0});  // it may be used again at once
    }
    EXPECT_EQ(read(memory, bytes, Stream{1}), wanted) << bytes;
  }
}

TEST_F(CudaDeviceTest, CopiesManySegmentsOfAnyAlignment) {
  constexpr std::uint64_t kRoom = 40000;
  constexpr std::uint32_t kSegments = 250;  // more than one launch takes
  std::byte* const from = take(kSegments * kRoom);
  std::byte* const to = take(kSegments * kRoom);
  auto const source = pattern(kSegments * kRoom, 1);
  std::vector<std::byte> wanted(source.size(), std::byte{0x5a});
  ASSERT_TRUE(IsOk(device_->host_write(from, source.data(), source.size(), {})));
  FillSegment const fill{.destination = to, .bytes = wanted.size(), .value = std::byte{0x5a}};
  ASSERT_TRUE(IsOk(device_->fill({&fill, 1}, {})));
  Draw draw{2};
  std::vector<CopySegment> segments;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    std::uint64_t const source_at = i * kRoom + draw.below(33);
    std::uint64_t const at = i * kRoom + draw.one_of({0U, 1U, 4U, 16U, 17U});
    std::uint64_t const bytes = draw.one_of({0U, 1U, 15U, 16U, 1000U, 16384U, 16385U, 39000U});
    segments.push_back({.destination = to + at, .source = from + source_at, .bytes = bytes});
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(source_at),
                bytes,
                wanted.begin() + static_cast<std::ptrdiff_t>(at));
  }
  ASSERT_TRUE(IsOk(device_->copy(segments, {})));
  EXPECT_EQ(read(to, wanted.size()), wanted);
  ASSERT_TRUE(IsOk(device_->copy({segments.data(), 1}, {})));  // one goes another way
  EXPECT_EQ(read(to, wanted.size()), wanted);
}

TEST_F(CudaDeviceTest, StreamsWaitForEachOthersEvents) {
  constexpr std::uint64_t kBytes = 64 * kMebi;
  std::byte* const memory = take(kBytes);
  std::byte* const other = take(kBytes);
  for (std::uint32_t i = 0; i < 40; ++i) {  // more than a stream keeps events for
    FillSegment const fill{
        .destination = memory, .bytes = kBytes, .value = static_cast<std::byte>(i)};
    ASSERT_TRUE(IsOk(device_->fill({&fill, 1}, Stream{1})));
    auto const filled = device_->record(Stream{1});
    ASSERT_TRUE(IsOk(filled));
    ASSERT_TRUE(IsOk(device_->wait(Stream{2}, *filled)));
    CopySegment const copy{.destination = other, .source = memory, .bytes = kBytes};
    ASSERT_TRUE(IsOk(device_->copy({&copy, 1}, Stream{2})));
    auto const copied = device_->record(Stream{2});
    ASSERT_TRUE(IsOk(copied));
    ASSERT_TRUE(IsOk(device_->wait(Stream{1}, *copied)));
    ASSERT_TRUE(IsOk(device_->await(*copied)));
    auto const done = device_->is_done(*copied);
    ASSERT_TRUE(IsOk(done));
    EXPECT_TRUE(*done);
    auto const last = read(other + kBytes - 1, 1, Stream{3});
    EXPECT_EQ(last.front(), static_cast<std::byte>(i));
  }
}

using CudaOrderTest = CudaTest;

TEST_F(CudaOrderTest, WorkWaitsForWhatItMustWaitFor) {
  OrderScenario scenario{*device_};
  EXPECT_TRUE(scenario.kernels_follow_their_stream());
  EXPECT_TRUE(scenario.streams_wait_for_events());
  EXPECT_TRUE(scenario.bounce_buffers_are_waited_for());
}

TEST_F(CudaDeviceTest, PinnedMemoryIsReadByTheDevice) {
  std::byte* const pinned = take(4096, MemoryKind::kPinned);
  auto const wanted = pattern(4096, 3);
  std::memcpy(pinned, wanted.data(), wanted.size());
  std::byte* const memory = take(4096);
  CopySegment const halves[] = {{memory, pinned, 2048}, {memory + 2048, pinned + 2048, 2048}};
  ASSERT_TRUE(IsOk(device_->copy(halves, {})));
  EXPECT_EQ(read(memory, 4096), wanted);
}

TEST_F(CudaDeviceTest, AnAdoptedStreamIsTheCallersOwn) {
  auto const native = device_->native_stream(Stream{1});
  ASSERT_TRUE(IsOk(native));
  auto other = make_cuda_device(0);  // gone before the owner of the stream is
  ASSERT_TRUE(IsOk(other));
  ASSERT_TRUE(IsOk((*other)->adopt_stream(Stream{7}, *native)));
  auto const same = (*other)->native_stream(Stream{7});
  ASSERT_TRUE(IsOk(same));
  EXPECT_EQ(*same, *native);
  auto const again = (*other)->adopt_stream(Stream{7}, *native);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInvalidArgument);
}

void nothing(void const* /*parameters*/) noexcept {}
void declare_nothing(void const* /*parameters*/, AccessSink& /*sink*/) noexcept {}

TEST_F(CudaDeviceTest, AKernelWithoutDeviceCodeIsNamed) {
  Kernel const unknown{"test.unknown", 4, &declare_nothing, &nothing};
  std::uint32_t const parameters = 0;
  Status const launched = device_->launch(unknown, &parameters, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::kUnsupported);
  EXPECT_STREQ(launched.error().subject, "test.unknown");
}

int refuse(void const* /*parameters*/, CudaQueue const& /*queue*/) noexcept {
  return 1;  // cudaErrorInvalidValue
}

TEST_F(CudaDeviceTest, AnErrorSaysTheCallAndCudasWords) {
  Kernel const refused{"test.refused", 4, &declare_nothing, &nothing};
  CudaKernel const code{&refused, &refuse};
  auto device = make_cuda_device(0, {&code, 1});
  ASSERT_TRUE(IsOk(device));
  std::uint32_t const parameters = 0;
  Status const launched = (*device)->launch(refused, &parameters, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::kDeviceFailed);
  EXPECT_STREQ(launched.error().subject, "test.refused");
  EXPECT_STREQ(launched.error().text, "invalid argument");
  EXPECT_EQ(launched.error().got, 1);
  EXPECT_TRUE(IsOk((*device)->synchronize({}))) << "the device goes on";
}

TEST_F(CudaDeviceTest, TooMuchMemoryIsRefusedAndNothingChanges) {
  auto const huge = device_->allocate(std::uint64_t{1} << 50U, MemoryKind::kDevice);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kOutOfMemory);
  std::byte* const memory = take(16);
  EXPECT_TRUE(IsOk(device_->host_write(memory, "0123456789abcdef", 16, {})));
}

TEST(CudaDeviceWithout, AnOrdinalThatIsNotThereIsAnError) {
  auto const count = cuda_device_count();
  auto const device = make_cuda_device(count ? *count : 0);
  ASSERT_FALSE(device);
  EXPECT_STRNE(device.error().text, "");
}

int lose(void const* /*parameters*/, CudaQueue const& /*queue*/) noexcept {
  return 700;  // cudaErrorIllegalAddress, as work that came before would have caused it
}

TEST_F(CudaDeviceTest, AnErrorThatEndsTheContextIsToldOnce) {
  Kernel const lost{"test.lost", 4, &declare_nothing, &nothing};
  CudaKernel const code{&lost, &lose};
  auto device = make_cuda_device(0, {&code, 1});
  ASSERT_TRUE(IsOk(device));
  std::uint32_t const parameters = 0;
  Status const first = (*device)->launch(lost, &parameters, {});
  ASSERT_FALSE(first);
  EXPECT_STREQ(first.error().text, "an illegal memory access was encountered");
  Status const second = (*device)->synchronize({});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kDeviceFailed);
  EXPECT_STREQ(second.error().text, "an earlier error, which was told then, has ended its context");
}

}  // namespace
}  // namespace holdfast::test
