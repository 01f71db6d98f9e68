// SPDX-License-Identifier: Apache-2.0
// Goal: a layout is taken or refused whole, each refusal names layer and field, and the plan's
// sizes follow from it.
// Method: one valid layout, one edit a case; sizes against numbers worked out by hand.
#include "storage/plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <holdfast/layout.hpp>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/layouts.hpp"
#include "tests/support/status.hpp"

namespace holdfast::test {
namespace {

using internal::storage::make_plan;
using internal::storage::Plan;

// Layer and position of each spec in hybrid_layout().
AttentionKvSpec& attention(Layout& layout) {
  return std::get<AttentionKvSpec>(layout.layers[0].planes[0]);
}
RecurrentSpec& recurrent(Layout& layout) {
  return std::get<RecurrentSpec>(layout.layers[1].planes[0]);
}
LatentSpec& latent(Layout& layout) {
  return std::get<LatentSpec>(layout.layers[2].planes[0]);
}
IndexerSpec& indexer(Layout& layout) {
  return std::get<IndexerSpec>(layout.layers[2].planes[1]);
}

struct Refusal {
  char const* name;  // what is wrong, in CamelCase
  std::function<void(Layout&)> edit;
  std::int32_t layer;
  char const* field;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

std::ostream& operator<<(std::ostream& out, Refusal const& refusal) {
  return out << refusal.name;
}

constexpr std::uint32_t kTooLarge = kLargestSize + 1;

std::vector<Refusal> layout_refusals() {
  return {
      {"NoLayers", [](Layout& it) { it.layers.clear(); }, -1, "layers"},
      {"NoPlaneAtAll", [](Layout& it) { it.layers.assign(2, Layer{}); }, -1, "layers"},
      {"DraftsAlone",
       [](Layout& it) {
         it.layers = {{{DraftLatentSpec{{.width = 1}}}},
                      {{DraftKvSpec{{.heads = 1, .head_dim = 1}}}}};
       },
       -1,
       "layers"},
      {"ZeroPageRows", [](Layout& it) { it.page_rows = 0; }, -1, "page_rows"},
      {"LargePageRows", [](Layout& it) { it.page_rows = kTooLarge; }, -1, "page_rows"},
      {"ZeroChunkPages", [](Layout& it) { it.chunk_pages = 0; }, -1, "chunk_pages"},
      {"LargeChunkPages", [](Layout& it) { it.chunk_pages = UINT32_MAX; }, -1, "chunk_pages"},
      {"ZeroRanks", [](Layout& it) { it.ranks = 0; }, -1, "ranks"},
      {"LargeRanks", [](Layout& it) { it.ranks = kTooLarge; }, -1, "ranks"},
      {"ZeroSequences", [](Layout& it) { it.capacity.sequences = 0; }, -1, "capacity.sequences"},
      {"LargeSequences",
       [](Layout& it) { it.capacity.sequences = kTooLarge; },
       -1,
       "capacity.sequences"},
      {"ZeroTokens", [](Layout& it) { it.capacity.tokens = 0; }, -1, "capacity.tokens"},
      {"LargeTokens", [](Layout& it) { it.capacity.tokens = kTooLarge; }, -1, "capacity.tokens"},
      {"LargeRound",
       [](Layout& it) { it.capacity.largest_round = kTooLarge; },
       -1,
       "capacity.largest_round"},
      {"LargeSnapshots",
       [](Layout& it) { it.capacity.snapshots = kTooLarge; },
       -1,
       "capacity.snapshots"},
      {"LargeEntries", [](Layout& it) { it.capacity.entries = kTooLarge; }, -1, "capacity.entries"},
      {"LargeStepRows",
       [](Layout& it) { it.capacity.step_rows = kTooLarge; },
       -1,
       "capacity.step_rows"},
      {"LargeSlots", [](Layout& it) { it.capacity.slots = kTooLarge; }, -1, "capacity.slots"},
      {"LargePages", [](Layout& it) { it.capacity.pages = kTooLarge; }, -1, "capacity.pages"},
      {"LargeRingPages",
       [](Layout& it) { it.capacity.ring_pages = kTooLarge; },
       -1,
       "capacity.ring_pages"},
      {"TwoPlanesOfOneKind",
       [](Layout& it) { it.layers[1].planes.push_back(small_recurrent()); },
       1,
       "planes"},
      {"MoreSlotsThanAnIndexNames",
       [](Layout& it) {
         it.capacity.sequences = 1U << 13U;
         it.capacity.largest_round = 1U << 12U;
         it.layers.resize(2);
       },
       -1,
       "recurrent"},
      {"MorePagesThanAnIndexNames",
       [](Layout& it) {
         it.capacity.sequences = kLargestSize;
         it.capacity.tokens = kLargestSize;
       },
       -1,
       "attention_kv"},
      {"ArenaOverflows",
       [](Layout& it) {
         it.layers = {{{LatentSpec{.width = kLargestSize}}}};
         it.page_rows = 1U << 20U;
         it.capacity.pages = 1U << 20U;
       },
       -1,
       "latent"},
      {"ManyDevices", [](Layout& it) { it.ranks = 32, it.stages = 3; }, -1, "ranks"},
      {"ZeroStages", [](Layout& it) { it.stages = 0; }, -1, "stages"},
      {"PastTheStages", [](Layout& it) { it.layers[1].stage = 1; }, 1, "stage"},
      {"LowerStage", [](Layout& it) { it.stages = 2, it.layers[0].stage = 1; }, 1, "stage"},
  };
}

std::vector<Refusal> plane_refusals() {
  return {
      {"ZeroHeads", [](Layout& it) { attention(it).heads = 0; }, 0, "attention_kv.heads"},
      {"LargeHeads", [](Layout& it) { attention(it).heads = kTooLarge; }, 0, "attention_kv.heads"},
      {"ZeroHeadDim", [](Layout& it) { attention(it).head_dim = 0; }, 0, "attention_kv.head_dim"},
      {"LargeHeadDim",
       [](Layout& it) { attention(it).head_dim = kTooLarge; },
       0,
       "attention_kv.head_dim"},
      {"UnknownAttentionFormat",
       [](Layout& it) { attention(it).format = static_cast<Format>(9); },
       0,
       "attention_kv.format"},
      {"AttentionRowTooLarge",
       [](Layout& it) { attention(it) = {.heads = 1U << 12U, .head_dim = 1U << 12U}; },
       0,
       "attention_kv"},
      {"HeadsDoNotDivide",
       [](Layout& it) { it.ranks = 2, attention(it).heads = 3; },
       0,
       "attention_kv.heads"},
      {"ZeroWidth", [](Layout& it) { latent(it).width = 0; }, 2, "latent.width"},
      {"LargeWidth", [](Layout& it) { latent(it).width = kTooLarge; }, 2, "latent.width"},
      {"UnknownLatentFormat",
       [](Layout& it) { latent(it).format = static_cast<Format>(kFormatCount); },
       2,
       "latent.format"},
      {"ZeroIndexWidth", [](Layout& it) { indexer(it).index_width = 0; }, 2, "indexer.index_width"},
      {"ZeroPool", [](Layout& it) { indexer(it).pool = 0; }, 2, "indexer.pool"},
      {"IndexWidthIsNotTheKeyOfAPoolOfOne",
       [](Layout& it) { indexer(it).pool = 1, indexer(it).ring_rows = 0; },
       2,
       "indexer.index_width"},
      {"RingWithAPoolOfOne",
       [](Layout& it) {
         indexer(it) = {.index_width = 2, .pool = 1, .key_width = 2, .ring_rows = 6};
       },
       2,
       "indexer.ring_rows"},
      {"ZeroKeyWidth", [](Layout& it) { indexer(it).key_width = 0; }, 2, "indexer.key_width"},
      {"ZeroRing", [](Layout& it) { indexer(it).ring_rows = 0; }, 2, "indexer.ring_rows"},
      {"LargeRing", [](Layout& it) { indexer(it).ring_rows = kTooLarge; }, 2, "indexer.ring_rows"},
      {"IndexWidthIsNotTwoKeys",
       [](Layout& it) { indexer(it).index_width = 5; },
       2,
       "indexer.index_width"},
      {"PageRowsAreNoMultipleOfPool",
       [](Layout& it) { it.page_rows = 3, indexer(it).ring_rows = 9; },
       2,
       "page_rows"},
      {"RingIsNoMultipleOfPageRows",
       [](Layout& it) { indexer(it).ring_rows = 7; },
       2,
       "indexer.ring_rows"},
      {"RingIsShorterThanTheRoundNeeds",
       [](Layout& it) { indexer(it).ring_rows = 4; },
       2,
       "indexer.ring_rows"},
      {"NeitherConvNorSsm", [](Layout& it) { recurrent(it) = {}; }, 1, "recurrent"},
      {"KernelOfOne", [](Layout& it) { recurrent(it).kernel = 1; }, 1, "recurrent.kernel"},
      {"SegmentsWithoutKernel",
       [](Layout& it) { recurrent(it).kernel = 0; },
       1,
       "recurrent.kernel"},
      {"LargeKernel", [](Layout& it) { recurrent(it).kernel = kTooLarge; }, 1, "recurrent.kernel"},
      {"KernelWithoutSegments",
       [](Layout& it) { recurrent(it).conv_segments.clear(); },
       1,
       "recurrent.conv_segments"},
      {"ZeroSegment",
       [](Layout& it) {
         recurrent(it).conv_segments = {2, 0};
       },
       1,
       "recurrent.conv_segments"},
      {"SegmentsDoNotDivide",
       [](Layout& it) {
         it.ranks = 2, recurrent(it).conv_segments = {2, 3};
       },
       1,
       "recurrent.conv_segments"},
      {"ZeroSsmHeads", [](Layout& it) { recurrent(it).heads = 0; }, 1, "recurrent.heads"},
      {"ZeroDk", [](Layout& it) { recurrent(it).d_k = 0; }, 1, "recurrent.d_k"},
      {"ZeroDv", [](Layout& it) { recurrent(it).d_v = 0; }, 1, "recurrent.d_v"},
      {"SsmHeadsDoNotDivide",
       [](Layout& it) {
         it.ranks = 2, recurrent(it) = {.conv_segments = {}, .heads = 3, .d_k = 1, .d_v = 1};
       },
       1,
       "recurrent.heads"},
      {"StateOverflows",
       [](Layout& it) {
         recurrent(it) = {
             .conv_segments = {}, .heads = kLargestSize, .d_k = kLargestSize, .d_v = kLargestSize};
       },
       1,
       "recurrent"},
      {"StateOfMoreThan32Bits",
       [](Layout& it) {
         recurrent(it) = {.conv_segments = {}, .heads = 1U << 16U, .d_k = 1U << 16U, .d_v = 1};
       },
       1,
       "recurrent"},
  };
}

class LayoutRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(LayoutRefusal, NamesLayerAndField) {
  Layout layout = hybrid_layout();
  ASSERT_TRUE(IsOk(validate(layout)));
  GetParam().edit(layout);
  Status const refused = validate(layout);
  ASSERT_TRUE(HasCode(refused, GetParam().code, GetParam().field));
  EXPECT_EQ(refused.error().layer, GetParam().layer) << describe(refused.error());
  EXPECT_STRNE(refused.error().text, "");
}

std::string name_of_case(testing::TestParamInfo<Refusal> const& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Whole, LayoutRefusal, testing::ValuesIn(layout_refusals()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Plane, LayoutRefusal, testing::ValuesIn(plane_refusals()), name_of_case);

TEST(Layout, TakesTheLeastRing) {
  // pool - 1 + max(1, largest round) = 1 + 1: one page of 2 rows.
  Layout layout = latent_layout();
  layout.capacity.largest_round = 0;
  for (std::size_t const layer : {0U, 2U}) {
    std::get<IndexerSpec>(layout.layers[layer].planes[1]).ring_rows = 2;
  }
  EXPECT_TRUE(IsOk(validate(layout)));
}

TEST(Layout, TakesConvAloneAndSsmAlone) {
  EXPECT_TRUE(IsOk(validate(
      small_layout({{{RecurrentSpec{.conv_segments = {4}, .kernel = 2}}},
                    {{RecurrentSpec{.conv_segments = {}, .heads = 1, .d_k = 1, .d_v = 1}}}}))));
}

TEST(Layout, RefusesMoreShapesThanClasses) {
  std::vector<Layer> layers;
  for (std::uint32_t width = 1; width <= internal::storage::kLargestClassCount + 1; ++width) {
    layers.push_back({{LatentSpec{.width = width}}});
  }
  Status const refused = validate(small_layout(layers));
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, "planes"));
  EXPECT_EQ(refused.error().layer,
            static_cast<std::int32_t>(internal::storage::kLargestClassCount));
}

TEST(PlaneKind, EveryKindHasItsName) {
  EXPECT_STREQ(name_of(PlaneKind::kAttentionKv), "attention_kv");
  EXPECT_STREQ(name_of(PlaneKind::kLatent), "latent");
  EXPECT_STREQ(name_of(PlaneKind::kPoolKeys), "pool_keys");
  EXPECT_STREQ(name_of(PlaneKind::kTailRing), "tail_ring");
  EXPECT_STREQ(name_of(PlaneKind::kRecurrent), "recurrent");
  EXPECT_STREQ(name_of(PlaneKind::kHeld), "held");
  EXPECT_STREQ(name_of(PlaneKind::kDraftKv), "draft_kv");
  EXPECT_STREQ(name_of(PlaneKind::kDraftLatent), "draft_latent");
  EXPECT_STREQ(name_of(static_cast<PlaneKind>(kPlaneKindCount)), "unknown");
}

TEST(Plan, LayersOfOneShapeShareAClass) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(hybrid_layout(), plan)));
  ASSERT_EQ(plan.class_count, 5U) << "one class a kind, and one of slots";
  for (std::uint32_t index = 0; index < plan.class_count; ++index) {
    EXPECT_EQ(plan.classes[index].kind, static_cast<PlaneKind>(index));
    EXPECT_EQ(plan.classes[index].layer_count, index == 4 ? 3U : 2U);
  }
  auto const layers = plan.layers_of(plan.classes[0]);
  EXPECT_EQ(std::vector(layers.begin(), layers.end()), (std::vector<std::uint32_t>{0, 4}));
}

