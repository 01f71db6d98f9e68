// SPDX-License-Identifier: Apache-2.0
// What tests say about a Result: EXPECT_TRUE(IsOk(r)), EXPECT_TRUE(HasCode(r, code, subject)).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <holdfast/result.hpp>
#include <string_view>

namespace holdfast::test {

// NOLINTBEGIN(readability-identifier-naming): these read as matchers

/// Passes for a success; says the error otherwise.
template <typename T>
[[nodiscard]] testing::AssertionResult IsOk(Result<T> const& result) {
  if (result) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << describe(result.error());
}

/// Passes for an error with this code.
template <typename T>
[[nodiscard]] testing::AssertionResult HasCode(Result<T> const& result, ErrorCode code) {
  if (result) {
    return testing::AssertionFailure() << "succeeded, expected " << name_of(code);
  }
  if (result.error().code != code) {
    return testing::AssertionFailure()
           << describe(result.error()) << ", expected " << name_of(code);
  }
  return testing::AssertionSuccess();
}

/// Passes for an error with this code that names this subject.
template <typename T>
[[nodiscard]] testing::AssertionResult HasCode(Result<T> const& result,
                                               ErrorCode code,
                                               std::string_view subject) {
  testing::AssertionResult answer = HasCode(result, code);
  if (answer && subject != result.error().subject) {
    return testing::AssertionFailure()
           << describe(result.error()) << ", expected the subject " << subject;
  }
  return answer;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace holdfast::test
