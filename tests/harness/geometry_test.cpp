// SPDX-License-Identifier: Apache-2.0
// Goal: every built-in geometry is usable and means what its model's name says, and a user who
// writes one learns what is wrong and where. Method: load all; break one good text in one place at
// a time and compare the whole message.
#include "models/geometry/geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/geometry/nearest.hpp"

namespace holdfast::model {
namespace {

std::string refusal(std::string const& text) {
  try {
    static_cast<void>(parse_geometry(text, "x.json"));
  } catch (InputError const& error) {
    return error.what();
  }
  return "accepted";
}

std::string load_refusal(std::string const& name_or_path) {
  try {
    static_cast<void>(load_geometry(name_or_path));
  } catch (InputError const& error) {
    return error.what();
  }
  return "accepted";
}

constexpr std::string_view kGood = R"({"name": "x", "page_rows": 4, "chunk_pages": 2,
  "capacity": {"tokens": 64, "largest_round": 8},
  "layers": [
    {"repeat": 2, "planes": [{"kind": "recurrent", "heads": 1, "d_k": 8, "d_v": 8}]},
    {"planes": [{"kind": "attention_kv", "heads": 2, "head_dim": 4},
                {"kind": "latent", "width": 12},
                {"kind": "indexer", "index_width": 8, "pool": 4, "key_width": 4, "ring_rows": 12}]}
  ],
  "mix": {"weights": {"append": 3, "accept": 1}}})";

// The good text with one piece of it replaced.
std::string with(std::string_view piece, std::string_view other) {
  std::string text(kGood);
  std::size_t const at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), other);
}

// One letter a plane, layers apart by spaces; "-" is a layer without planes.
std::string pattern(Layout const& layout) {
  std::string letters;
  for (Layer const& layer : layout.layers) {
    letters += letters.empty() ? "" : " ";
    letters += layer.planes.empty() ? "-" : "";
    for (PlaneSpec const& plane : layer.planes) {
      letters += "KLIRHkl"[plane.index()];
    }
  }
  return letters;
}

TEST(Geometry, BuiltInOnesLoadAndValidate) {
  for (std::string const& name : built_in_geometry_names()) {
    SCOPED_TRACE(name);
    Geometry const geometry = read_geometry(name);
    EXPECT_EQ(geometry.name, name);
    EXPECT_TRUE(geometry.built_in);
    EXPECT_TRUE(validate(geometry.layout).has_value());
    EXPECT_EQ(geometry.text.find('\n'), std::string::npos);
    EXPECT_GE(geometry.layout.layers.size(), 3U);
    bool const is_small = name.ends_with("-mini") || name.starts_with("tiny");
    EXPECT_EQ(geometry.full_size, !is_small);
    if (is_small) {
      EXPECT_EQ(geometry.layout.page_rows, name == "tiny-ring" ? 8U : 4U);
      EXPECT_EQ(geometry.mix.mean_rows, kMeanRows);
      EXPECT_LE(geometry.mix.weights.size(), 1U);  // what differs
    } else {
      EXPECT_EQ(geometry.layout.capacity.tokens, 32768U);
    }
  }
}

// Every model has its twin; the bf16 form of a model has the model's.
TEST(Geometry, EveryModelHasATwin) {
  std::vector<std::string> const names = built_in_geometry_names();
  for (std::string const& name : names) {
    if (read_geometry(name).full_size) {
      std::string const twin = name.substr(0, name.find("-bf16")) + "-mini";
      EXPECT_NE(std::find(names.begin(), names.end(), twin), names.end()) << twin;
    }
  }
}

TEST(Geometry, TheDefaultOnesAreSmallAndLackNothing) {
  EXPECT_EQ(default_geometry_names(),
            (std::vector<std::string>{"deepseek-v3.2-mini",
                                      "falcon-h1-mini",
                                      "glm5-mini",
                                      "glm5-next-mini",
                                      "jamba-mini",
                                      "kimi-linear-mini",
                                      "lfm2-mini",
                                      "nemotron-h-mini",
                                      "qwen3-next-mini",
                                      "qwen3.5-mini",
                                      "qwen3.6-mini",
                                      "tiny",
                                      "tiny-draft",
                                      "tiny-formats",
                                      "tiny-held",
                                      "tiny-ranks",
                                      "tiny-ring",
                                      "tiny-rows",
                                      "tiny-tight"}));
}

