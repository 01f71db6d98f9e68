// SPDX-License-Identifier: Apache-2.0
// Geometries with other sizes: the text is changed and read again, so that every rule holds for them
// too.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "models/geometry/geometry.hpp"
#include "models/geometry/json_reader.hpp"
#include "models/geometry/nearest.hpp"

namespace holdfast::model {
namespace {

/// A size that may be changed; in the text it stands in the object "capacity" or at the top.
struct Size {
  std::string name;
  bool in_capacity;
};

struct SizeCollector {
  std::vector<Size>& sizes;

  void size(std::string_view field, std::uint32_t /*value*/) const {
    sizes.push_back({std::string{field.substr(field.find('.') + 1)}, true});
  }
  void optional(std::string_view field, std::uint32_t value) const { size(field, value); }
};

std::vector<Size> all_sizes() {
  std::vector<Size> sizes = {{"page_rows", false}, {"chunk_pages", false}};
  Capacity const any;
  Capacity::fields(any, SizeCollector{sizes});
  return sizes;
}

Size size_named(std::string const& name, std::string const& origin) {
  std::vector<std::string> names;
  for (Size const& size : all_sizes()) {
    if (name == size.name) {
      return size;
    }
    names.push_back(size.name);
  }
  std::string known;
  for (std::string const& one : names) {
    known += (known.empty() ? "" : ", ") + one;
  }
  throw InputError(origin + ": no size is called " + in_quotes(name) + did_you_mean(name, names) +
                   "; known: " + known);
}

/// "page_rows=4".
Override read_override(std::string_view word, std::string const& origin) {
  std::size_t const equals = word.find('=');
  if (equals == std::string_view::npos) {
    throw InputError(origin + ": expected a size such as page_rows=4, found " + in_quotes(word));
  }
  Override change{std::string{word.substr(0, equals)}, 0};
  static_cast<void>(size_named(change.first, origin));
  std::string_view const number = word.substr(equals + 1);
  auto const [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), change.second);
  if (number.empty() || error != std::errc{} || end != number.data() + number.size()) {
    throw InputError(origin + ": " + in_quotes(number) + " is no number for " + change.first);
  }
  return change;
}

}  // namespace

Geometry with_overrides(Geometry const& geometry, std::vector<Override> changes) {
  std::string const origin = "geometry " + geometry.name;
  std::sort(changes.begin(), changes.end());
  auto document = nlohmann::json::parse(geometry.text);
  std::string text;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto const& [name, value] = changes[i];
    if (i != 0 && name == changes[i - 1].first) {
      throw InputError(origin + ": " + name + " is given twice");
    }
    auto& object = size_named(name, origin).in_capacity ? document.at("capacity") : document;
    object[name] = value;
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  Geometry changed = parse_geometry(document.dump(), origin + (text.empty() ? "" : " " + text));
  changed.built_in = geometry.built_in;
  changed.overrides = text;
  return changed;
}

std::vector<Override> parse_overrides(std::string_view words, std::string const& origin) {
  std::vector<Override> changes;
  while (!words.empty()) {
    std::size_t const end = std::min(words.find(' '), words.size());
    if (end != 0) {
      changes.push_back(read_override(words.substr(0, end), origin));
    }
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return changes;
}

std::string label(Geometry const& geometry) {
  return geometry.name + (geometry.overrides.empty() ? "" : " " + geometry.overrides);
}

}  // namespace holdfast::model
