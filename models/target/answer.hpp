// SPDX-License-Identifier: Apache-2.0
// What an adapter answers to one line (docs/PROTOCOL.md).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::model {

using Logits = std::vector<float>;

enum class Reply : std::uint8_t { kOk, kWeak, kRefused, kError };
inline constexpr std::array<char const*, 4> kReplyNames = {"ok", "weak", "refused", "error"};

struct EngineAnswer {
  Reply reply = Reply::kOk;
  std::string rest;  // of the closing line, behind its first word
  std::vector<Logits> logits;

  /// A number in the closing line; nothing when it is not there.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
};

/// Least and greatest position of each sequence that is not empty. An engine whose parts disagree may give
/// numbers that are no extent; POSITION says so.
struct Extent {
  std::int32_t first = 0;
  std::int32_t last = 0;
  friend bool operator==(Extent const&, Extent const&) = default;
};
using Positions = std::map<std::uint32_t, Extent>;

/// Takes a line into the answer. Says what is wrong with it; empty when nothing is. `is_closed` becomes
/// true with the closing line. `vocabulary` is the number of logits of a line.
[[nodiscard]] std::string add_line(std::string_view line,
                                   std::uint32_t vocabulary,
                                   EngineAnswer& answer,
                                   bool& is_closed);

/// Reads the closing line of `positions`; nothing when it has another form.
[[nodiscard]] std::optional<Positions> parse_positions(std::string_view rest,
                                                       std::uint32_t sequences);
[[nodiscard]] std::string text_of(Positions const& positions);

/// max |a - b| / max |b|; infinite when a number is not finite.
[[nodiscard]] double relative_error(Logits const& got, Logits const& want) noexcept;

}  // namespace holdfast::model
