// SPDX-License-Identifier: Apache-2.0
// The JSON that the harness writes for itself and reads again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "models/input_error.hpp"

namespace holdfast::fuzz {

using Json = nlohmann::ordered_json;

inline std::string text_of(Json const& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

/// A whole number that is not negative; the library's own get() takes others for one.
inline std::uint64_t count_of(Json const& json) {
  if (!json.is_number_unsigned()) {
    throw nlohmann::json::other_error::create(501, json.dump() + " is no count", &json);
  }
  return json.get<std::uint64_t>();
}

/// A length of time.
inline double seconds_of(Json const& json) {
  double const seconds = json.is_number() ? json.get<double>() : -1;
  constexpr double kMost = 1e12;
  if (!(seconds >= 0 && seconds <= kMost)) {
    throw nlohmann::json::other_error::create(501, json.dump() + " are no seconds", &json);
  }
  return seconds;
}

/// Reads JSON with `read`; whatever is wrong with it is said with `origin` in front.
template <typename Read>
auto read_json(std::string_view text, std::string const& origin, Read const& read) {
  try {
    return read(Json::parse(text));
  } catch (nlohmann::json::exception const& error) {
    throw model::InputError{origin + ": is damaged: " + error.what()};
  }
}

}  // namespace holdfast::fuzz
