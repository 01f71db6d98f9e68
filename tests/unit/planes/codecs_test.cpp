// SPDX-License-Identifier: Apache-2.0
// Goal: whatever is in the list of formats is a codec: its sizes are those of its blocks, blocks are
// independent, and what comes back is as near as the codec says. Method: the same laws over every line
// of the list, with random blocks of every magnitude; a new format needs no test of its own to be here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <holdfast/formats.hpp>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::uint32_t kBlocks = 7;
constexpr std::byte kCanary{0xa5};

float largest_error(Format format) {
  switch (format) {
#define HOLDFAST_FORMAT_ERROR(format, codec, ...) \
  case Format::format:                            \
    return codec::kLargestError;
    HOLDFAST_FORMATS(HOLDFAST_FORMAT_ERROR)
#undef HOLDFAST_FORMAT_ERROR
  }
  return 0.0F;
}

class Codecs : public testing::TestWithParam<Format> {
 protected:
  [[nodiscard]] std::vector<std::byte> encoded(std::vector<float> const& values) const {
    std::vector<std::byte> bytes(stored_bytes(format_, values.size()));
    encode_elements(
        format_, values.data(), static_cast<std::uint32_t>(values.size()), bytes.data());
    return bytes;
  }
  [[nodiscard]] std::vector<float> decoded(std::vector<std::byte> const& bytes,
                                           std::uint32_t count) const {
    std::vector<float> values(count, -77.0F);
    decode_elements(format_, bytes.data(), count, values.data());
    return values;
  }
  /// Blocks whose largest magnitude is near `scale`.
  std::vector<float> draw(float scale) {
    std::vector<float> values(std::size_t{kBlocks} * trait_.block_elements);
    for (float& value : values) {
      state_ = state_ * 1664525U + 1013904223U;
      value = scale * (static_cast<float>(state_ >> 8U) * 0x1p-23F - 1.0F);
    }
    return values;
  }

  Format format_ = GetParam();
  FormatTrait trait_ = trait_of(GetParam());
  std::uint32_t state_ = 1;
};

std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for (std::uint32_t i = 0; i < kFormatCount; ++i) {
    formats.push_back(static_cast<Format>(i));
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(All,
                         Codecs,
                         testing::ValuesIn(all_formats()),
                         [](testing::TestParamInfo<Format> const& known) {
                           return std::string{name_of(known.param)};
                         });

TEST(FormatList, NamesAndNumbersAreOneToOne) {
  std::set<std::string> names;
  for (Format const format : all_formats()) {
    EXPECT_TRUE(is_known(format));
    EXPECT_TRUE(names.insert(name_of(format)).second) << name_of(format);
    EXPECT_GT(trait_of(format).block_elements, 0U);
    EXPECT_LE(trait_of(format).block_elements, kLargestBlock.block_elements);
    EXPECT_GT(trait_of(format).block_bytes, 0U);
  }
  EXPECT_FALSE(is_known(static_cast<Format>(kFormatCount)));
  EXPECT_STREQ(name_of(static_cast<Format>(kFormatCount)), "unknown");
  // Fingerprints of layouts hold the numbers.
  EXPECT_EQ(static_cast<int>(Format::kF32), 0);
  EXPECT_EQ(static_cast<int>(Format::kF16), 1);
  EXPECT_EQ(static_cast<int>(Format::kBf16), 2);
}

TEST_P(Codecs, ABlockHasTheBytesOfTheTable) {
  EXPECT_EQ(stored_bytes(format_, trait_.block_elements), trait_.block_bytes);
  EXPECT_EQ(stored_bytes(format_, std::uint64_t{trait_.block_elements} << 32U),
            std::uint64_t{trait_.block_bytes} << 32U);
  std::vector<float> const values = draw(3.0F);
  auto const count = static_cast<std::uint32_t>(values.size());
  std::size_t const bytes = std::size_t{kBlocks} * trait_.block_bytes;
  ASSERT_EQ(stored_bytes(format_, count), bytes);
  // Every byte is written, whatever was there, and none behind.
  std::vector<std::byte> first(bytes + 1, kCanary);
  std::vector<std::byte> second(bytes + 1, ~kCanary);
  encode_elements(format_, values.data(), count, first.data());
  encode_elements(format_, values.data(), count, second.data());
  EXPECT_EQ(first.back(), kCanary);
  EXPECT_EQ(second.back(), ~kCanary);
  EXPECT_TRUE(std::equal(first.begin(), first.end() - 1, second.begin()));
  std::vector<float> back(count + 1, -77.0F);
  decode_elements(format_, first.data(), count, back.data());
  EXPECT_EQ(back.back(), -77.0F);
}

TEST_P(Codecs, EveryBlockIsStoredByItself) {
  std::vector<float> const values = draw(100.0F);
  std::vector<std::byte> const all = encoded(values);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(block) * trait_.block_elements;
    std::vector<std::byte> const one = encoded({first, first + trait_.block_elements});
    EXPECT_EQ(0, std::memcmp(one.data(), all.data() + block * one.size(), one.size())) << block;
  }
}

TEST_P(Codecs, WhatComesBackIsNearAndComesBackAgain) {
  for (float scale = 0x1p-8F; scale < 0x1p15F; scale *= 3.0F) {
    std::vector<float> const values = draw(scale);
    auto const count = static_cast<std::uint32_t>(values.size());
    std::vector<float> const once = decoded(encoded(values), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t const block = i / trait_.block_elements * trait_.block_elements;
      float largest = 0.0F;
      for (std::uint32_t j = block; j < block + trait_.block_elements; ++j) {
        largest = std::max(largest, std::fabs(values[j]));
      }
      ASSERT_LE(std::fabs(once[i] - values[i]), largest_error(format_) * largest)
          << values[i] << " in a block of " << largest;
    }
    EXPECT_EQ(decoded(encoded(once), count), once) << scale;
  }
}

TEST_P(Codecs, ZerosAreZeros) {
  std::vector<float> const zeros(std::size_t{kBlocks} * trait_.block_elements, 0.0F);
  EXPECT_EQ(decoded(encoded(zeros), static_cast<std::uint32_t>(zeros.size())), zeros);
}

}  // namespace
}  // namespace holdfast::test
