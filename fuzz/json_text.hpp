// SPDX-License-Identifier: Apache-2.0
// The JSON that the harness writes for itself and reads again.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "models/input_error.hpp"

namespace holdfast::fuzz {

using Json = nlohmann::ordered_json;

inline std::string text_of(Json const& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
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
