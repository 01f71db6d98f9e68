// SPDX-License-Identifier: Apache-2.0
// Goal: narrowing rounds to the nearest value, ties to even, and widening is exact.
// Method: every pattern of the narrow formats, what lies around it, and f32 patterns all over the
// range, against a search in the table of all values, whose entries come from the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <holdfast/formats.hpp>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct NarrowFormat {
  char const* name;
  int fraction_bits;
  int bias;
  std::uint16_t infinity;
  std::uint16_t quiet_nan;
  std::uint16_t (*narrow)(float value) noexcept;
  float (*widen)(std::uint16_t bits) noexcept;
};

std::ostream& operator<<(std::ostream& out, NarrowFormat const& format) {
  return out << format.name;
}

constexpr NarrowFormat kNarrowFormats[] = {
    {"f16", 10, 15, 0x7c00, 0x7e00, &narrow_to_f16, &widen_f16},
    {"bf16", 7, 127, 0x7f80, 0x7fc0, &narrow_to_bf16, &widen_bf16}};

// The value of a pattern without sign, infinity counted as the next finite one would be.
double value_of(NarrowFormat const& format, std::uint32_t magnitude) {
  std::uint32_t const fraction = magnitude & ((1U << format.fraction_bits) - 1);
  int const exponent = static_cast<int>(magnitude >> format.fraction_bits);
  int const scale = std::max(exponent, 1) - format.bias - format.fraction_bits;
  double const hidden = exponent == 0 ? 0 : std::ldexp(1.0, format.fraction_bits);
  return std::ldexp(hidden + fraction, scale);
}

class Formats : public testing::TestWithParam<NarrowFormat> {
 protected:
  Formats() {
    for (std::uint32_t magnitude = 0; magnitude <= format_.infinity; ++magnitude) {
      values_.push_back(value_of(format_, magnitude));
    }
  }

  // The nearest pattern, by search; ties go to the even one.
  [[nodiscard]] std::uint16_t nearest(float value) const {
    if (std::isnan(value)) {
      return format_.quiet_nan;
    }
    double const magnitude = std::fabs(static_cast<double>(value));
    auto above = static_cast<std::uint32_t>(
        std::lower_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    if (above == values_.size()) {
      above = format_.infinity;
    } else if (above != 0) {
      double const up = values_[above] - magnitude;
      double const down = magnitude - values_[above - 1];
      above -= down < up || (down == up && above % 2 == 1) ? 1 : 0;
    }
    return static_cast<std::uint16_t>(above | (std::signbit(value) ? 0x8000U : 0U));
  }
  void expect_nearest(float value) const {
    for (float const signed_value : {value, -value}) {
      ASSERT_EQ(format_.narrow(signed_value), nearest(signed_value))
          << format_.name << " of " << std::hexfloat << signed_value;
    }
  }

  NarrowFormat format_ = GetParam();
  std::vector<double> values_;  // by pattern without sign
};

INSTANTIATE_TEST_SUITE_P(All,
                         Formats,
                         testing::ValuesIn(kNarrowFormats),
                         [](testing::TestParamInfo<NarrowFormat> const& known) {
                           return std::string{known.param.name};
                         });

TEST_P(Formats, EveryPatternWidensExactlyAndComesBack) {
  for (std::uint32_t pattern = 0; pattern <= 0xffffU; ++pattern) {
    auto const bits = static_cast<std::uint16_t>(pattern);
    float const wide = format_.widen(bits);
    std::uint32_t const magnitude = pattern & 0x7fffU;
    if (magnitude > format_.infinity) {
      ASSERT_TRUE(std::isnan(wide)) << pattern;
      ASSERT_EQ(format_.narrow(wide), format_.quiet_nan) << pattern;
      continue;
    }
    ASSERT_EQ(std::signbit(wide), pattern >= 0x8000U) << pattern;
    ASSERT_EQ(std::fabs(static_cast<double>(wide)),
              magnitude == format_.infinity ? std::numeric_limits<double>::infinity()
                                            : values_[magnitude])
        << pattern;
    ASSERT_EQ(format_.narrow(wide), bits) << pattern;
  }
}

// Halfway between two neighbours, one step of f32 to both sides of it, and of both neighbours.
TEST_P(Formats, TiesGoToTheEvenNeighbour) {
  for (std::uint32_t low = 0; low < format_.infinity; ++low) {
    auto const tie = static_cast<float>((values_[low] + values_[low + 1]) / 2);
    for (float const center : {static_cast<float>(values_[low]), tie}) {
      expect_nearest(center);
      expect_nearest(float_of(bits_of(center) + 1));
      if (bits_of(center) != 0) {
        expect_nearest(float_of(bits_of(center) - 1));
      }
    }
  }
}

TEST_P(Formats, F32PatternsAllOverTheRange) {
  constexpr std::uint32_t kStep = 1021;  // a prime: all low bits are met
  for (std::uint64_t pattern = 0; pattern < 0x7f800000U; pattern += kStep) {
    expect_nearest(float_of(static_cast<std::uint32_t>(pattern)));
  }
  expect_nearest(std::numeric_limits<float>::max());
  expect_nearest(std::numeric_limits<float>::denorm_min());
}

TEST_P(Formats, InfinityStaysAndEveryNanIsTheQuietOne) {
  EXPECT_EQ(format_.narrow(std::numeric_limits<float>::infinity()), format_.infinity);
  EXPECT_EQ(format_.narrow(-std::numeric_limits<float>::infinity()), format_.infinity | 0x8000);
  for (std::uint32_t payload = 1; payload < 0x800000U; payload = payload * 3 + 1) {
    EXPECT_EQ(format_.narrow(float_of(0x7f800000U | payload)), format_.quiet_nan) << payload;
    EXPECT_EQ(format_.narrow(float_of(0xff800000U | payload)), format_.quiet_nan) << payload;
  }
}

TEST(FormatElements, ComeBackFromEveryFormat) {
  std::vector<float> const values = {0.0F, -1.0F, 1.5F, 65536.0F, 0x1p-24F, 257.0F, 2049.0F};
  struct Case {
    Format format;
    std::vector<float> stored;
  };
  for (Case const& known :
       {Case{Format::kF32, values},
        Case{
            Format::kF16,
            {0.0F, -1.0F, 1.5F, std::numeric_limits<float>::infinity(), 0x1p-24F, 257.0F, 2048.0F}},
        Case{Format::kBf16, {0.0F, -1.0F, 1.5F, 65536.0F, 0x1p-24F, 256.0F, 2048.0F}}}) {
    auto const count = static_cast<std::uint32_t>(values.size());
    std::vector<std::byte> bytes(stored_bytes(known.format, count) + 1, std::byte{0xab});
    encode_elements(known.format, values.data(), count, bytes.data());
    EXPECT_EQ(bytes.back(), std::byte{0xab}) << name_of(known.format);
    std::vector<float> back(values.size());
    decode_elements(known.format, bytes.data(), count, back.data());
    EXPECT_EQ(back, known.stored) << name_of(known.format);
  }
}

// A constant expression: no rounding mode, no library call.
static_assert(narrow_to_f16(65519.996F) == 0x7bff && narrow_to_f16(65520.0F) == 0x7c00);
static_assert(narrow_to_bf16(257.0F) == 0x4380 && narrow_to_bf16(259.0F) == 0x4382);

}  // namespace
}  // namespace holdfast::test
