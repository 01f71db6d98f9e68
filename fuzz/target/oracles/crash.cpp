// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_crash(OracleLook const& look) {
  return told_of(look, Ending::kCrash);
}

}  // namespace

Oracle const kCrashOracle = {
    "CRASH", "the engine's process lives until its input ends", check_crash};

}  // namespace holdfast::fuzz
