// SPDX-License-Identifier: Apache-2.0
#include "tools/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "models/input_error.hpp"

namespace holdfast::tools {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

template <typename Number, typename... Base>
bool read_whole(std::string_view text, Number& value, Base... base) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string for_shell(std::string const& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=:,@%";
  if (consists_of(word, kPlain)) {
    return word;
  }
  std::string text = "'";
  for (char const c : word) {
    text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  }
  return text + "'";
}

}  // namespace

std::uint64_t read_count(std::string const& option, std::string const& text, std::uint64_t most) {
  std::uint64_t value = 0;
  if (!consists_of(text, kDigits) || !read_whole(text, value) || value == 0 || value > most) {
    throw model::InputError{option + ": '" + text + "' is no whole number from 1 to " +
                            std::to_string(most)};
  }
  return value;
}

double read_seconds(std::string const& option, std::string const& text) {
  constexpr double kMost = 1e9;
  double value = 0;
  if (!read_whole(text, value) || !std::isfinite(value) || value <= 0 || value > kMost) {
    throw model::InputError{option + ": '" + text + "' is no number above 0, up to 1000000000"};
  }
  return value;
}

double read_duration(std::string const& option, std::string const& text) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kMost = 1e9;
  double const unit = text.ends_with('h') ? kHour : text.ends_with('m') ? kMinute : 1;
  bool const has_unit = unit != 1 || text.ends_with('s');
  double value = 0;
  if (!read_whole(std::string_view{text}.substr(0, text.size() - (has_unit ? 1 : 0)), value) ||
      !std::isfinite(value) || value <= 0 || value * unit > kMost) {
    throw model::InputError{option + ": '" + text +
                            "' is no duration such as 90, 90s, 5m or 8h, up to 1000000000 s"};
  }
  return value * unit;
}

std::uint64_t read_seed(std::string const& text) {
  constexpr std::size_t kMostDecimals = 20;
  constexpr std::size_t kShortestHash = 7;
  constexpr std::size_t kLongestHash = 40;
  constexpr std::size_t kHexOfSeed = 16;
  std::uint64_t seed = 0;
  if (consists_of(text, kDigits) && text.size() <= kMostDecimals) {
    if (!read_whole(text, seed)) {
      throw model::InputError{"--seed: '" + text + "' is more than 18446744073709551615"};
    }
    return seed;
  }
  if (!consists_of(text, kHexDigits) || text.size() < kShortestHash || text.size() > kLongestHash) {
    throw model::InputError{"--seed: '" + text +
                            "' is neither a decimal number nor a git hash of 7 to 40 hexadecimal "
                            "digits"};
  }
  static_cast<void>(read_whole(std::string_view{text}.substr(0, kHexOfSeed), seed, 16));
  return seed;
}

std::vector<std::string> split_list(std::string const& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t const end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string command_of(std::vector<std::string> const& words) {
  std::string line;
  for (std::string const& word : words) {
    line += (line.empty() ? "" : " ") + for_shell(word);
  }
  return line;
}

}  // namespace holdfast::tools
