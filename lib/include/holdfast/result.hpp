// SPDX-License-Identifier: Apache-2.0
// Result, Status and the error codes of every fallible call.
//
// A code says what the caller should do next; the text, the subject and the two numbers say what
// was wrong and where. Nothing here allocates, and no exception crosses the library's boundary.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast {

/// What the caller should do about a failed call.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< fix the argument; `subject` names it
  kUnsupported,      ///< valid, but this build cannot do it
  kStale,            ///< the handle, sequence or snapshot is used up; drop it
  kBusy,             ///< close what is open first
  kTooLong,          ///< more rows than the layout's `tokens`
  kIncomplete,       ///< write the missing rows; the handle is still open
  kRefused,          ///< a plane cannot do it; use a snapshot instead
  kExhausted,        ///< release something, then try again; `subject` names what was lacking
  kTainted,          ///< a device failure left this sequence unknown; release it
  kOutOfMemory,      ///< the device or the host has no memory for this layout
  kDeviceFailed,     ///< the device reported an error
  kMiss,     ///< no prefix entry is usable; compute the rows; `subject` says what was missing
  kDamaged,  ///< the bytes are cut short or were changed; get them again
};

/// Name of a code as it is written in messages and traces, e.g. "kStale".
[[nodiscard]] char const* name_of(ErrorCode code) noexcept;

/// Why a call failed. Plain data; all strings are static.
///
/// Of kStale, kTainted and kBusy the subject is what is used up, unknown or open: "sequence", "snapshot",
/// "entry", "handle", "step" or "cache"; the handle of a sequence that was released is as used up as the
/// sequence, which is named. Of kExhausted, got is what was needed and limit what is free; of what an
/// engine counts itself - "sequences", "snapshots", "entries" - 1 and 0. Of several planes that could be
/// named, the first one is: by stage, kind and layer.
struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  char const* text = "";     ///< one clause, no full stop
  char const* subject = "";  ///< the field, argument, plane or arena that it is about
  std::int32_t layer = -1;   ///< model layer, -1 when it is not about one layer
  std::int32_t item = -1;    ///< item of a step, -1 when it is not about one item
  std::int64_t got = 0;      ///< the offending number, when there is one
  std::int64_t limit = 0;    ///< what it was held against, when there is something
};

/// One line for people: code, layer, subject, text and numbers.
[[nodiscard]] std::string describe(Error const& error);

/// Either a value or an `Error`; the subset of std::expected that needs no exception.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) noexcept
      : has_value_{true} {  // NOLINT(google-explicit-constructor): as std::expected
    ::new (static_cast<void*>(&storage_.value)) T(std::move(value));
  }
  Result(Error error) noexcept
      : has_value_{false} {  // NOLINT(google-explicit-constructor): as std::expected
    ::new (static_cast<void*>(&storage_.error)) Error(error);
  }
  Result(Result&& other) noexcept : has_value_{other.has_value_} {
    if (has_value_) {
      ::new (static_cast<void*>(&storage_.value)) T(std::move(other.storage_.value));
    } else {
      ::new (static_cast<void*>(&storage_.error)) Error(other.storage_.error);
    }
  }
  Result(Result const&) = delete;
  Result& operator=(Result const&) = delete;
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      ::new (static_cast<void*>(this)) Result(std::move(other));
    }
    return *this;
  }
  ~Result() {
    if (has_value_) {
      storage_.value.~T();
    }
  }

  [[nodiscard]] bool has_value() const noexcept { return has_value_; }
  explicit operator bool() const noexcept { return has_value_; }
  /// Requires has_value().
  T& operator*() noexcept { return storage_.value; }
  T const& operator*() const noexcept { return storage_.value; }
  T* operator->() noexcept { return &storage_.value; }
  T const* operator->() const noexcept { return &storage_.value; }
  /// Requires !has_value().
  [[nodiscard]] Error const& error() const noexcept { return storage_.error; }

 private:
  union Storage {
    Storage() noexcept {}
    ~Storage() {}
    T value;
    Error error;
  } storage_;
  bool has_value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() noexcept = default;
  Result(Error error) noexcept
      : error_{error}, has_value_{false} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const noexcept { return has_value_; }
  explicit operator bool() const noexcept { return has_value_; }
  /// Requires !has_value().
  [[nodiscard]] Error const& error() const noexcept { return error_; }

 private:
  Error error_{};
  bool has_value_ = true;
};

/// Result of a call that returns nothing else.
using Status = Result<void>;

/// Called when the library finds a bug of its own; stops the process. The one process-wide hook: a
/// program may link its own definition, which must not return.
[[noreturn]] void contract_failed(char const* condition, char const* file, int line);

}  // namespace holdfast

/// Returns the error of `expression`, a call or a named Result, from the enclosing function.
#define HOLDFAST_TRY(expression)                                   \
  do {                                                             \
    if (auto&& holdfast_status = (expression); !holdfast_status) { \
      return holdfast_status.error();                              \
    }                                                              \
  } while (false)
