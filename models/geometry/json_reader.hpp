// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON that users write: whatever is not understood is refused with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::model {

/// Parses a whole text. Throws InputError: bad JSON as origin:line:column; a key that an object
/// holds twice, and too deep nesting, by JSON path.
nlohmann::json parse_json(std::string_view text, std::string const& origin);

/// `text` in double quotes, escaped, and cut when it is long.
std::string in_quotes(std::string_view text);

/// A value with the place where it stands. It refers to the document and to `origin`, which must
/// outlive it. Every getter throws InputError that names origin and JSON path.
class JsonPlace {
 public:
  JsonPlace(nlohmann::json const& value, std::string const& origin)
      : value_{&value}, origin_{&origin} {}

  /// Refuses anything but an object that has all of `required` and nothing beside `optional`.
  void expect_object(std::vector<std::string_view> const& required,
                     std::vector<std::string_view> const& optional) const;
  /// Refuses anything but an object.
  void expect_object() const;
  /// Refuses anything but an array, and gives its length.
  [[nodiscard]] std::size_t expect_array() const;

  [[nodiscard]] bool has(std::string_view key) const { return value_->contains(key); }
  /// Member of an object that has it.
  [[nodiscard]] JsonPlace at(std::string_view key) const;
  /// Item of an array that has it.
  [[nodiscard]] JsonPlace at(std::size_t index) const;

  [[nodiscard]] std::uint32_t number() const;
  /// A member that may be missing.
  [[nodiscard]] std::uint32_t number_or(std::string_view key, std::uint32_t fallback) const;
  [[nodiscard]] std::string const& string() const;
  [[nodiscard]] bool boolean() const;

  [[nodiscard]] nlohmann::json const& value() const { return *value_; }
  [[nodiscard]] std::string const& path() const { return path_; }

  [[noreturn]] void refuse(std::string const& what) const;

 private:
  /// A part of `whole`.
  JsonPlace(JsonPlace const& whole, nlohmann::json const& part, std::string path)
      : value_{&part}, origin_{whole.origin_}, path_{std::move(path)} {}

  nlohmann::json const* value_;
  std::string const* origin_;
  std::string path_;
};

}  // namespace holdfast::model
