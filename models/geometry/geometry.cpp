// SPDX-License-Identifier: Apache-2.0
#include "models/geometry/geometry.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <type_traits>

#include "models/geometry/embedded.hpp"
#include "models/geometry/json_reader.hpp"
#include "models/geometry/nearest.hpp"
#include "models/read_file.hpp"

namespace holdfast::model {
namespace {

constexpr std::size_t kLargestLayerCount = 4096;
constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
constexpr std::size_t kLongestName = 64;
constexpr std::uint64_t kLargestWeights = 1U << 24U;  // some programs multiply them
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

std::string join(std::vector<std::string> const& words) {
  std::string line;
  for (std::string const& word : words) {
    line += (line.empty() ? "" : ", ") + word;
  }
  return line;
}

/// Key of a field: "latent.width" is read from the key "width".
std::string_view key_of(std::string_view field) {
  return field.substr(field.find('.') + 1);
}

/// What models have and the library lacks, as geometries name it.
struct LackingPlane {
  std::string_view kind;
  char const* what;
  std::vector<std::string_view> required;
};
std::vector<LackingPlane> lacking_planes() {
  return {{"sliding_kv", "sliding-window KV", {"kind", "heads", "head_dim", "window"}}};
}
constexpr std::string_view kLackingFormats[] = {"fp8_e4m3", "q8_0", "q5_1"};

/// What the planes of one layer lack.
using Lacks = std::vector<std::string>;

/// Reads the name of a format; one that is lacking leaves `value` as it is.
void read_format(JsonPlace const& place, Format& value, Lacks& lacks) {
  std::vector<std::string> known;
  for (std::uint32_t i = 0; i < kFormatCount; ++i) {
    known.emplace_back(name_of(static_cast<Format>(i)));
    if (place.string() == known.back()) {
      value = static_cast<Format>(i);
      return;
    }
  }
  for (std::string_view const lacking : kLackingFormats) {
    if (place.string() == lacking) {
      lacks.push_back("format " + place.string());
      return;
    }
  }
  place.refuse("unknown format " + in_quotes(place.string()) + " (known: " + join(known) + ")");
}

/// Lists the keys of a spec.
struct KeyCollector {
  std::vector<std::string_view> required{"kind"};
  std::vector<std::string_view> extra;

  void size(char const* field, std::uint32_t /*value*/) { required.push_back(key_of(field)); }
  void optional(char const* field, std::uint32_t /*value*/) { extra.push_back(key_of(field)); }
  void sizes(char const* field, std::vector<std::uint32_t> const& /*value*/) {
    extra.push_back(key_of(field));
  }
  void format(char const* field, Format /*value*/) { extra.push_back(key_of(field)); }
  void optional_format(char const* field, std::optional<Format> /*value*/, Format /*otherwise*/) {
    extra.push_back(key_of(field));
  }
};

/// Reads a spec's fields; holdfast::validate refuses what does not go together.
struct FieldReader {
  JsonPlace const& plane;
  Lacks& lacks;

