// SPDX-License-Identifier: Apache-2.0
// Goal: a large cache costs memory where it is written, and all the rest of it looks as if nobody had
// written it. Method: a block of 256 MiB from the recorder, beside the resident pages of the process.
#include "models/recorder/poison.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "models/recorder/recorder.hpp"

namespace holdfast::test {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Poison, ALargeBlockCostsWhatIsWritten) {
  constexpr std::uint64_t kBytes = 4 * model::kMappedPoisonBytes + 4096 + 12;
  model::Recorder recorder{make_host_device()};
  std::uint64_t const before = resident_bytes();
  auto const memory = recorder.allocate(kBytes, MemoryKind::kDevice);
  ASSERT_TRUE(memory);
  EXPECT_LT(resident_bytes() - before, model::kMappedPoisonBytes);

  std::byte* const base = memory->base;
  std::byte const one{1};
  for (std::uint64_t const at : {std::uint64_t{0}, kBytes / 3, kBytes - 1}) {
    EXPECT_EQ(std::to_integer<int>(base[at]), model::kPoisonByte) << at;
    ASSERT_TRUE(recorder.host_write(base + at, &one, 1, Stream{}));
  }
  EXPECT_EQ(
      std::to_integer<int>(base[kBytes / 3 + (std::uint64_t{16} << 20U)]),
      model::kPoisonByte);  // the file of poison is mapped again and again, and nobody writes to it
  recorder.free(*memory);
  auto const again = recorder.allocate(kBytes, MemoryKind::kDevice);
  ASSERT_TRUE(again);
  for (std::uint64_t const at : {std::uint64_t{0}, kBytes / 3, kBytes - 1}) {
    EXPECT_EQ(std::to_integer<int>(again->base[at]), model::kPoisonByte) << at;
  }
  recorder.free(*again);
}

}  // namespace
}  // namespace holdfast::test
