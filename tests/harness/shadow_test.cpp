// SPDX-License-Identifier: Apache-2.0
// Goal: a shadow on devices that do what the host does is equal to it, and what a device does
// otherwise is found at once. Method: host devices in place of CUDA devices; then devices that
// forget a launch, or change a byte.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "fuzz/runner.hpp"
#include "tests/support/wrapping_device.hpp"

namespace holdfast::fuzz {
namespace {

/// Runs programs until one fails; its verdict, or "".
std::string first_failure(std::string const& geometry,
                          model::ShadowPool& pool,
                          std::uint32_t programs) {
  Runner runner{model::load_geometry(geometry),
                {.device = {.is_cuda = true}, .shadow_pool = &pool}};
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    ProgramResult const result = runner.run_seed(seed);
    if (result.failure) {
      invariant::Violation const& first = result.failure->violations.front();
      return std::string{first.id} + ": " + first.text;
    }
  }
  return "";
}

TEST(Shadow, IsEqualOnDevicesThatDoTheSame) {
  for (char const* const geometry :
       {"tiny", "tiny-draft", "tiny-held", "tiny-ranks", "tiny-tight"}) {
    model::ShadowPool pool{[](std::uint32_t) { return make_host_device(); }};
    EXPECT_EQ(first_failure(geometry, pool, 40), "") << geometry;
  }
}

/// Does one launch of a kernel otherwise.
class FaultyDevice final : public test::WrappingDevice {
 public:
  /// When it runs the kernel, it spoils the byte that lies so far before the end of the memory.
  FaultyDevice(std::string kernel, bool runs, std::uint64_t behind = 1)
      : kernel_{std::move(kernel)}, runs_{runs}, behind_{behind} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    auto memory = WrappingDevice::allocate(bytes, kind);
    if (memory && kind == MemoryKind::kDevice) {
      last_ = memory->base + bytes - behind_;
    }
    return memory;
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    if (kernel_ != kernel.name || ++launches_ % 7 != 0) {
      return WrappingDevice::launch(kernel, parameters, stream);
    }
    Status const launched = runs_ ? WrappingDevice::launch(kernel, parameters, stream) : Status{};
    if (runs_) {
      *last_ ^= std::byte{1};
    }
    return launched;
  }

 private:
  std::string kernel_;
  bool runs_;
  std::uint64_t behind_;
  std::byte* last_ = nullptr;
  std::uint32_t launches_ = 0;
};

TEST(Shadow, FindsALaunchThatWasForgotten) {
  for (char const* const kernel :
       {"holdfast.step", "holdfast.write_rows", "holdfast.write_indexer"}) {
    model::ShadowPool pool{
        [&](std::uint32_t) { return std::make_unique<FaultyDevice>(kernel, false); }};
    std::string const found = first_failure("tiny", pool, 40);
    EXPECT_EQ(found.rfind("CUDA: ", 0), 0U) << kernel << ": " << found;
  }
}

TEST(Shadow, FindsAByteThatNobodyCanSee) {
  model::ShadowPool pool{
      [&](std::uint32_t) { return std::make_unique<FaultyDevice>("holdfast.step", true, 257); }};
  std::string const found = first_failure("tiny", pool, 40);
  EXPECT_EQ(found.rfind("CUDA: ", 0), 0U) << found;
  EXPECT_NE(found.find("on the CUDA device"), std::string::npos) << found;
}

TEST(Shadow, FindsAByteBehindAnAllocation) {
  model::ShadowPool pool{
      [&](std::uint32_t) { return std::make_unique<FaultyDevice>("holdfast.step", true); }};
  EXPECT_EQ(first_failure("tiny", pool, 40),
            "CUDA: device 0: memory before or after an allocation was written");
}

}  // namespace
}  // namespace holdfast::fuzz
