// SPDX-License-Identifier: Apache-2.0
#include "tools/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/terminal.hpp"

namespace holdfast::tools {

std::string text_of(Json const& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string digest_text(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

Json json_of(std::vector<invariant::Violation> const& violations) {
  Json array = Json::array();
  for (invariant::Violation const& violation : violations) {
    bool const has_plane = violation.plane[0] != '\0';
    array.push_back({{"id", violation.id},
                     {"plane", has_plane ? Json(violation.plane) : Json()},
                     {"layer", violation.layer >= 0 ? Json(violation.layer) : Json()},
                     {"position", violation.position >= 0 ? Json(violation.position) : Json()},
                     {"holder", violation.holder.empty() ? Json() : Json(violation.holder)},
                     {"text", violation.text}});
  }
  return array;
}

std::string ids_of(std::vector<invariant::Violation> const& violations) {
  std::vector<std::string> ids;
  for (invariant::Violation const& violation : violations) {
    if (std::find(ids.begin(), ids.end(), violation.id) == ids.end()) {
      ids.emplace_back(violation.id);
    }
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

std::string counted(std::uint64_t count, std::string const& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

double rate_of(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::string minimize_with(std::string const& command) {
  return "make it small with:\n" + in_colour(Colour::kNotice, command) + "\n";
}

std::string reproduce_with(std::string const& command) {
  return "reproduce with:\n" + in_colour(Colour::kNotice, command) + "\n";
}

}  // namespace holdfast::tools