TEST(Geometry, WhatIsLackingIsListedAndRefusedToRun) {
  std::pair<char const*, std::vector<std::string>> const lacking[] = {
      {"gemma3", {"sliding-window KV (layer 0 and 21 others)"}},
      {"gemma3-mini", {"sliding-window KV (layer 0 and 4 others)"}},
      {"gpt-oss", {"sliding-window KV (layer 0 and 17 others)"}},
      {"gpt-oss-mini", {"sliding-window KV (layer 0 and 1 other)"}},
      {"qwen3.5", {"format q8_0 (layer 3 and 7 others)", "format q5_1 (layer 3 and 7 others)"}},
      {"qwen3.6", {"format q8_0 (layer 3 and 16 others)", "format q5_1 (layer 3 and 16 others)"}}};
  std::size_t found = 0;
  for (std::string const& name : built_in_geometry_names()) {
    Geometry const geometry = read_geometry(name);
    if (geometry.lacks.empty()) {
      EXPECT_EQ(load_refusal(name), "accepted");
      continue;
    }
    ASSERT_LT(found, std::size(lacking)) << name;
    EXPECT_EQ(name, lacking[found].first);
    EXPECT_EQ(geometry.lacks, lacking[found].second) << name;
    EXPECT_EQ(load_refusal(name).find("geometry " + name + " lacks: " + geometry.lacks[0]), 0U);
    EXPECT_THROW(static_cast<void>(geometry_from_reference(name)), InputError);
    EXPECT_THROW(static_cast<void>(geometry_from_reference(geometry.text)), InputError);
    ++found;
  }
  EXPECT_EQ(found, std::size(lacking));
  EXPECT_EQ(load_refusal("gpt-oss"),
            "geometry gpt-oss lacks: sliding-window KV (layer 0 and 17 others)");
}

TEST(Geometry, ValuesMayHaveAFormatOfTheirOwn) {
  for (FormatTrait const& trait : kFormatTraits) {
    std::string const dim = std::to_string(8 * trait.block_elements);
    std::string const keys = ", \"format\": \"bf16\"";
    std::string const values = ", \"value_format\": \"" + std::string{trait.name} + "\"";
    auto const read = [&](std::string const& formats) {
      Geometry const geometry =
          parse_geometry(with("\"head_dim\": 4", "\"head_dim\": " + dim + formats), "x");
      return std::get<AttentionKvSpec>(geometry.layout.layers[2].planes[0]);
    };
    EXPECT_EQ(read(keys).value_format, std::nullopt);
    EXPECT_EQ(read(keys).format, Format::kBf16);
    EXPECT_EQ(read(keys + values).format, Format::kBf16);
    EXPECT_STREQ(name_of(read(keys + values).value_format.value()), trait.name);
  }
}

TEST(Geometry, RefusesWhatIsNoneOfTheLackingNames) {
  EXPECT_EQ(
      refusal(with(R"("kind": "latent", "width": 12)", R"("kind": "sliding_kv", "heads": 1)")),
      "x.json: layers[1].planes[1]: missing key \"head_dim\"");
  EXPECT_EQ(refusal(with("\"width\": 12", R"("width": 12, "value_format": "q5_1")")),
            "x.json: layers[1].planes[1]: unknown key \"value_format\"");
  EXPECT_EQ(refusal(with("\"x\",", R"("x", "full_size": 1,)")),
            "x.json: full_size: must be true or false, is number");
}

/// The patterns of layers that are written down shorter.
std::string repeated(std::string const& block, unsigned times) {
  std::string all;
  for (unsigned i = 0; i < times; ++i) {
    all += (all.empty() ? "" : " ") + block;
  }
  return all;
}

