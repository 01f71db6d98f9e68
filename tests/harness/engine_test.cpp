// SPDX-License-Identifier: Apache-2.0
// Goal: what the toy engine writes can be told apart, so that a wrong row, key or state is seen and
// named. Method: decode rows; write the key formula down once more; change one token of a history
// at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <holdfast/formats.hpp>
#include <set>
#include <utility>
#include <vector>

#include "models/engine/rows.hpp"
#include "models/engine/stored_formats.hpp"
#include "models/geometry/geometry.hpp"
#include "models/reference/model.hpp"

namespace holdfast::model {
namespace {

std::vector<float> row_of(PlaneShape const& shape, Token token, std::uint32_t position) {
  std::vector<float> row(shape.elements, -1.0F);
  make_row(shape, token, position, row.data());
  return row;
}

std::vector<float> state_after(StateShape const& shape, std::vector<Token> const& tokens) {
  std::vector<float> state(shape.elements(), 0.0F);
  for (Token const token : tokens) {
    advance_recurrent(shape, {&token, 1}, state.data(), state.data());
  }
  return state;
}

StateShape const kState{.layer = 2, .channels = 24, .window = 3, .heads = 2, .d_k = 8, .d_v = 8};
PlaneShape const kRing{.kind = PlaneKind::kTailRing,
                       .layer = 1,
                       .elements = 8,
                       .pool = 4,
                       .key_width = 4,
                       .ring_rows = 12};

std::uint32_t differing(std::vector<float> const& a,
                        std::vector<float> const& b,
                        std::uint32_t first,
                        std::uint32_t last) {
  std::uint32_t count = 0;
  for (std::uint32_t i = first; i < last; ++i) {
    count += a[i] != b[i] ? 1U : 0U;
  }
  return count;
}

TEST(EngineRows, SayTokenPositionAndPlaneInTheClear) {
  for (std::string const& name : default_geometry_names()) {
    SCOPED_TRACE(name);
    ModelShape const shape = make_model_shape(load_geometry(name).layout);
    std::set<std::uint32_t> codes;
    std::uint32_t strips = 0;
    for (PlaneShape const& plane : shape.planes) {
      if (plane.derived) {
        continue;  // keys are made from rows
      }
      for (auto const& [token, position] :
           {std::pair{1U, 0U}, {7U, 63U}, {(1U << 23U) - 1, 65535U}}) {
        std::vector<float> const row = row_of(plane, token, position);
        EXPECT_EQ(token_of_row(plane, row.data()), token);
        for (std::uint32_t strip = 0; strip < plane.strips; ++strip) {
          float const* const base = row.data() + strip * plane.strip_elements();
          bool const is_cut = stored_format(plane.formats[strip]).is_cut;
          std::vector<std::uint32_t> const said{base, base + (is_cut ? 7 : 3)};
          std::uint32_t const code = row_code(plane.kind, plane.layer, strip);
          EXPECT_EQ(said,
                    !is_cut ? (std::vector{token, position, code})
                            : (std::vector{token % 256,
                                           token / 256 % 256,
                                           token / 65536,
                                           position % 256,
                                           position / 256 % 256,
                                           code % 256,
                                           code / 256}));
        }
      }
      for (std::uint32_t strip = 0; strip < plane.strips; ++strip) {
        codes.insert(row_code(plane.kind, plane.layer, strip));
        ++strips;
      }
    }
    EXPECT_EQ(codes.size(), strips) << "two planes share a code";
  }
}

// What is stored is what the library makes of the row, in every format of its list; where the model says
// that a format rounds, some elements must.
TEST(EngineRows, StoredRowsAreWhatTheirFormatsKeep) {
  constexpr std::uint32_t kElements = 13 * kLargestBlock.block_elements * 4;
  for (std::uint32_t keys = 0; keys < kFormatCount; ++keys) {
    for (std::uint32_t values = 0; values < kFormatCount; ++values) {
      PlaneShape const shape{.kind = PlaneKind::kAttentionKv,
                             .layer = 3,
                             .elements = 2 * kElements,
                             .strips = 2,
                             .formats = {static_cast<Format>(keys), static_cast<Format>(values)}};
      std::uint32_t rounded[2] = {};
      for (Token token = 1; token < 300; ++token) {
        std::vector<float> const row = row_of(shape, token, 5);
        std::vector<float> stored(shape.elements);
        make_stored_row(shape, token, 5, stored.data());
        std::vector<float> back(shape.elements);
        for (std::uint32_t strip = 0; strip < shape.strips; ++strip) {
          Format const format = shape.formats[strip];
          std::vector<std::byte> bytes(stored_bytes(format, kElements));
          std::uint32_t const first = strip * kElements;
          encode_elements(format, row.data() + first, kElements, bytes.data());
          decode_elements(format, bytes.data(), kElements, back.data() + first);
          rounded[strip] += differing(row, stored, first, first + kElements);
        }
        ASSERT_EQ(stored, back) << name_of(shape.formats[0]) << " and " << name_of(shape.formats[1])
                                << ", token " << token;
      }
      for (std::uint32_t strip = 0; strip < shape.strips; ++strip) {
        EXPECT_EQ(rounded[strip] != 0, stored_format(shape.formats[strip]).round != nullptr)
            << name_of(shape.formats[strip]);
      }
    }
  }
}

TEST(EngineRows, EveryElementDependsOnTheToken) {
  PlaneShape const shape{.kind = PlaneKind::kLatent, .layer = 0, .elements = 16};
  std::vector<std::uint32_t> changes(shape.elements, 0);
  for (Token token = 1; token <= 100; ++token) {
    std::vector<float> const a = row_of(shape, token, 5);
    std::vector<float> const b = row_of(shape, token + 1, 5);
    EXPECT_EQ(a, row_of(shape, token, 5));
    for (std::uint32_t i = 0; i < shape.elements; ++i) {
      changes[i] += a[i] != b[i] ? 1U : 0U;
    }
  }
  for (std::uint32_t i = 0; i < shape.elements; ++i) {
    EXPECT_EQ(changes[i] >= 99, i != 1 && i != 2) << "element " << i;
  }
}

TEST(EngineRows, LayersAndKindsDiffer) {
  PlaneShape shape{.kind = PlaneKind::kLatent, .layer = 0, .elements = 16};
  std::vector<float> const first = row_of(shape, 9, 5);
  shape.layer = 1;
  EXPECT_GE(differing(row_of(shape, 9, 5), first, 2, 16), 12U);
  shape.layer = 0;
  shape.kind = PlaneKind::kAttentionKv;
  EXPECT_GE(differing(row_of(shape, 9, 5), first, 2, 16), 12U);
}

TEST(EngineKeys, AreTheWrittenFormula) {
  std::set<int> regions;  // below, inside and above the clamp
  for (Token token = 1; token < 2000; token += 4) {
    std::vector<Token> const tokens{token, token + 2, token + 1, token + 9};
    std::vector<float> key(kRing.key_width);
    make_key(kRing, tokens, 16, key.data());
    for (std::uint32_t element = 0; element < kRing.key_width; ++element) {
      float terms[4];
      for (std::uint32_t i = 0; i < 4; ++i) {
        std::vector<float> const row = row_of(kRing, tokens[i], 16 + i);
        float const raw = 0.5F + 0.25F * row[kRing.key_width + element];
        regions.insert(raw < 0.0F ? -1 : raw > 1.0F ? 1 : 0);
        terms[i] = std::clamp(raw, 0.0F, 1.0F) * row[element];
      }
      float const sum = ((terms[0] + terms[1]) + terms[2]) + terms[3];
      EXPECT_EQ(key[element], sum / 4.0F) << "token " << token << " element " << element;
    }
  }
  EXPECT_EQ(regions, (std::set<int>{-1, 0, 1})) << "gates must meet both clamps";
}

TEST(EngineKeys, DependOnEveryRowAndOnItsPlace) {
  std::vector<Token> const tokens{11, 12, 13, 14};
  std::vector<float> key(kRing.key_width);
  make_key(kRing, tokens, 8, key.data());
  std::uint32_t seen = 0;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    for (Token other = 100; other < 120; ++other) {
      std::vector<Token> changed = tokens;
      changed[i] = other;
      std::vector<float> key_of_changed(kRing.key_width);
      make_key(kRing, changed, 8, key_of_changed.data());
      seen += key_of_changed != key ? 1U : 0U;
    }
  }
  EXPECT_EQ(seen, 80U);
  std::vector<float> moved(kRing.key_width);
  make_key(kRing, tokens, 12, moved.data());
  EXPECT_NE(moved, key);
}

TEST(EngineState, DependsOnTheOrderOfTokens) {
  for (std::uint32_t at = 0; at + 1 < 12; ++at) {
    std::vector<Token> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    std::vector<float> const before = state_after(kState, tokens);
    std::swap(tokens[at], tokens[at + 1]);
    std::vector<float> const after = state_after(kState, tokens);
    std::uint32_t const ssm = kState.elements() - kState.conv_elements();
    EXPECT_GE(differing(before, after, kState.conv_elements(), kState.elements()), ssm - ssm / 8)
        << "swapped " << at;
  }
}

TEST(EngineState, EveryElementDependsOnEveryRecentToken) {
  std::vector<Token> const tokens{21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
  std::vector<float> const right = state_after(kState, tokens);
  for (std::uint32_t at = 0; at < tokens.size(); ++at) {
    std::vector<std::uint32_t> changes(kState.elements(), 0);
    constexpr Token kOthers = 20;
    for (Token other = 100; other < 100 + kOthers; ++other) {
      std::vector<Token> changed = tokens;
      changed[at] = other;
      std::vector<float> const wrong = state_after(kState, changed);
      for (std::uint32_t i = 0; i < kState.elements(); ++i) {
        changes[i] += wrong[i] != right[i] ? 1U : 0U;
      }
    }
    for (std::uint32_t i = 0; i < kState.elements(); ++i) {
      bool const is_conv = i < kState.conv_elements();
      std::uint32_t const age = static_cast<std::uint32_t>(tokens.size()) - 1 - at;
      // The window holds the last tokens only, one column each.
      bool const is_seen = !is_conv || i % kState.window == kState.window - 1 - age;
      EXPECT_EQ(changes[i] >= kOthers / 2, is_seen) << "token " << at << " element " << i;
      EXPECT_EQ(changes[i] == 0, !is_seen) << "token " << at << " element " << i;
    }
  }
}

TEST(EngineState, AStaleWindowSpoilsTheSsmState) {
  std::vector<float> good = state_after(kState, {1, 2, 3, 4, 5});
  std::vector<float> bad = good;
  std::vector<float> const older = state_after(kState, {1, 2, 3, 4});
  std::copy_n(older.begin(), kState.conv_elements(), bad.begin());
  Token const next = 6;
  advance_recurrent(kState, {&next, 1}, good.data(), good.data());
  advance_recurrent(kState, {&next, 1}, bad.data(), bad.data());
  std::uint32_t const ssm = kState.elements() - kState.conv_elements();
  EXPECT_GE(differing(good, bad, kState.conv_elements(), kState.elements()), ssm / 2);
}

TEST(EngineState, InPlaceAndOutOfPlaceAgree) {
  for (StateShape const& shape :
       {kState,
        StateShape{.layer = 0, .channels = 6, .window = 1, .heads = 0, .d_k = 0, .d_v = 0},
        StateShape{.layer = 1, .channels = 0, .window = 0, .heads = 1, .d_k = 2, .d_v = 3}}) {
    std::vector<float> in_place(shape.elements(), 0.0F);
    std::vector<float> before = in_place;
    for (Token token = 1; token < 20; ++token) {
      std::vector<float> after(shape.elements(), -1.0F);
      advance_recurrent(shape, {&token, 1}, before.data(), after.data());
      advance_recurrent(shape, {&token, 1}, in_place.data(), in_place.data());
      EXPECT_EQ(after, in_place);
      before = after;
    }
  }
}

}  // namespace
}  // namespace holdfast::model