  void size(char const* field, std::uint32_t& value) const {
    value = plane.at(key_of(field)).number();
  }
  void optional(char const* field, std::uint32_t& value) const {
    value = plane.number_or(key_of(field), value);
  }
  void sizes(char const* field, std::vector<std::uint32_t>& values) const {
    if (!plane.has(key_of(field))) {
      return;
    }
    JsonPlace const list = plane.at(key_of(field));
    std::size_t const count = list.expect_array();
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(list.at(i).number());
    }
  }
  void format(char const* field, Format& value) const {
    if (!plane.has(key_of(field))) {
      return;
    }
    read_format(plane.at(key_of(field)), value, lacks);
  }
  void optional_format(char const* field,
                       std::optional<Format>& value,
                       Format /*otherwise*/) const {
    if (plane.has(key_of(field))) {
      format(field, value.emplace());
    }
  }
};

template <std::size_t I = 0>
void read_plane(JsonPlace const& plane,
                std::size_t number,
                std::vector<std::string> known,
                Layer& layer,
                Lacks& lacks) {
  JsonPlace const kind = plane.at("kind");
  if constexpr (I < std::variant_size_v<PlaneSpec>) {
    using Spec = std::variant_alternative_t<I, PlaneSpec>;
    if (kind.string() != Spec::kName) {
      known.emplace_back(Spec::kName);
      read_plane<I + 1>(plane, number, std::move(known), layer, lacks);
      return;
    }
    Spec spec;
    KeyCollector keys;
    Spec::fields(spec, keys);
    plane.expect_object(keys.required, keys.extra);
    std::size_t const before = lacks.size();
    Spec::fields(spec, FieldReader{plane, lacks});
    if (lacks.size() == before) {
      layer.planes.emplace_back(std::move(spec));
    }
  } else {
    for (LackingPlane const& lacking : lacking_planes()) {
      if (kind.string() == lacking.kind) {
        plane.expect_object(lacking.required, {"format", "value_format"});
        lacks.emplace_back(lacking.what);
        return;
      }
    }
    kind.refuse("layer " + std::to_string(number) + " has a plane of unknown kind " +
                in_quotes(kind.string()) + did_you_mean(kind.string(), known) +
                "; known: " + join(known));
  }
}

void read_plane(JsonPlace const& plane, std::size_t number, Layer& layer, Lacks& lacks) {
  plane.expect_object();
  if (!plane.has("kind")) {
    plane.refuse("missing key \"kind\"");
  }
  read_plane<0>(plane, number, {}, layer, lacks);
}

/// Each thing that layers lack, with its layers: "sliding-window KV (layer 0 and 17 others)".
std::vector<std::string> lines_of(std::vector<Lacks> const& lacks) {
  struct Lacking {
    std::string what;
    std::size_t first;
    std::size_t layers;
    std::size_t last;
  };
  std::vector<Lacking> all;
  for (std::size_t layer = 0; layer < lacks.size(); ++layer) {
    for (std::string const& what : lacks[layer]) {
      auto const known = std::find_if(
          all.begin(), all.end(), [&](Lacking const& lacking) { return lacking.what == what; });
      if (known == all.end()) {
        all.push_back({what, layer, 1, layer});
      } else if (known->last != layer) {
        ++known->layers;
        known->last = layer;
      }
    }
  }
  std::vector<std::string> lines;
  for (Lacking const& lacking : all) {
    std::string line = lacking.what + " (layer " + std::to_string(lacking.first);
    if (lacking.layers > 1) {
      line += " and " + std::to_string(lacking.layers - 1) +
              (lacking.layers == 2 ? " other" : " others");
    }
    lines.push_back(line + ")");
  }
  return lines;
}

/// Unrolls layer groups; for each layer it keeps the JSON path of the item that made it.
class LayerReader {
 public:
  /// Items of a "layers" array, in order. Recursion ends at the nesting that the parser allows.
  void read(JsonPlace const& items) {  // NOLINT(misc-no-recursion)
    std::size_t const count = items.expect_array();
    for (std::size_t i = 0; i < count; ++i) {
      read_item(items.at(i));
    }
  }

