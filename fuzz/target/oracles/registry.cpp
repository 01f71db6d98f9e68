// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

constexpr std::array<Oracle const*, 9> kAll = {&kProtocolOracle,
                                               &kRefusalOracle,
                                               &kPositionOracle,
                                               &kIntactOracle,
                                               &kSizeOracle,
                                               &kLogitsOracle,
                                               &kCrashOracle,
                                               &kHangOracle,
                                               &kMemoryOracle};

}  // namespace

std::span<Oracle const* const> all_oracles() noexcept {
  return kAll;
}

}  // namespace holdfast::fuzz