TEST(Plan, EqualRowWidthsOfOtherHeadsAreOtherClasses) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(small_layout({{{AttentionKvSpec{.heads = 2, .head_dim = 3}}},
                                           {{AttentionKvSpec{.heads = 3, .head_dim = 2}}}}),
                             plan)));
  EXPECT_EQ(plan.class_count, 2U);
}

TEST(Plan, LayersOfOtherFormatsAreOtherClasses) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(formats_layout(), plan)));
  std::vector<Format> formats;
  for (std::uint32_t index = 0; index < plan.class_count; ++index) {
    formats.push_back(plan.classes[index].strips[0].format);
  }
  EXPECT_EQ(formats,
            (std::vector{Format::kF16,     // attention KV of layer 0
                         Format::kBf16,    // of layers 1 and 2
                         Format::kBf16,    // latent rows of layer 0
                         Format::kF32,     // of layer 1
                         Format::kF16,     // of layer 2
                         Format::kF32,     // pool keys
                         Format::kF32}));  // tail ring
  EXPECT_EQ(plan.classes[1].layer_count, 2U);
}

TEST(Plan, APoolOfOneMakesKeysAloneAndTheyAreWritten) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(pool_of_one_layout(), plan)));
  ASSERT_EQ(plan.class_count, 2U);
  auto const& keys = plan.classes[1];
  EXPECT_EQ(keys.kind, PlaneKind::kPoolKeys);
  EXPECT_FALSE(keys.derived);
  EXPECT_EQ(keys.unit_tokens, 1U);
  EXPECT_EQ(keys.entries, 20U);
  EXPECT_EQ(keys.strips.row_bytes(), 8U);
  EXPECT_EQ(keys.ring_rows, 0U);
}

