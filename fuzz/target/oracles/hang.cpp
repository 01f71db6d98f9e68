// SPDX-License-Identifier: Apache-2.0
#include "fuzz/target/oracles/oracle.hpp"

namespace holdfast::fuzz {
namespace {

std::optional<std::string> check_hang(OracleLook const& look) {
  return told_of(look, Ending::kHang);
}

}  // namespace

Oracle const kHangOracle = {"HANG", "an answer comes in time", check_hang};

}  // namespace holdfast::fuzz