TEST(Geometry, BuiltInOnesKeepThePatternOfTheirModel) {
  std::string const nemotron =
      "R - R - R - R K" + (" " + repeated("- R - R - R - R - R K", 3)) + " - R - R - R - R - R -";
  std::pair<char const*, std::string> const patterns[] = {
      {"deepseek-v3.2", repeated("LI", 61)},
      {"deepseek-v3.2-mini", "LI LI LI"},
      {"falcon-h1", repeated("KR", 32)},
      {"falcon-h1-mini", "KR KR KR"},
      {"gemma3", repeated("- - - - - K", 4) + " - -"},  // "-": sliding-window KV
      {"gemma3-mini", "- - - - - K"},
      {"glm5", repeated("LI", 78)},
      {"glm5-mini", "LI LI LI LI"},
      {"glm5-next", repeated("R R R LI", 11) + " R l"},  // "l": the draft layer
      {"glm5-next-mini", "R R R LI R l"},
      {"gpt-oss", repeated("- K", 18)},  // "-": sliding-window KV
      {"gpt-oss-mini", "- K - K"},
      {"jamba", repeated("R R R R K R R R", 4)},
      {"jamba-mini", "R R R R K R R R"},
      {"kimi-linear", repeated("R R R L", 6) + " R R L"},
      {"kimi-linear-mini", "R R R L R R L"},
      {"lfm2", "R R K R R K R R K R K R K R K R"},
      {"lfm2-mini", "R R K R K R"},
      {"nemotron-h", nemotron},
      {"nemotron-h-mini", "R - R K - R -"},
      {"qwen3-next", repeated("R R R K", 12)},
      {"qwen3-next-mini", "R R R K"},
      {"qwen3.5", repeated("R R R -", 8)},  // "-": quantized KV
      {"qwen3.5-bf16", repeated("R R R K", 8)},
      {"qwen3.5-mini", "R R R K R R R K"},
      {"qwen3.6", repeated("R R R -", 16) + " -"},
      {"qwen3.6-bf16", repeated("R R R K", 16) + " k"},
      {"qwen3.6-mini", "R R R K k"},
      {"tiny", "R K LI R"},
      {"tiny-draft", "K LI k l"},
      {"tiny-formats", "K K K LI L L"},
      {"tiny-held", "KH - H K"},
      {"tiny-ranks", "R KH LI K RH"},
      {"tiny-ring", "LI - K LI"},
      {"tiny-rows", "K LI K LI"},
      {"tiny-tight", "RH LI - K"}};
  std::vector<std::string> written;
  for (auto const& [name, layers] : patterns) {
    EXPECT_EQ(pattern(read_geometry(name).layout), layers) << name;
    written.emplace_back(name);
  }
  std::sort(written.begin(), written.end());
  EXPECT_EQ(written, built_in_geometry_names());
}

// A kind that no run meets is a kind that no invariant looks at.
TEST(Geometry, BuiltInOnesHaveEveryPlaneKind) {
  bool met[kPlaneKindCount] = {};
  for (std::string const& name : built_in_geometry_names()) {
    for (Layer const& layer : read_geometry(name).layout.layers) {
      for (PlaneSpec const& spec : layer.planes) {
        std::visit(
            [&](auto const& known) {
              known.describe([&](auto const& plane) { met[static_cast<int>(plane.kind)] = true; });
            },
            spec);
      }
    }
  }
  for (std::uint32_t kind = 0; kind < kPlaneKindCount; ++kind) {
    EXPECT_TRUE(met[kind]) << "no built-in geometry has " << name_of(static_cast<PlaneKind>(kind));
  }
}