TEST(Plan, RowsTakeTheBytesOfTheirFormat) {
  for (auto const& [format, bytes] :
       {std::pair{Format::kF32, 12U}, {Format::kF16, 6U}, {Format::kBf16, 6U}}) {
    Plan plan;
    ASSERT_TRUE(
        IsOk(make_plan(small_layout({{{LatentSpec{.width = 3, .format = format}}}}), plan)));
    EXPECT_EQ(plan.classes[0].strips.row_bytes(), bytes) << name_of(format);
    EXPECT_EQ(plan.classes[0].page_bytes, 2 * bytes) << name_of(format);
  }
}

void expect_refusal(Layout const& layout, std::int32_t layer, char const* field) {
  Status const refused = validate(layout);
  ASSERT_TRUE(HasCode(refused, ErrorCode::kInvalidArgument, field));
  EXPECT_EQ(refused.error().layer, layer);
}

TEST(Plan, RowsOfEveryFormatAreWholeBlocks) {
  for (std::uint32_t i = 0; i < kFormatCount; ++i) {
    auto const format = static_cast<Format>(i);
    SCOPED_TRACE(name_of(format));
    std::uint32_t const block = trait_of(format).block_elements;
    Plan plan;
    Layout layout = small_layout({{{small_attention()}}, {{LatentSpec{.width = block}}}});
    auto& latent = std::get<LatentSpec>(layout.layers[1].planes[0]);
    auto& attention = std::get<AttentionKvSpec>(layout.layers[0].planes[0]);
    latent.format = format;
    ASSERT_TRUE(IsOk(make_plan(layout, plan))) << name_of(format);
    EXPECT_EQ(plan.classes[1].strips.row_bytes(), trait_of(format).block_bytes);
    if (block == 1) {
      continue;
    }
    latent.width = block + 1;
    expect_refusal(layout, 1, "latent.width");
    latent.width = block;
    // Two heads of half a block are a whole one, and it would straddle them.
    attention = {.heads = block, .head_dim = 1, .format = format};
    expect_refusal(layout, 0, "attention_kv.head_dim");
    attention = {.heads = block, .head_dim = 1, .value_format = format};
    expect_refusal(layout, 0, "attention_kv.head_dim");
  }
}

