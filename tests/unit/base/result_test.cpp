// SPDX-License-Identifier: Apache-2.0
// Goal: a Result holds exactly one of value and error, and every code and error reads well.
// Method: counts lives of a probe value; compares every name and a few described errors.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <holdfast/result.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/support/status.hpp"

namespace holdfast::test {
namespace {

/// Counts how many of it live.
class Probe {
 public:
  explicit Probe(int& live) noexcept : live_{&live} { ++*live_; }
  Probe(Probe&& other) noexcept : live_{other.live_} { ++*live_; }
  Probe(Probe const&) = delete;
  Probe& operator=(Probe const&) = delete;
  Probe& operator=(Probe&&) = delete;
  ~Probe() { --*live_; }

 private:
  int* live_;
};

Error refusal() {
  return {.code = ErrorCode::kRefused, .text = "a clause", .subject = "a field"};
}

static_assert(!std::is_copy_constructible_v<Result<int>>);
static_assert(std::is_nothrow_move_constructible_v<Result<int>>);
static_assert(std::is_trivially_copyable_v<Error>, "an error is plain data");

TEST(Result, ValueIsReachedByStarAndArrow) {
  Result<std::pair<int, int>> const result{std::pair{3, 4}};
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ((*result).first, 3);
  EXPECT_EQ(result->second, 4);
}

TEST(Result, ErrorIsKept) {
  Result<int> const result{refusal()};
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
  EXPECT_STREQ(result.error().subject, "a field");
}

TEST(Result, ValueDiesOnce) {
  int live = 0;
  {
    Result<Probe> first{Probe{live}};
    EXPECT_EQ(live, 1);
    Result<Probe> const second{std::move(first)};
    EXPECT_EQ(live, 2) << "a moved-from result still holds its moved-from value";
  }
  EXPECT_EQ(live, 0);
}

TEST(Result, MoveAssignmentReplacesValueByErrorAndBack) {
  int live = 0;
  Result<Probe> result{Probe{live}};
  result = Result<Probe>{refusal()};
  EXPECT_EQ(live, 0);
  EXPECT_TRUE(HasCode(result, ErrorCode::kRefused, "a field"));
  result = Result<Probe>{Probe{live}};
  EXPECT_EQ(live, 1);
  EXPECT_TRUE(IsOk(result));
}

TEST(Result, SelfMoveAssignmentKeepsTheValue) {
  Result<int> result{5};
  Result<int>& same = result;
  result = std::move(same);
  ASSERT_TRUE(IsOk(result));
  EXPECT_EQ(*result, 5);
}

TEST(Status, DefaultIsSuccess) {
  EXPECT_TRUE(Status{}.has_value());
  EXPECT_FALSE(Status{refusal()}.has_value());
}

TEST(Status, TryReturnsTheErrorAndGoesOnAfterSuccess) {
  auto const run = [](Status const& first, bool& reached) -> Status {
    HOLDFAST_TRY(Status{first});
    reached = true;
    return {};
  };
  bool reached = false;
  EXPECT_TRUE(HasCode(run(refusal(), reached), ErrorCode::kRefused));
  EXPECT_FALSE(reached);
  EXPECT_TRUE(IsOk(run({}, reached)));
  EXPECT_TRUE(reached);
}

TEST(Status, TryTakesANamedResultAndLeavesItsValue) {
  auto const run = [](Result<Probe>& named) -> Status {
    HOLDFAST_TRY(named);
    return {};
  };
  int live = 0;
  Result<Probe> good{Probe{live}};
  EXPECT_TRUE(IsOk(run(good)));
  EXPECT_EQ(live, 1);
  Result<Probe> bad{refusal()};
  EXPECT_TRUE(HasCode(run(bad), ErrorCode::kRefused, "a field"));
}

TEST(ErrorCode, EveryCodeHasItsOwnName) {
  constexpr std::array<std::pair<ErrorCode, char const*>, 13> kNames = {{
      {ErrorCode::kInvalidArgument, "kInvalidArgument"},
      {ErrorCode::kUnsupported, "kUnsupported"},
      {ErrorCode::kStale, "kStale"},
      {ErrorCode::kBusy, "kBusy"},
      {ErrorCode::kTooLong, "kTooLong"},
      {ErrorCode::kIncomplete, "kIncomplete"},
      {ErrorCode::kRefused, "kRefused"},
      {ErrorCode::kExhausted, "kExhausted"},
      {ErrorCode::kTainted, "kTainted"},
      {ErrorCode::kOutOfMemory, "kOutOfMemory"},
      {ErrorCode::kDeviceFailed, "kDeviceFailed"},
      {ErrorCode::kMiss, "kMiss"},
      {ErrorCode::kDamaged, "kDamaged"},
  }};
  for (auto const& [code, name] : kNames) {
    EXPECT_STREQ(name_of(code), name);
  }
}

TEST(ErrorCode, NoCodeFollowsTheLastNamedOne) {
  // The list above is complete: one past the last enumerator has no name.
  constexpr auto kLast = static_cast<std::uint8_t>(ErrorCode::kDamaged);
  std::set<std::string> names;
  for (std::uint8_t code = 0; code <= kLast; ++code) {
    names.insert(name_of(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), 13U);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_STREQ(name_of(static_cast<ErrorCode>(kLast + 1)), "unknown");
}

TEST(Describe, NamesCodeLayerSubjectTextAndNumbers) {
  EXPECT_EQ(describe({.code = ErrorCode::kTooLong,
                      .text = "is too much",
                      .subject = "rows",
                      .layer = 7,
                      .got = 12,
                      .limit = 8}),
            "kTooLong: layer 7, rows: is too much (12 against 8)");
}

TEST(Describe, LeavesOutWhatIsAbsent) {
  EXPECT_EQ(describe({.code = ErrorCode::kStale, .text = "is used up"}), "kStale: is used up");
  EXPECT_EQ(describe({.code = ErrorCode::kStale, .text = "is used up", .subject = "handle"}),
            "kStale: handle: is used up");
}

TEST(Describe, NamesLayerZero) {
  EXPECT_EQ(describe({.code = ErrorCode::kRefused, .text = "no", .layer = 0}),
            "kRefused: layer 0, no");
}

}  // namespace
}  // namespace holdfast::test
