// SPDX-License-Identifier: Apache-2.0
#include "models/target/answer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

/// What a hexadecimal digit is worth; 16 for what is none.
constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(16);
  for (std::uint8_t i = 0; i < 16; ++i) {
    digits[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
  }
  return digits;
}();

/// "3f800000"; false when it is none.
bool read_bits(char const*& at, char const* end, float& value) {
  if (end - at < 8) {
    return false;
  }
  std::uint32_t bits = 0;
  std::uint32_t all = 0;
  for (int i = 0; i < 8; ++i) {
    std::uint32_t const digit = kDigits[static_cast<unsigned char>(*at++)];
    all |= digit;
    bits = (bits << 4U) | digit;
  }
  if (all > 15) {
    return false;
  }
  std::memcpy(&value, &bits, sizeof(value));
  return true;
}

/// A decimal or hexadecimal number.
bool read_number(char const*& at, char const* end, float& value) {
  bool const negative = at < end && *at == '-';
  char const* begin = at + (negative ? 1 : 0);
  bool const is_hex = end - begin > 2 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
  double number = 0;
  auto const [stop, error] =
      std::from_chars(begin + (is_hex ? 2 : 0),
                      end,
                      number,
                      is_hex ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument || (stop != end && *stop != ' ')) {
    return false;
  }
  if (error == std::errc::result_out_of_range) {
    number = std::strtod(std::string{begin, stop}.c_str(), nullptr);
  }
  value = static_cast<float>(negative ? -number : number);
  at = stop;
  return true;
}

/// What is wrong with a line of logits; empty when nothing is.
std::string read_logits(std::string_view text,
                        bool bits,
                        std::uint32_t vocabulary,
                        Logits& logits) {
  char const* at = text.data();
  char const* const end = at + text.size();
  logits.reserve(vocabulary);
  while (at < end) {
    float value = 0;
    if (*at++ != ' ' || !(bits ? read_bits(at, end, value) : read_number(at, end, value))) {
      return "number " + std::to_string(logits.size() + 1) + " of the logits has no known form";
    }
    logits.push_back(value);
  }
  return logits.size() == vocabulary ? ""
                                     : std::to_string(logits.size()) + " logits, and " +
                                           std::to_string(vocabulary) + " tokens";
}

template <typename T>
std::optional<T> take_number(std::string_view& text) {
  T value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view wanted) {
  if (text.substr(0, wanted.size()) != wanted) {
    return false;
  }
  text.remove_prefix(wanted.size());
  return true;
}

}  // namespace

std::optional<std::uint64_t> EngineAnswer::number(std::string_view name) const {
  std::string const wanted = " " + std::string{name} + "=";
  std::size_t const at = rest.find(wanted);
  std::uint64_t value = 0;
  if (at == std::string::npos) {
    return std::nullopt;
  }
  char const* const begin = rest.data() + at + wanted.size();
  auto const [end, error] = std::from_chars(begin, rest.data() + rest.size(), value);
  return error == std::errc{} ? std::optional{value} : std::nullopt;
}

std::string add_line(std::string_view line,
                     std::uint32_t vocabulary,
                     EngineAnswer& answer,
                     bool& is_closed) {
  std::string_view const word = line.substr(0, line.find(' '));
  if (word == "bits" || word == "logits") {
    return read_logits(
        line.substr(word.size()), word == "bits", vocabulary, answer.logits.emplace_back());
  }
  auto const reply = std::find(kReplyNames.begin(), kReplyNames.end(), word);
  if (reply == kReplyNames.end()) {
    return "no line of an answer begins like this: " + quoted(line.substr(0, 80));
  }
  answer.reply = static_cast<Reply>(reply - kReplyNames.begin());
  answer.rest = line.substr(word.size());
  is_closed = true;
  return answer.reply == Reply::kError ? "the adapter does not understand the line:" + answer.rest
                                       : "";
}

std::optional<Positions> parse_positions(std::string_view rest, std::uint32_t sequences) {
  Positions positions;
  while (!rest.empty()) {
    if (!take(rest, " s")) {
      return std::nullopt;
    }
    auto const name = take_number<std::uint32_t>(rest);
    if (!name || *name >= sequences || !take(rest, "=")) {
      return std::nullopt;
    }
    auto const first = take_number<std::int32_t>(rest);
    if (!first || !take(rest, "..")) {
      return std::nullopt;
    }
    auto const last = take_number<std::int32_t>(rest);
    if (!last || !positions.insert({*name, {*first, *last}}).second) {
      return std::nullopt;
    }
  }
  return positions;
}

std::string text_of(Positions const& positions) {
  std::string text;
  for (auto const& [name, extent] : positions) {
    text += (text.empty() ? "s" : " s") + std::to_string(name) + "=" +
            std::to_string(extent.first) + ".." + std::to_string(extent.last);
  }
  return text.empty() ? "nothing" : text;
}

double relative_error(Logits const& got, Logits const& want) noexcept {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    double const a = static_cast<double>(got[i]);
    double const b = static_cast<double>(want[i]);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      return std::numeric_limits<double>::infinity();
    }
    difference = std::max(difference, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return difference == 0 ? 0
         : largest == 0  ? std::numeric_limits<double>::infinity()
                         : difference / largest;
}

}  // namespace holdfast::model