TEST(Plan, KeysAndValuesHaveFormatsOfTheirOwn) {
  AttentionKvSpec const spec{
      .heads = 1, .head_dim = 3, .format = Format::kBf16, .value_format = Format::kF32};
  Layout layout = small_layout({{{spec}}, {{spec}}});
  layout.page_rows = 1;
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(layout, plan)));
  auto const& kv = plan.classes[0];
  ASSERT_EQ(kv.strips.count, 2U);
  EXPECT_EQ(kv.strips[0], (Strip{0, 3, 6, Format::kBf16}));
  EXPECT_EQ(kv.strips[1], (Strip{8, 3, 12, Format::kF32})) << "behind 2 bytes that align it";
  EXPECT_EQ(kv.page_bytes, 2U * 20U);
  EXPECT_EQ(kv.row_elements, 6U);
  EXPECT_EQ(*entry_bytes(layout, 5), 2U * 5U * 18U) << "an entry has rows alone";
}

TEST(Plan, SizesAreTheWorstCaseWhenCapacityIsZero) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(hybrid_layout(), plan)));  // 3 sequences, 4 snapshots, 40 tokens
  auto const& kv = plan.classes[0];
  EXPECT_EQ(kv.entries, 20U);
  EXPECT_EQ(kv.pages, (3U + 4U) * 20U + 1U);
  EXPECT_EQ(kv.strips[0].row_bytes, 8U);        // 2 heads of 1 f32
  EXPECT_EQ(kv.page_bytes, 2U * 2U * 2U * 8U);  // layers, strips, page rows, row bytes
  auto const& keys = plan.classes[2];
  EXPECT_EQ(keys.unit_tokens, 2U);
  EXPECT_EQ(keys.entries, 10U);
  auto const& ring = plan.classes[3];
  EXPECT_EQ(ring.entries, 3U);
  EXPECT_EQ(ring.pages, 3U * (3U + 1U) + 4U + 1U);
  auto const& slots = plan.classes[4];
  EXPECT_EQ(slots.pages, 3U + 4U + 3U * 4U + 1U);
  // conv and ssm of layer 1, ssm of 3, held of 1
  EXPECT_EQ(slots.page_bytes, 4U * (5U * 2U + 4U + 6U + 2U));
}

