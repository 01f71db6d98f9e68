// SPDX-License-Identifier: Apache-2.0
// Goal: the host device keeps the promises of the seam.
// Method: each call once, on memory that the test reads directly.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <holdfast/device.hpp>
#include <memory>

#include "tests/support/status.hpp"

namespace holdfast::test {
namespace {

struct AddParameters {
  std::uint32_t* cell;
  std::uint32_t amount;
};

void declare_add(void const* raw, AccessSink& sink) noexcept {
  auto const& parameters = *static_cast<AddParameters const*>(raw);
  sink.read(parameters.cell, sizeof(std::uint32_t));
  sink.write(parameters.cell, sizeof(std::uint32_t));
}

void add(void const* raw) noexcept {
  auto const& parameters = *static_cast<AddParameters const*>(raw);
  *parameters.cell += parameters.amount;
}

Kernel const kAddKernel{"test.add", sizeof(AddParameters), &declare_add, &add};

class HostDeviceTest : public testing::Test {
 protected:
  Memory allocate(std::uint64_t bytes) {
    auto memory = device_->allocate(bytes, MemoryKind::kDevice);
    EXPECT_TRUE(IsOk(memory));
    return memory ? *memory : Memory{};
  }

  std::unique_ptr<Device> device_ = make_host_device();
};

TEST_F(HostDeviceTest, AllocationIsAlignedTo256Bytes) {
  for (std::uint64_t const bytes : {0ULL, 1ULL, 255ULL, 257ULL, 4096ULL}) {
    Memory const memory = allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.base) % 256, 0U);
    EXPECT_EQ(memory.bytes, bytes);
    EXPECT_EQ(memory.kind, MemoryKind::kDevice);
    device_->free(memory);
  }
}

TEST_F(HostDeviceTest, ImpossibleAllocationIsOutOfMemory) {
  EXPECT_TRUE(HasCode(device_->allocate(UINT64_MAX, MemoryKind::kPinned), ErrorCode::kOutOfMemory));
}

TEST_F(HostDeviceTest, FillCopyAndReadMoveExactlyTheirBytes) {
  Memory const memory = allocate(64);
  std::array<FillSegment, 2> const fills = {
      {{.destination = memory.base, .bytes = 64, .value = std::byte{1}},
       {.destination = memory.base + 8, .bytes = 8, .value = std::byte{2}}}};
  ASSERT_TRUE(IsOk(device_->fill(fills, {})));
  CopySegment const copy{.destination = memory.base + 32, .source = memory.base + 8, .bytes = 8};
  ASSERT_TRUE(IsOk(device_->copy({&copy, 1}, {})));
  std::array<std::uint8_t, 64> found{};
  ASSERT_TRUE(IsOk(device_->host_read(found.data(), memory.base, found.size(), {})));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], (i >= 8 && i < 16) || (i >= 32 && i < 40) ? 2 : 1) << i;
  }
  device_->free(memory);
}

TEST_F(HostDeviceTest, HostWriteIsSeenByHostRead) {
  Memory const memory = allocate(4);
  std::uint32_t const wanted = 0xdecafbad;
  std::uint32_t found = 0;
  ASSERT_TRUE(IsOk(device_->host_write(memory.base, &wanted, sizeof wanted, {})));
  ASSERT_TRUE(IsOk(device_->host_read(&found, memory.base, sizeof found, {})));
  EXPECT_EQ(found, wanted);
  device_->free(memory);
}

TEST_F(HostDeviceTest, LaunchRunsTheHostTwinInStreamOrder) {
  std::uint32_t cell = 1;
  AddParameters parameters{.cell = &cell, .amount = 2};
  ASSERT_TRUE(IsOk(device_->launch(kAddKernel, &parameters, {})));
  parameters.amount = 10;
  ASSERT_TRUE(IsOk(device_->launch(kAddKernel, &parameters, {})));
  auto const event = device_->record({});
  ASSERT_TRUE(IsOk(event));
  EXPECT_TRUE(IsOk(device_->wait(Stream{1}, *event)));
  EXPECT_TRUE(IsOk(device_->synchronize({})));
  EXPECT_EQ(cell, 13U);
}

}  // namespace
}  // namespace holdfast::test