  [[nodiscard]] std::vector<Layer> const& layers() const { return layers_; }
  [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
  /// By layer.
  [[nodiscard]] std::vector<Lacks> const& lacks() const { return lacks_; }

 private:
  void read_item(JsonPlace const& item) {  // NOLINT(misc-no-recursion)
    item.expect_object({}, {"repeat", "planes", "layers", "stage"});
    if (item.has("planes") == item.has("layers")) {
      item.refuse(R"(must have one of the keys "planes" and "layers")");
    }
    std::uint32_t const times = item.number_or("repeat", 1);
    if (times == 0) {
      item.at("repeat").refuse("must not be 0");
    }
    std::size_t const first = layers_.size();
    stage_ = item.number_or("stage", stage_);  // and that of the layers after it
    if (item.has("layers")) {
      read(item.at("layers"));
    } else {
      read_layer(item);
    }
    std::size_t const block = layers_.size() - first;
    if (first + block * times > kLargestLayerCount) {
      item.refuse("makes more than " + std::to_string(kLargestLayerCount) + " layers");
    }
    for (std::size_t i = 0; i < block * (times - 1); ++i) {
      layers_.emplace_back(layers_[first + i]);
      paths_.emplace_back(paths_[first + i]);
      lacks_.emplace_back(lacks_[first + i]);
    }
  }

  void read_layer(JsonPlace const& item) {
    JsonPlace const planes = item.at("planes");
    std::size_t const count = planes.expect_array();
    Layer layer{.planes = {}, .stage = stage_};
    Lacks lacks;
    for (std::size_t i = 0; i < count; ++i) {
      read_plane(planes.at(i), layers_.size(), layer, lacks);
    }
    layers_.push_back(std::move(layer));
    lacks_.push_back(std::move(lacks));
    paths_.push_back(item.path());
  }

  std::vector<Layer> layers_;
  std::vector<std::string> paths_;
  std::vector<Lacks> lacks_;
  std::uint32_t stage_ = 0;
};

/// Lists the keys of the capacities: what has no default must be there.
struct CapacityKeys {
  std::vector<std::string_view> required;
  std::vector<std::string_view> extra;

  void size(char const* field, std::uint32_t fallback) {
    (fallback == 0 ? required : extra).push_back(key_of(field));
  }
  void optional(char const* field, std::uint32_t /*fallback*/) { extra.push_back(key_of(field)); }
};

/// Reads those that are there.
struct CapacityReader {
  JsonPlace const& place;

