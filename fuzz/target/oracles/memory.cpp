// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_memory(OracleLook const& look) {
  return told_of(look, Ending::kMemory);
}

}  // namespace

Oracle const kMemoryOracle = {"MEMORY", "the process keeps within its memory", check_memory};

}  // namespace holdfast::fuzz
