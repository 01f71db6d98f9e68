// SPDX-License-Identifier: Apache-2.0
#include "models/geometry/json_reader.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <vector>

#include "models/geometry/nearest.hpp"
#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepestNesting = 32;
constexpr std::size_t kLongestQuote = 80;
constexpr std::size_t kLongestReason = 240;

std::string cut(std::string text, std::size_t longest) {
  if (text.size() > longest) {
    text.resize(longest);
    text += "...";
  }
  return text;
}

bool is_plain_key(std::string_view key) {
  return !key.empty() && key.size() <= kLongestQuote &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

std::string path_of_member(std::string const& path, std::string_view key) {
  if (!is_plain_key(key)) {
    return path + "[" + in_quotes(key) + "]";
  }
  return path + (path.empty() ? "" : ".") + std::string(key);
}

std::string path_of_item(std::string const& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string message(std::string const& origin, std::string const& path, std::string const& what) {
  return origin + ": " + (path.empty() ? "" : path + ": ") + what;
}

/// Follows a parser through a text: where it is, and which keys the open objects have.
class Follower {
 public:
  explicit Follower(std::string const& origin) : origin_{origin} {}

  bool operator()(Json::parse_event_t event, Json const& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (open_.size() == kDeepestNesting) {
          refuse("is nested more than " + std::to_string(kDeepestNesting) + " deep");
        }
        open_.push_back({.is_array = event == Json::parse_event_t::array_start});
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        open_.pop_back();
        pass_value();
        break;
      case Json::parse_event_t::key:
        open_.back().key = parsed.get_ref<std::string const&>();
        if (!open_.back().keys.insert(open_.back().key).second) {
          refuse("stands twice in one object");
        }
        break;
      case Json::parse_event_t::value:
        pass_value();
        break;
    }
    return true;
  }

  [[noreturn]] void refuse(std::string const& what) const {
    std::string path;
    for (Open const& open : open_) {
      path = open.is_array ? path_of_item(path, open.index) : path_of_member(path, open.key);
    }
    throw InputError(message(origin_, path, what));
  }

 private:
  struct Open {
    bool is_array = false;
    std::size_t index = 0;         // of an array: the item being read
    std::string key{};             // of an object: the member being read
    std::set<std::string> keys{};  // of an object: those seen so far
  };

  void pass_value() {
    if (!open_.empty()) {
      ++open_.back().index;
    }
  }

  std::string const& origin_;
  std::vector<Open> open_;
};

/// "line:column" of the byte with number `byte`, all counted from 1.
std::string line_and_column(std::string_view text, std::size_t byte) {
  std::string_view const before = text.substr(0, byte == 0 ? 0 : byte - 1);
  auto const line = std::count(before.begin(), before.end(), '\n') + 1;
  std::size_t const line_end = before.rfind('\n');
  std::size_t const column =
      before.size() - (line_end == std::string_view::npos ? 0 : line_end + 1) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

/// The parser's own words without its identifier and place, which the text before its first ": "
/// holds.
std::string reason_of(Json::exception const& error) {
  std::string const text = error.what();
  std::size_t const colon = text.find(": ");
  return cut(colon == std::string::npos ? text : text.substr(colon + 2), kLongestReason);
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return Json(cut(std::string(text), kLongestQuote))
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text, std::string const& origin) {
  Follower follower(origin);
  try {
    return Json::parse(text,
                       [&follower](int /*depth*/, Json::parse_event_t event, Json const& parsed) {
                         return follower(event, parsed);
                       });
  } catch (Json::parse_error const& error) {
    throw InputError(origin + ":" + line_and_column(text, error.byte) +
                     ": bad JSON: " + escaped(reason_of(error)));
  } catch (Json::out_of_range const&) {
    follower.refuse("is a number too large for any number type");
  }
}

void JsonPlace::expect_object() const {
  if (!value_->is_object()) {
    refuse("must be an object, is " + std::string(value_->type_name()));
  }
}

void JsonPlace::expect_object(std::vector<std::string_view> const& required,
                              std::vector<std::string_view> const& optional) const {
  expect_object();
  std::vector<std::string> known(required.begin(), required.end());
  known.insert(known.end(), optional.begin(), optional.end());
  for (auto const& [key, value] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse("unknown key " + in_quotes(key) + did_you_mean(key, known));
    }
  }
  for (std::string_view const key : required) {
    if (!has(key)) {
      refuse("missing key " + in_quotes(key));
    }
  }
}

std::size_t JsonPlace::expect_array() const {
  if (!value_->is_array()) {
    refuse("must be an array, is " + std::string(value_->type_name()));
  }
  return value_->size();
}

JsonPlace JsonPlace::at(std::string_view key) const {
  return {*this, value_->at(std::string(key)), path_of_member(path_, key)};
}

JsonPlace JsonPlace::at(std::size_t index) const {
  return {*this, value_->at(index), path_of_item(path_, index)};
}

std::uint32_t JsonPlace::number() const {
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();
  if (!value_->is_number()) {
    refuse("must be a number, is " + std::string(value_->type_name()));
  }
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > kLargest) {
    refuse("must be a whole number from 0 to " + std::to_string(kLargest) + ", is " +
           value_->dump());
  }
  return value_->get<std::uint32_t>();
}

std::uint32_t JsonPlace::number_or(std::string_view key, std::uint32_t fallback) const {
  return has(key) ? at(key).number() : fallback;
}

std::string const& JsonPlace::string() const {
  if (!value_->is_string()) {
    refuse("must be a string, is " + std::string(value_->type_name()));
  }
  return value_->get_ref<std::string const&>();
}

bool JsonPlace::boolean() const {
  if (!value_->is_boolean()) {
    refuse("must be true or false, is " + std::string(value_->type_name()));
  }
  return value_->get<bool>();
}

void JsonPlace::refuse(std::string const& what) const {
  throw InputError(message(*origin_, path_, what));
}

}  // namespace holdfast::model