TEST(Plan, SlotsHoldThePartsOfAllKindsOneKindAfterTheOther) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(hybrid_layout(), plan)));
  auto const layers = plan.layers_of(plan.classes[4]);
  EXPECT_EQ(std::vector(layers.begin(), layers.end()), (std::vector<std::uint32_t>{1, 3, 1}));
  ASSERT_EQ(plan.state_count, 3U);
  EXPECT_EQ(plan.kind_of(plan.classes[4], 1), PlaneKind::kRecurrent);
  EXPECT_EQ(plan.kind_of(plan.classes[4], 2), PlaneKind::kHeld);
  EXPECT_EQ(plan.states[2].held_offset, 4U * (5U * 2U + 4U + 6U));
  EXPECT_EQ(plan.states[2].held_elements, 2U);
  std::uint32_t index = 99;
  std::uint32_t class_index = 99;
  ASSERT_NE(plan.find(PlaneKind::kHeld, 1, &index, &class_index), nullptr);
  EXPECT_EQ(index, 2U);
  EXPECT_EQ(class_index, 4U);
}

TEST(Plan, GivenCapacitiesAreTaken) {
  Layout layout = hybrid_layout();
  layout.capacity.pages = 7;
  layout.capacity.ring_pages = 8;
  layout.capacity.slots = 9;
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(layout, plan)));
  EXPECT_EQ(plan.classes[0].pages, 8U);
  EXPECT_EQ(plan.classes[3].pages, 9U);
  EXPECT_EQ(plan.classes[4].pages, 10U);
}

TEST(Plan, FindsThePlaneOfALayer) {
  Plan plan;
  ASSERT_TRUE(IsOk(make_plan(hybrid_layout(), plan)));
  std::uint32_t index = 99;
  std::uint32_t class_index = 99;
  ASSERT_NE(plan.find(PlaneKind::kLatent, 4, &index, &class_index), nullptr);
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(class_index, 1U);
  EXPECT_EQ(plan.find(PlaneKind::kLatent, 0, &index, &class_index), nullptr);
  EXPECT_EQ(plan.find(PlaneKind::kLatent, 5, &index, &class_index), nullptr);
  EXPECT_EQ(plan.find(static_cast<PlaneKind>(17), 0, &index, &class_index), nullptr);
}

}  // namespace
}  // namespace holdfast::test
