// SPDX-License-Identifier: Apache-2.0
// Texts of errors, and the stop at a broken contract.
#include <cstdlib>
#include <holdfast/result.hpp>

#include "base/contract.hpp"

namespace holdfast {

char const* name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "kInvalidArgument";
    case ErrorCode::kUnsupported:
      return "kUnsupported";
    case ErrorCode::kStale:
      return "kStale";
    case ErrorCode::kBusy:
      return "kBusy";
    case ErrorCode::kTooLong:
      return "kTooLong";
    case ErrorCode::kIncomplete:
      return "kIncomplete";
    case ErrorCode::kRefused:
      return "kRefused";
    case ErrorCode::kExhausted:
      return "kExhausted";
    case ErrorCode::kTainted:
      return "kTainted";
    case ErrorCode::kOutOfMemory:
      return "kOutOfMemory";
    case ErrorCode::kDeviceFailed:
      return "kDeviceFailed";
    case ErrorCode::kMiss:
      return "kMiss";
    case ErrorCode::kDamaged:
      return "kDamaged";
  }
  return "unknown";
}

std::string describe(Error const& error) {
  std::string line = name_of(error.code);
  line += ':';
  if (error.item >= 0) {
    line += " item " + std::to_string(error.item) + ',';
  }
  if (error.layer >= 0) {
    line += " layer " + std::to_string(error.layer) + ',';
  }
  if (error.subject[0] != '\0') {
    line += ' ';
    line += error.subject;
    line += ':';
  }
  line += ' ';
  line += error.text;
  if (error.got != 0 || error.limit != 0) {
    line += " (" + std::to_string(error.got) + " against " + std::to_string(error.limit) + ")";
  }
  return line;
}

[[gnu::weak]] void contract_failed(char const* /*condition*/, char const* /*file*/, int /*line*/) {
  std::abort();
}

}  // namespace holdfast