  void size(char const* field, std::uint32_t& value) const { optional(field, value); }
  void optional(char const* field, std::uint32_t& value) const {
    value = place.number_or(key_of(field), value);
  }
};

Capacity read_capacity(JsonPlace const& place) {
  Capacity capacity;
  CapacityKeys keys;
  Capacity::fields(capacity, keys);
  place.expect_object(keys.required, keys.extra);
  Capacity::fields(capacity, CapacityReader{place});
  return capacity;
}

OperationMix read_mix(JsonPlace const& place) {
  place.expect_object({}, {"mean_rows", "weights"});
  OperationMix mix;
  mix.mean_rows = place.number_or("mean_rows", mix.mean_rows);
  if (mix.mean_rows == 0) {
    place.at("mean_rows").refuse("must not be 0");
  }
  if (!place.has("weights")) {
    return mix;
  }
  JsonPlace const weights = place.at("weights");
  weights.expect_object();
  std::uint64_t sum = 0;
  for (auto const& [operation, value] : weights.value().items()) {
    mix.weights.emplace_back(operation, weights.at(operation).number());
    sum += mix.weights.back().second;
  }
  if (sum > kLargestWeights) {
    weights.refuse("add up to more than " + std::to_string(kLargestWeights));
  }
  return mix;
}

std::string read_name(JsonPlace const& place) {
  std::string const& name = place.string();
  if (name.empty() || name.size() > kLongestName ||
      name.find_first_not_of(kNameCharacters) != std::string::npos) {
    place.refuse("must be 1 to " + std::to_string(kLongestName) +
                 " letters, digits, dots, dashes and underlines, is " + in_quotes(name));
  }
  return name;
}

std::string read_geometry_file(std::string const& path) {
  std::string text;
  try {
    text = read_file(path, kLargestFile + 1);
  } catch (UnreadableFile const& error) {
    std::vector<std::string> const names = built_in_geometry_names();
    std::string const stem = std::filesystem::path(path).stem().string();
    if (error.code() != ENOENT || std::find(names.begin(), names.end(), stem) == names.end()) {
      throw;
    }
    throw InputError(error.what() + (" (the built-in geometry is named \"" + stem + "\")"));
  }
  if (text.size() > kLargestFile) {
    throw InputError(path + ": is larger than the " + std::to_string(kLargestFile) +
                     " bytes that a geometry file may have");
  }
  return text;
}

Geometry load_built_in(std::string const& reference) {
  std::size_t const space = std::min(reference.find(' '), reference.size());
  std::string const name = reference.substr(0, space);
  for (unsigned i = 0; i < kEmbeddedGeometryCount; ++i) {
    if (name == kEmbeddedGeometries[i].name) {
      Geometry geometry = parse_geometry(kEmbeddedGeometries[i].text, "geometry " + name);
      geometry.built_in = true;
      std::vector<Override> const changes =
          parse_overrides(std::string_view{reference}.substr(space), "geometry " + name);
      return changes.empty() ? geometry : with_overrides(geometry, changes);
    }
  }
  std::vector<std::string> const names = built_in_geometry_names();
  throw InputError("unknown geometry " + in_quotes(name) + did_you_mean(name, names) +
                   "; known: " + join(names) + "; or a path that ends in .json or has a '/'");
}

/// Lets pass only what can be run.
Geometry runnable(Geometry geometry) {
  if (geometry.lacks.empty()) {
    return geometry;
  }
  throw InputError("geometry " + geometry.name + " lacks: " + join(geometry.lacks));
}

bool is_path(std::string const& name_or_path) {
  constexpr std::string_view kEnding = ".json";
  return name_or_path.find('/') != std::string::npos ||
         (name_or_path.size() >= kEnding.size() &&
          name_or_path.compare(name_or_path.size() - kEnding.size(), kEnding.size(), kEnding) == 0);
}

}  // namespace

std::vector<std::string> built_in_geometry_names() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < kEmbeddedGeometryCount; ++i) {
    names.emplace_back(kEmbeddedGeometries[i].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> default_geometry_names() {
  std::vector<std::string> names;
  for (std::string const& name : built_in_geometry_names()) {
    Geometry const geometry = load_built_in(name);
    if (!geometry.full_size && geometry.lacks.empty()) {
      names.push_back(name);
    }
  }
  return names;
}

Geometry load_geometry(std::string const& name_or_path) {
  return runnable(read_geometry(name_or_path));
}

Geometry read_geometry(std::string const& name_or_path) {
  if (is_path(name_or_path)) {
    return parse_geometry(read_geometry_file(name_or_path), name_or_path);
  }
  return load_built_in(name_or_path);
}

Geometry parse_geometry(std::string_view json_text, std::string const& origin) {
  nlohmann::json const document = parse_json(json_text, origin);
  JsonPlace const root(document, origin);
  root.expect_object({"name", "capacity", "layers"},
                     {"page_rows", "chunk_pages", "ranks", "stages", "mix", "full_size"});

  Geometry geometry;
  geometry.name = read_name(root.at("name"));
  geometry.full_size = root.has("full_size") && root.at("full_size").boolean();
  Layout& layout = geometry.layout;
  layout.page_rows = root.number_or("page_rows", layout.page_rows);
  layout.chunk_pages = root.number_or("chunk_pages", layout.chunk_pages);
  layout.ranks = root.number_or("ranks", layout.ranks);
  layout.stages = root.number_or("stages", layout.stages);
  layout.capacity = read_capacity(root.at("capacity"));
  LayerReader reader;
  reader.read(root.at("layers"));
  layout.layers = reader.layers();
  geometry.lacks = lines_of(reader.lacks());
  if (root.has("mix")) {
    geometry.mix = read_mix(root.at("mix"));
  }
  if (Status const status = validate(layout); !status) {
    auto const layer = static_cast<std::size_t>(status.error().layer);  // -1 becomes huge
    std::string const where = layer < reader.paths().size() ? reader.paths()[layer] + ": " : "";
    root.refuse(where + describe(status.error()));
  }
  // Everything in it was understood, so it is shallow and its strings are plain.
  geometry.text = document.dump(-1, ' ', true);
  return geometry;
}

std::string geometry_reference(Geometry const& geometry) {
  return geometry.built_in ? label(geometry) : geometry.text;
}

Geometry geometry_from_reference(std::string const& reference) {
  bool const is_text = !reference.empty() && reference.front() == '{';
  return runnable(is_text ? parse_geometry(reference, "geometry") : load_built_in(reference));
}

}  // namespace holdfast::model