TEST(Geometry, ReadsEveryField) {
  Geometry const geometry = load_geometry("tiny");
  Layout const& layout = geometry.layout;
  EXPECT_EQ(layout.page_rows, 4U);
  EXPECT_EQ(layout.chunk_pages, 2U);
  EXPECT_EQ(layout.ranks, 1U);
  EXPECT_EQ(layout.capacity.sequences, 4U);
  EXPECT_EQ(layout.capacity.tokens, 64U);
  EXPECT_EQ(layout.capacity.largest_round, 8U);
  EXPECT_EQ(layout.capacity.snapshots, 6U);
  EXPECT_EQ(load_geometry("kimi-linear-mini").layout.capacity.pages, 40U);
  auto const& state = std::get<RecurrentSpec>(layout.layers[0].planes[0]);
  EXPECT_EQ(state.conv_segments, (std::vector<std::uint32_t>{8, 8, 8}));
  EXPECT_EQ(state.kernel, 4U);
  EXPECT_EQ(state.heads, 1U);
  EXPECT_EQ(state.d_k, 8U);
  EXPECT_EQ(state.d_v, 8U);
  auto const& kv = std::get<AttentionKvSpec>(layout.layers[1].planes[0]);
  EXPECT_EQ(kv.heads, 1U);
  EXPECT_EQ(kv.head_dim, 8U);
  EXPECT_EQ(std::get<LatentSpec>(layout.layers[2].planes[0]).width, 16U);
  auto const& indexer = std::get<IndexerSpec>(layout.layers[2].planes[1]);
  EXPECT_EQ(indexer.index_width, 8U);
  EXPECT_EQ(indexer.pool, 4U);
  EXPECT_EQ(indexer.key_width, 4U);
  EXPECT_EQ(indexer.ring_rows, 16U);
}

TEST(Geometry, MissingFieldsKeepTheirDefaults) {
  Geometry const geometry = parse_geometry(R"({"name": "x", "capacity": {"tokens": 8}, "mix": {},
                         "layers": [{"planes": [{"kind": "latent", "width": 1}]}]})",
                                           "x.json");
  Layout const fallback;
  EXPECT_EQ(geometry.layout.page_rows, fallback.page_rows);
  EXPECT_EQ(geometry.layout.chunk_pages, fallback.chunk_pages);
  EXPECT_EQ(geometry.layout.ranks, fallback.ranks);
  EXPECT_EQ(geometry.layout.capacity.sequences, fallback.capacity.sequences);
  EXPECT_EQ(geometry.layout.capacity.snapshots, fallback.capacity.snapshots);
  EXPECT_EQ(geometry.mix.mean_rows, OperationMix().mean_rows);
  EXPECT_TRUE(geometry.mix.weights.empty());
  EXPECT_FALSE(geometry.built_in);
}

/// Numbers the capacities, or writes their numbers down.
struct CapacityNumberer {
  std::string& text;
  std::uint32_t count = 0;

  void size(std::string_view field, std::uint32_t& value) {
    value = 10 + count++;
    text += (text.empty() ? "" : ", ") + ("\"" + std::string{field.substr(field.find('.') + 1)}) +
            "\": " + std::to_string(value);
  }
  void optional(std::string_view field, std::uint32_t& value) { size(field, value); }
};

TEST(Geometry, EveryCapacityIsRead) {
  Capacity wanted;
  std::string text;
  CapacityNumberer numberer{text};
  Capacity::fields(wanted, numberer);
  EXPECT_EQ(numberer.count * sizeof(std::uint32_t), sizeof(Capacity)) << "a field is not visited";
  Geometry const geometry = parse_geometry(R"({"name": "x", "capacity": {)" + text + R"(},
                         "layers": [{"planes": [{"kind": "latent", "width": 1}]}]})",
                                           "x.json");
  Capacity found = geometry.layout.capacity;
  EXPECT_EQ(std::memcmp(&found, &wanted, sizeof found), 0) << text;
  EXPECT_EQ(with_overrides(geometry, {{"step_rows", 21}}).layout.capacity.step_rows, 21U);
}

TEST(Geometry, WeightsComeInTheOrderOfNames) {
  std::vector<std::pair<std::string, unsigned>> const expected = {{"accept", 1}, {"append", 3}};
  EXPECT_EQ(parse_geometry(kGood, "x.json").mix.weights, expected);
}

