// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_memory(OracleLook const& look) {
  return look.trouble.ending == Ending::kMemory ? std::optional{look.trouble.text} : std::nullopt;
}

}  // namespace

Oracle const kMemoryOracle = {"MEMORY", "the process keeps within its memory", check_memory};

}  // namespace holdfast::fuzz
