// SPDX-License-Identifier: Apache-2.0
// Goal: what a prefix entry of every geometry weighs, at every position, is what its model's shape
// says.
// Method: the library's figure, from the plan of the layout, against the formula with figures that
// are written down here, from the published shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <holdfast/layout.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "models/geometry/geometry.hpp"

namespace holdfast::model {
namespace {

/// Bytes of an entry at p tokens: state + p * row + floor(p / pool) * key + (p mod pool) * indexer
/// row, each summed over layers.
struct Figures {
  char const* name;
  std::uint64_t state;
  std::uint64_t row;
  std::uint64_t pool = 1;
  std::uint64_t key = 0;
  std::uint64_t indexer_row = 0;

  [[nodiscard]] std::uint64_t payload(std::uint64_t tokens) const {
    return state + tokens * row + tokens / pool * key + tokens % pool * indexer_row;
  }
};

std::ostream& operator<<(std::ostream& out, Figures const& figures) {
  return out << figures.name;
}

// Attention KV is 2 parts, keys and values, of bf16 unless said; states and pool keys are f32. What
// a geometry lacks is not counted.
constexpr Figures kFigures[] = {
    // 61 and 78 layers: latent 576 bf16, and with a pool of 1 a key of 128 a token.
    {"deepseek-v3.2", 0, 61 * 1152 + 61 * 512},
    {"glm5", 0, 78 * 1152 + 78 * 512},
    // 32 layers: 8 heads x 128, and a state of 128 x 256 x 8 and conv 1536 x 3 each.
    {"falcon-h1", 34'144'256, 32 * 4096},
    // 4 full layers of 26, 4 heads x 256; 18 of 36, 8 heads x 64.
    {"gemma3", 0, 4 * 4096},
    {"gpt-oss", 0, 18 * 2048},
    // 34 states of 64 x 128 x 128 and conv 24576 x 3; 11 latent rows of 512 f32 = 22,528 bytes a
    // token, and 2,048 of a draft layer; 11 keys of 128 for 4 tokens = 1,408 bytes a token; 11 indexer rows of 256.
    {"glm5-next", 152'633'344, 22'528 + 2'048, 4, 4 * 1'408, 11 * 1024},
    // 28 states of 16 x 8192 and conv 8192 x 3; 4 x 8 heads x 128.
    {"jamba", 17'432'576, 4 * 4096},
    // 20 states of 32 x 128 x 128 and conv 12288 x 3; 7 x latent 576 bf16.
    {"kimi-linear", 44'892'160, 7 * 1152},
    // 10 conv windows of 2048 x 2; 6 x 8 heads x 64.
    {"lfm2", 163'840, 6 * 2048},
    // 24 states of 128 x 128 x 64 and conv 10240 x 3; 4 x 8 heads x 128.
    {"nemotron-h", 103'612'416, 4 * 4096},
    // 36 states of 32 x 128 x 128 and conv 8192 x 3: 75.4 MiB; 12 x 2 heads x 256.
    {"qwen3-next", 79'036'416, 12 * 2048},
    // 24 such states; 8 x 4 heads x 256.
    {"qwen3.5-bf16", 52'690'944, 8 * 4096},
    {"qwen3.5", 52'690'944, 0},
    // 48 states of 48 x 128 x 128 and conv 10240 x 3; 16 x 4 heads x 256.
    {"qwen3.6-bf16", 156'893'184, 17 * 4096},
    {"qwen3.6", 156'893'184, 0},
    // The twins, all in a few lines of their files.
    {"deepseek-v3.2-mini", 0, 3 * (36 + 16)},
    {"glm5-mini", 0, 4 * (36 + 16)},
    {"falcon-h1-mini", 3 * 400, 3 * 64},
    {"gemma3-mini", 0, 64},
    {"gpt-oss-mini", 0, 2 * 64},
    {"glm5-next-mini", 4 * 544, 64 + 64, 4, 16, 32},
    {"jamba-mini", 7 * 320, 64},
    {"kimi-linear-mini", 5 * 544, 2 * 48},
    {"lfm2-mini", 4 * 96, 2 * 64},
    {"nemotron-h-mini", 3 * 448, 64},
    {"qwen3-next-mini", 3 * 544, 64},
    {"qwen3.5-mini", 6 * 320, 2 * 64},
    {"qwen3.6-mini", 3 * 432, 64 + 64},
    {"tiny", 2 * 544, 64 + 64, 4, 16, 32},
    {"tiny-draft", 0, 2 * 32 + 2 * 32, 4, 16, 32},
    {"tiny-formats", 0, 3 * 48 + 30 + 60 + 30, 4, 16, 32},
    {"tiny-held", 4 * (5 + 2), 32 + 32},
    {"tiny-ranks", 2 * 448 + 2 * 4 * (3 + 2), 2 * 64 + 64, 4, 16, 32},
    {"tiny-ring", 0, 32 + 2 * 32, 4, 2 * 16, 2 * 32},
    {"tiny-rows", 0, 2 * 64 + 2 * 64, 4, 2 * 16, 2 * 32},
    {"tiny-tight", 544 + 4 * 3, 32 + 32, 2, 16, 32},
};

// Quantized rows as they will be: 34 bytes for 32 keys in q8_0 and 24 for 32 values in q5_1.
static_assert(8 * 4 * 256 / 32 * (34 + 24) == 14'848 && 16 * 4 * 256 / 32 * (34 + 24) == 29'696);

class EntryBytes : public testing::TestWithParam<Figures> {};

TEST_P(EntryBytes, AreThoseOfTheModelAtEveryPosition) {
  Figures const& figures = GetParam();
  Layout const layout = read_geometry(figures.name).layout;
  std::uint32_t const last = layout.capacity.tokens;
  for (std::uint32_t tokens = 0; tokens <= last; tokens += tokens < 70 ? 1 : 1021) {
    auto const bytes = entry_bytes(layout, tokens);
    ASSERT_TRUE(bytes.has_value());
    ASSERT_EQ(*bytes, figures.payload(tokens)) << tokens << " tokens";
  }
  auto const most = entry_bytes(layout, last);
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(*most, figures.payload(last));
  RecordProperty("state", std::to_string(figures.state));
  RecordProperty("full", std::to_string(*most));
  EXPECT_FALSE(entry_bytes(layout, last + 1).has_value());
}

INSTANTIATE_TEST_SUITE_P(All,
                         EntryBytes,
                         testing::ValuesIn(kFigures),
                         [](testing::TestParamInfo<Figures> const& known) {
                           std::string name = known.param.name;
                           std::replace_if(
                               name.begin(),
                               name.end(),
                               [](char letter) { return letter == '-' || letter == '.'; },
                               '_');
                           return name;
                         });

TEST(EntryBytes, AreWrittenDownForEveryGeometry) {
  std::vector<std::string> written;
  for (Figures const& figures : kFigures) {
    written.emplace_back(figures.name);
  }
  std::sort(written.begin(), written.end());
  EXPECT_EQ(written, built_in_geometry_names());
}

}  // namespace
}  // namespace holdfast::model
