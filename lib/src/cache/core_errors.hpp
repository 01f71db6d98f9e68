// SPDX-License-Identifier: Apache-2.0
// Errors that the core's files share.
#pragma once

#include <holdfast/result.hpp>

namespace holdfast::internal::cache {

[[nodiscard]] inline Error stale(char const* what) noexcept {
  return Error{.code = ErrorCode::kStale, .text = "is used up", .subject = what};
}

[[nodiscard]] inline Error invalid(char const* what,
                                   char const* text,
                                   std::int64_t got = 0,
                                   std::int64_t limit = 0) noexcept {
  return Error{.code = ErrorCode::kInvalidArgument,
               .text = text,
               .subject = what,
               .got = got,
               .limit = limit};
}

/// The error as that of one item of a step; an item below 0 is none.
[[nodiscard]] inline Error of_item(Error error, std::int64_t item) noexcept {
  error.item = static_cast<std::int32_t>(item);
  return error;
}

}  // namespace holdfast::internal::cache
