// SPDX-License-Identifier: Apache-2.0
// Lines of the engine protocol (docs/PROTOCOL.md) as an adapter reads and answers them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::adapters {

/// One row of a batch.
struct BatchRow {
  std::uint32_t sequence = 0;
  std::uint32_t token = 0;
  bool wanted = false;  // logits are, after this row
};

/// One line, its word and its fields.
class Line {
 public:
  explicit Line(std::string_view text) : text_{text} {}

  [[nodiscard]] std::string_view word() const { return text_.substr(0, text_.find(' ')); }
  /// Empty when there is no such field.
  [[nodiscard]] std::string_view field(std::string_view name) const {
    for (std::size_t at = text_.find(' '); at != std::string_view::npos; at = text_.find(' ', at)) {
      std::string_view const rest = text_.substr(++at);
      if (rest.size() > name.size() && rest.substr(0, name.size()) == name &&
          rest[name.size()] == '=') {
        std::string_view const value = rest.substr(name.size() + 1);
        return value.substr(0, value.find(' '));
      }
    }
    return {};
  }
  [[nodiscard]] std::uint32_t number(std::string_view name, std::uint32_t fallback = 0) const {
    std::string_view const text = field(name);
    std::uint32_t value = fallback;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  /// s3, e3 or h3: 3.
  [[nodiscard]] std::uint32_t name(std::string_view field_name) const {
    std::string_view const text = field(field_name);
    std::uint32_t value = 0;
    if (text.size() > 1) {
      std::from_chars(text.data() + 1, text.data() + text.size(), value);
    }
    return value;
  }

 private:
  std::string_view text_;
};

/// Adds the rows of "17.4!.9!".
inline void add_tokens(std::string_view text,
                       std::uint32_t sequence,
                       std::vector<BatchRow>& batch) {
  char const* at = text.data();
  char const* const end = at + text.size();
  while (at < end) {
    BatchRow row{.sequence = sequence};
    at = std::from_chars(at, end, row.token).ptr;
    row.wanted = at < end && *at == '!';
    at += row.wanted ? 2 : 1;
    batch.push_back(row);
  }
}

/// Adds the rows of "s0:17.4!,s1:9!".
inline void add_items(std::string_view text, std::vector<BatchRow>& batch) {
  while (!text.empty()) {
    std::string_view const item = text.substr(0, text.find(','));
    std::size_t const colon = std::min(item.find(':'), item.size() - 1);
    std::uint32_t sequence = 0;
    std::from_chars(item.data() + std::min<std::size_t>(1, colon), item.data() + colon, sequence);
    add_tokens(item.substr(colon + 1), sequence, batch);
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
}

/// Does to saved bytes what a line of `damage` says: cuts some off, or flips a bit.
template <typename Byte>
void damage(Line const& line, std::vector<Byte>& bytes) {
  if (!line.field("cut").empty()) {
    bytes.resize(bytes.size() - line.number("cut") % (bytes.size() + 1));
  } else if (!bytes.empty()) {
    std::size_t const bit = line.number("flip") % (8 * bytes.size());
    Byte& byte = bytes[bit / 8];
    byte = static_cast<Byte>(static_cast<unsigned>(byte) ^ (1U << (bit % 8)));
  }
}

/// Adds a line of logits in their exact form.
inline void add_bits(std::span<float const> logits, std::string& out) {
  static constexpr auto kPairs = [] {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> pairs{};
    for (unsigned byte = 0; byte < pairs.size(); ++byte) {
      pairs[byte] = {kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
    return pairs;
  }();
  out += "bits";
  std::size_t const begin = out.size();
  out.resize(begin + 9 * logits.size());
  char* at = out.data() + begin;
  for (float const value : logits) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    *at = ' ';
    for (unsigned byte = 0; byte < 4; ++byte) {
      std::memcpy(at + 1 + 2 * byte, kPairs[bits >> (24 - 8 * byte) & 255U].data(), 2);
    }
    at += 9;
  }
  out += '\n';
}

/// Answers lines until input ends: `answer(line, out)` adds an answer, and what was added is written before
/// more is read.
template <typename Answer>
void serve(Answer answer) {
  std::string input;
  std::string out;
  std::vector<char> buffer(std::size_t{1} << 16U);
  for (;;) {
    ssize_t const got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got <= 0) {
      return;
    }
    input.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = input.find('\n'); end != std::string::npos;
         end = input.find('\n', begin)) {
      answer(std::string_view{input}.substr(begin, end - begin), out);
      begin = end + 1;
    }
    input.erase(0, begin);
    for (std::size_t at = 0; at < out.size();) {
      ssize_t const wrote = write(STDOUT_FILENO, out.data() + at, out.size() - at);
      if (wrote <= 0) {
        return;
      }
      at += static_cast<std::size_t>(wrote);
    }
    out.clear();
  }
}

}  // namespace holdfast::adapters