TEST(Geometry, UnrollsNestedGroups) {
  std::string const text =
      with(R"({"repeat": 2, "planes": [{"kind": "recurrent", "heads": 1, "d_k": 8, "d_v": 8}]})",
           R"({"repeat": 2, "layers": [{"repeat": 3, "planes": [{"kind": "latent", "width": 1}]},
                                  {"planes": []}]})");
  EXPECT_EQ(pattern(parse_geometry(text, "x.json").layout), "L L L - L L L - KLI");
}

TEST(Geometry, ReferencesLeadBack) {
  for (std::string const& name : default_geometry_names()) {
    Geometry const geometry = load_geometry(name);
    EXPECT_EQ(geometry_reference(geometry), name);
    Geometry const again = geometry_from_reference(name);
    EXPECT_EQ(again.text, geometry.text);
    EXPECT_TRUE(again.built_in);

    // The same layout as a user's own: its reference is its text, also when the name is taken.
    Geometry const own = parse_geometry(geometry.text, "own");
    EXPECT_EQ(geometry_reference(own), geometry.text);
    Geometry const own_again = geometry_from_reference(geometry_reference(own));
    EXPECT_EQ(own_again.text, own.text);
    EXPECT_EQ(own_again.name, own.name);
    EXPECT_EQ(own_again.mix.weights, own.mix.weights);
    EXPECT_EQ(pattern(own_again.layout), pattern(own.layout));
    EXPECT_FALSE(own_again.built_in);
  }
}

TEST(Geometry, ReferenceNeverReadsAFile) {
  std::string const path = testing::TempDir() + "holdfast_geometry_reference.json";
  std::ofstream(path) << kGood;
  EXPECT_EQ(load_refusal(path), "accepted");
  EXPECT_THROW(static_cast<void>(geometry_from_reference(path)), InputError);
  EXPECT_THROW(static_cast<void>(geometry_from_reference("")), InputError);
}

TEST(Geometry, LoadsAFile) {
  std::string const path = testing::TempDir() + "holdfast_geometry_file.json";
  std::ofstream(path) << kGood;
  Geometry const geometry = load_geometry(path);
  EXPECT_EQ(geometry.name, "x");
  EXPECT_EQ(geometry.text, parse_geometry(kGood, "x.json").text);
  std::ofstream(path) << "{\"name\": \"x\",\n 7}";
  EXPECT_EQ(load_refusal(path).find(path + ":2:2: bad JSON: "), 0U) << load_refusal(path);
  std::ofstream(path) << std::string((std::size_t{1} << 20U) + 1, ' ');
  EXPECT_EQ(load_refusal(path),
            path + ": is larger than the 1048576 bytes that a geometry file may have");
}

TEST(Geometry, RefusesFilesThatCannotBeRead) {
  EXPECT_EQ(load_refusal("/no/such/folder/x.json"),
            "/no/such/folder/x.json: cannot be read: No such file or directory");
  EXPECT_EQ(load_refusal("/no/such/folder/tiny.json"),
            "/no/such/folder/tiny.json: cannot be read: No such file or directory (the built-in "
            "geometry is named \"tiny\")");
  EXPECT_EQ(load_refusal("/"), "/: cannot be read: Is a directory");
  EXPECT_EQ(load_refusal("a\nb/x").find('\n'), std::string::npos);
}

TEST(Geometry, RefusesUnknownNames) {
  std::string known;
  for (std::string const& name : built_in_geometry_names()) {
    known += (known.empty() ? "" : ", ") + name;
  }
  std::string const end = "; known: " + known + "; or a path that ends in .json or has a '/'";
  EXPECT_EQ(load_refusal("tinny"), "unknown geometry \"tinny\" (did you mean \"tiny\"?)" + end);
  EXPECT_EQ(load_refusal("qwen3-nexd"),
            "unknown geometry \"qwen3-nexd\" (did you mean \"qwen3-next\"?)" + end);
  EXPECT_EQ(load_refusal("zebra"), "unknown geometry \"zebra\"" + end);
  EXPECT_EQ(load_refusal(""), "unknown geometry \"\"" + end);
}

