// SPDX-License-Identifier: Apache-2.0
// What an operation says as the library's calls take it, and what they return as what it answers.
#pragma once

#include <holdfast/cache.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/observation.hpp"
#include "models/reference/model.hpp"

namespace holdfast::model {

[[nodiscard]] inline AppendMode append_mode(StateMode mode) {
  return mode == StateMode::kInPlace ? AppendMode::kInPlace : AppendMode::kOutOfPlace;
}

[[nodiscard]] inline RoundKind round_kind(StateMode mode) {
  switch (mode) {
    case StateMode::kFresh:
      return RoundKind::kColumns;
    case StateMode::kInPlace:
      return RoundKind::kInPlace;
    case StateMode::kRescan:
      return RoundKind::kRescan;
  }
  return RoundKind::kColumns;
}

/// Tokens from one on.
[[nodiscard]] inline std::vector<Token> tokens_of(Token first, std::uint32_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

[[nodiscard]] inline Observation observe(Status const& status, std::uint32_t value = 0) {
  return status ? Observation::success(value) : Observation::failure(status.error());
}

/// There never was a handle of this name to call.
[[nodiscard]] inline Observation no_handle() {
  Observation answer = Observation::failure(ErrorCode::kStale);
  answer.asked = false;
  return answer;
}

/// Whether two calls refuse alike, or neither does.
[[nodiscard]] inline bool agree(Status const& asked, Status const& done) {
  if (asked.has_value() || done.has_value()) {
    return asked.has_value() == done.has_value();
  }
  Error const& a = asked.error();
  Error const& b = done.error();
  return a.code == b.code && std::string_view{a.subject} == b.subject && a.layer == b.layer &&
         a.item == b.item && a.got == b.got && a.limit == b.limit;
}

inline void say(Accepted const& accepted, Details::Item& says) {
  says.committed = static_cast<std::int32_t>(accepted.committed);
  says.to_append = static_cast<std::int32_t>(accepted.rows_to_append);
}

/// Rows that the handle takes of the first draft plane.
template <typename Handle>
void say_draft(Handle const& handle, ModelShape const& shape, Details& says) {
  if (shape.has_draft()) {
    PlaneShape const& plane = shape.planes[shape.draft];
    if (auto const range = handle.range(plane.kind, plane.layer)) {
      says.draft_first = range->first;
      says.draft_count = range->count;
    }
  }
}

/// Ends a handle without a call.
template <typename Handle>
void let_end(std::optional<Handle>& handle, HandleEnd how) {
  if (how == HandleEnd::kReplaced) {
    Handle live{std::move(*handle)};
    live = std::move(*handle);  // which has nothing any more
  }
  handle.reset();
}

/// Which items of a step could be dropped as if they had never been; what nothing is kept of so far.
inline void say_exact(Step const& step, StepParts const& items, Details& says) {
  for (std::uint32_t i = 0; i < items.count; ++i) {
    say(Accepted{}, says.item_at(i));
    if (items.parts[i].deed != StepDeed::kPad) {
      if (auto const exact = step.drop_is_exact(i)) {
        says.item_at(i).exact = *exact ? 1 : 0;
      }
    }
  }
}

}  // namespace holdfast::model
