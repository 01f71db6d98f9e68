// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

constexpr Oracle kCrash = {"CRASH", "the engine's process lives until its input ends", nullptr};
constexpr Oracle kHang = {"HANG", "an answer comes in time", nullptr};
constexpr Oracle kMemory = {"MEMORY", "the process keeps within its memory", nullptr};
constexpr Oracle kProtocol = {
    "PROTOCOL", "an answer has the form that docs/PROTOCOL.md says", nullptr};

constexpr std::array<Oracle const*, 9> kAll = {&kRefusalOracle,
                                               &kPositionOracle,
                                               &kIntactOracle,
                                               &kSizeOracle,
                                               &kLogitsOracle,
                                               &kCrash,
                                               &kHang,
                                               &kMemory,
                                               &kProtocol};

}  // namespace

std::span<Oracle const* const> all_oracles() noexcept {
  return kAll;
}

char const* oracle_of(Ending ending) noexcept {
  switch (ending) {
    case Ending::kFine:
      return "";
    case Ending::kCrash:
      return kCrash.id;
    case Ending::kHang:
      return kHang.id;
    case Ending::kMemory:
      return kMemory.id;
    case Ending::kProtocol:
      return kProtocol.id;
  }
  return "";
}

}  // namespace holdfast::fuzz