TEST(Geometry, RefusesBadJsonByLineAndColumn) {
  EXPECT_EQ(refusal("{\"name\": \"x\",\n  }").find("x.json:2:3: bad JSON: "), 0U);
  EXPECT_EQ(refusal("").find("x.json:1:1: bad JSON: "), 0U);
  EXPECT_EQ(refusal("{}\n\n{").find("x.json:3:1: bad JSON: "), 0U);
  EXPECT_EQ(refusal("{\"a\xff\": 1}").find("x.json:1:4: bad JSON: "), 0U);
  EXPECT_EQ(refusal(R"({"name": "x", "capacity": {"tokens": 1, "tokens": 2}})"),
            "x.json: capacity.tokens: stands twice in one object");
  EXPECT_EQ(refusal(R"({"layers": [1, {"repeat": 1e999}]})"),
            "x.json: layers[1].repeat: is a number too large for any number type");
  std::string const deep = refusal(std::string(100000, '['));
  EXPECT_NE(deep.find("is nested more than 32 deep"), std::string::npos) << deep;
}

TEST(Geometry, RefusesKeys) {
  EXPECT_EQ(refusal(with("\"page_rows\"", "\"page_row\"")),
            "x.json: unknown key \"page_row\" (did you mean \"page_rows\"?)");
  EXPECT_EQ(refusal(with("\"head_dim\": 4", "\"head_dim\": 4, \"window\": 8")),
            "x.json: layers[1].planes[0]: unknown key \"window\"");
  EXPECT_EQ(refusal(with("\"tokens\": 64, ", "")), "x.json: capacity: missing key \"tokens\"");
  EXPECT_EQ(refusal(with("\"width\": 12", "\"format\": \"f32\"")),
            "x.json: layers[1].planes[1]: missing key \"width\"");
  EXPECT_EQ(refusal(with("\"kind\": \"latent\", ", "")),
            "x.json: layers[1].planes[1]: missing key \"kind\"");
  EXPECT_EQ(refusal(with("\"weights\"", "\"we ights\\n\"")),
            "x.json: mix: unknown key \"we ights\\n\" (did you mean \"weights\"?)");
  EXPECT_EQ(refusal("{}"), "x.json: missing key \"name\"");
}

TEST(Geometry, RefusesTypes) {
  EXPECT_EQ(refusal("[]"), "x.json: must be an object, is array");
  EXPECT_EQ(refusal(with("\"x\"", "7")), "x.json: name: must be a string, is number");
  EXPECT_EQ(refusal(with("\"x\"", "\"a b\"")),
            "x.json: name: must be 1 to 64 letters, digits, dots, dashes and underlines, is "
            "\"a b\"");
  EXPECT_EQ(refusal(with("12", "\"12\"")),
            "x.json: layers[1].planes[1].width: must be a number, is string");
  EXPECT_EQ(refusal(with("{\"append\": 3, \"accept\": 1}", "[]")),
            "x.json: mix.weights: must be an object, is array");
  EXPECT_EQ(refusal(with("{\"kind\": \"latent\", \"width\": 12}", "null")),
            "x.json: layers[1].planes[1]: must be an object, is null");
  std::string known;
  for (FormatTrait const& trait : kFormatTraits) {
    known += (known.empty() ? "" : ", ") + std::string{trait.name};
  }
  EXPECT_EQ(refusal(with("\"width\": 12", "\"width\": 12, \"format\": \"f64\"")),
            "x.json: layers[1].planes[1].format: unknown format \"f64\" (known: " + known + ")");
}

TEST(Geometry, RefusesNumbersThatAreNoSizes) {
  std::string const start =
      "x.json: capacity.tokens: must be a whole number from 0 to 4294967295, ";
  EXPECT_EQ(refusal(with("64", "-64")), start + "is -64");
  EXPECT_EQ(refusal(with("64", "6.5")), start + "is 6.5");
  EXPECT_EQ(refusal(with("64", "4294967296")), start + "is 4294967296");
  EXPECT_EQ(refusal(with("64", "1e30")), start + "is 1e+30");
  EXPECT_EQ(refusal(with("64", "99999999999999999999")), start + "is 1e+20");
}

TEST(Geometry, RefusesUnknownKinds) {
  std::string const end =
      "; known: attention_kv, latent, indexer, recurrent, held, draft_kv, "
      "draft_latent";
  EXPECT_EQ(
      refusal(with("\"latent\"", "\"sliding\"")),
      "x.json: layers[1].planes[1].kind: layer 2 has a plane of unknown kind \"sliding\"" + end);
  EXPECT_EQ(refusal(with("\"recurrent\"", "\"recurent\"")),
            "x.json: layers[0].planes[0].kind: layer 0 has a plane of unknown kind \"recurent\" "
            "(did you mean \"recurrent\"?)" +
                end);
}

TEST(Geometry, RefusesLayerGroups) {
  EXPECT_EQ(refusal(with("\"repeat\": 2", "\"repeat\": 0")),
            "x.json: layers[0].repeat: must not be 0");
  EXPECT_EQ(refusal(with("\"repeat\": 2", "\"repeat\": 4294967295")),
            "x.json: layers[0]: makes more than 4096 layers");
  EXPECT_EQ(refusal(with("\"repeat\": 2", "\"layers\": []")),
            "x.json: layers[0]: must have one of the keys \"planes\" and \"layers\"");
  EXPECT_EQ(refusal(R"({"name": "x", "capacity": {"tokens": 8}, "layers": [{}]})"),
            "x.json: layers[0]: must have one of the keys \"planes\" and \"layers\"");
}

TEST(Geometry, RefusesMixes) {
  EXPECT_EQ(refusal(with("\"append\": 3", "\"append\": 4294967295")),
            "x.json: mix.weights: add up to more than 16777216");
  EXPECT_EQ(refusal(with("\"append\": 3", "\"append\": -3")),
            "x.json: mix.weights.append: must be a whole number from 0 to 4294967295, is -3");
  EXPECT_EQ(refusal(with("\"weights\"", "\"mean_rows\": 0, \"weights\"")),
            "x.json: mix.mean_rows: must not be 0");
}

// What the library refuses: its own words, with layer and field.
TEST(Geometry, RefusesLayouts) {
  std::string ranks = with("\"heads\": 2", "\"heads\": 3");
  ranks.replace(ranks.find("\"heads\": 1"), 10, "\"heads\": 2");
  ranks.replace(ranks.find("\"page_rows\""), 0, "\"ranks\": 2, ");
  EXPECT_EQ(refusal(ranks),
            "x.json: layers[1]: kInvalidArgument: layer 2, attention_kv.heads: does not divide "
            "over the ranks (3 against 2)");
  EXPECT_EQ(refusal(with("\"ring_rows\": 12", "\"ring_rows\": 8")),
            "x.json: layers[1]: kInvalidArgument: layer 2, indexer.ring_rows: is less than pool - "
            "1 + the largest round (8 against 11)");
  EXPECT_EQ(refusal(with("\"head_dim\": 4", "\"head_dim\": 0")),
            "x.json: layers[1]: kInvalidArgument: layer 2, attention_kv.head_dim: must not be 0");
  EXPECT_EQ(refusal(with("\"tokens\": 64", "\"tokens\": 0")),
            "x.json: kInvalidArgument: capacity.tokens: must not be 0");
  EXPECT_EQ(refusal(R"({"name": "x", "capacity": {"tokens": 8}, "layers": []})"),
            "x.json: kInvalidArgument: layers: must not be empty");
}

TEST(Nearest, FindsOnlyWhatIsClose) {
  std::vector<std::string> const known = {"heads", "head_dim", "kind"};
  EXPECT_EQ(nearest("heds", known), "heads");
  EXPECT_EQ(nearest("head", known), "heads");
  EXPECT_EQ(nearest("head_d", known), "head_dim");
  EXPECT_EQ(nearest("xy", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest(std::string(10000, 'h'), known), "");
}

}  // namespace
}  // namespace holdfast::model
