// SPDX-License-Identifier: Apache-2.0
// Goal: bytes make the same entry again, here or in a cache of other capacities; anything else is
// refused with its own answer, and changes nothing.
// Method: round trips at every position; each field set wrong, with and without a right checksum;
// every length; ten thousand random changes.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "models/source.hpp"
#include "tests/support/entry_fixture.hpp"

namespace holdfast::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kLongest = 11;

// Where docs/BYTE_FORM.md has the fields of the header.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kPlanesAt = 12;
constexpr std::size_t kTotalAt = 16;
constexpr std::size_t kLayoutAt = 24;
constexpr std::size_t kRanksAt = 32;
constexpr std::size_t kTokensAt = 36;
constexpr std::size_t kModelAt = 40;
constexpr std::size_t kAdapterAt = 48;
constexpr std::size_t kTenantAt = 56;
constexpr std::size_t kFirstPlaneAt = 64;
constexpr std::size_t kPlaneBytes = 20;

void reseal(Bytes& bytes) {
  std::size_t const covered = bytes.size() - 8;
  XXH64_hash_t const checksum = XXH3_64bits(bytes.data(), covered);
  std::memcpy(bytes.data() + covered, &checksum, sizeof checksum);
}

/// The bytes with one number changed and a right checksum.
template <typename T>
Bytes with(Bytes bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  reseal(bytes);
  return bytes;
}

template <typename T>
T number_at(Bytes const& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::vector<Layout> layouts() {
  std::vector<Layout> layouts{
      attention_layout(), latent_layout(), hybrid_layout(), recurrent_layout()};
  for (Layout& layout : layouts_of_formats()) {
    layouts.push_back(std::move(layout));
  }
  for (Layout& layout : layouts) {
    layout = with_entries(layout);
  }
  return layouts;
}

/// The same planes with everything else different.
Layout elsewhere(Layout layout) {
  layout.capacity.tokens += 9;
  layout.capacity.sequences = 2;
  layout.capacity.entries = 7;
  layout.capacity.snapshots = 1;
  layout.page_rows = 6;  // a multiple of the pool that divides the ring
  layout.chunk_pages = 3;
  return layout;
}

/// Payload by the formula: state + p * row + floor(p / pool) * key + (p mod pool) * indexer row.
std::uint64_t payload_of(Layout const& layout, std::uint64_t p) {
  std::uint64_t bytes = 0;  // of rows with a format
  std::uint64_t floats = 0;
  for (Layer const& layer : layout.layers) {
    for (PlaneSpec const& spec : layer.planes) {
      if (auto const* kv = std::get_if<AttentionKvSpec>(&spec)) {
        std::uint64_t const elements = std::uint64_t{kv->heads} * kv->head_dim;
        bytes += p * stored_bytes(kv->format, elements);
        bytes += p * stored_bytes(kv->value_format.value_or(kv->format), elements);
      } else if (auto const* latent = std::get_if<LatentSpec>(&spec)) {
        bytes += p * stored_bytes(latent->format, latent->width);
      } else if (auto const* indexer = std::get_if<IndexerSpec>(&spec)) {
        floats += p / indexer->pool * indexer->key_width + p % indexer->pool * indexer->index_width;
      } else if (auto const* state = std::get_if<RecurrentSpec>(&spec)) {
        std::uint64_t channels = 0;
        for (std::uint32_t const segment : state->conv_segments) {
          channels += segment;
        }
        floats += channels == 0 ? 0 : channels * (state->kernel - 1);
        floats += std::uint64_t{state->heads} * state->d_k * state->d_v;
      } else if (auto const* held = std::get_if<HeldSpec>(&spec)) {
        floats += held->elements;
      }
    }
  }
  return bytes + floats * sizeof(float);
}

TEST(EntryBytesFigure, FollowsTheFormulaAndGrowsWithAddressedPlanes) {
  for (Layout const& layout : layouts()) {
    EntryBench bench{layout};
    std::uint64_t last = 0;
    for (std::uint32_t p = 1; p <= kLongest; ++p) {
      EntryId const entry = bench.entry_of(make_tokens(p, 1));
      auto const size = bench.cache->entry_bytes(entry);
      ASSERT_TRUE(IsOk(size));
      EXPECT_EQ(size->payload, payload_of(layout, p)) << p;
      auto const sized = entry_bytes(layout, p);
      ASSERT_TRUE(IsOk(sized));
      EXPECT_EQ(size->payload, *sized) << "what a layout says without a cache";
      std::uint64_t const planes = bench.cache->inspect().plane_count();
      EXPECT_EQ(size->total,
                kFirstPlaneAt + planes * kPlaneBytes + p * sizeof(TokenKey) + size->payload + 8);
      bool const is_addressed = payload_of(layout, p) != payload_of(layout, p + 2);
      EXPECT_TRUE(!is_addressed || p % 2 != 0 || size->payload > last);
      last = p % 2 == 0 ? size->payload : last;
      ASSERT_TRUE(IsOk(bench.cache->erase(entry)));
    }
  }
}

TEST(ByteForm, MakesTheSameEntryAgainHereAndElsewhere) {
  for (Layout const& layout : layouts()) {
    EntryBench bench{layout};
    EntryBench other{elsewhere(layout)};
    for (std::uint32_t p = 1; p <= kLongest && !testing::Test::HasFailure(); ++p) {
      History const tokens = make_tokens(p, p);
      EntryId const entry = bench.entry_of(tokens);
      Bytes const bytes = bench.bytes_of(entry);
      ASSERT_TRUE(IsOk(bench.cache->erase(entry)));
      EXPECT_EQ(used_pages(*bench.cache), 0U);
      for (EntryBench* const to : {&bench, &other}) {
        auto const loaded = to->cache->deserialize(kScope, bytes);
        ASSERT_TRUE(IsOk(loaded));
        to->engine.expect(*loaded, tokens);
        EXPECT_EQ(to->bytes_of(*loaded), bytes);
        auto restored = to->restore(tokens);
        ASSERT_TRUE(IsOk(restored));
        EXPECT_EQ(restored->length, p);
        to->engine.expect(restored->sequence, tokens);
        History history = tokens;
        to->engine.append(restored->sequence, history, make_tokens(5, 3));
        to->engine.expect(restored->sequence, history);
        ASSERT_TRUE(IsOk(restored->sequence.release()));
        ASSERT_TRUE(IsOk(to->cache->erase(*loaded)));
        EXPECT_EQ(used_pages(*to->cache), 0U);
      }
    }
  }
}

TEST(ByteForm, AKnownKeyGivesTheEntryThatHasItAndMovesNothing) {
  EntryBench bench{with_entries(hybrid_layout())};
  EntryId const entry = bench.entry_of(make_tokens(7, 1));
  Bytes const bytes = bench.bytes_of(entry);
  Picture const before = picture_of(*bench.cache);
  auto const loaded = bench.cache->deserialize(kScope, bytes);
  ASSERT_TRUE(IsOk(loaded));
  EXPECT_EQ(*loaded, entry);
  EXPECT_EQ(picture_of(*bench.cache), before);
  EXPECT_EQ(bench.device.writes, 0U);
}

class RefusalTest : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = bench_.bytes_of(bench_.entry_of(make_tokens(7, 1)));
    // The key is free again, so that nothing but the bytes stands in the way.
    EXPECT_TRUE(IsOk(bench_.cache->erase({bench_.cache->inspect().first_entry(), 1})));
    bench_.entry_of(make_tokens(4, 2));
    before_ = picture_of(*bench_.cache);
  }
  void TearDown() override {
    EXPECT_EQ(picture_of(*bench_.cache), before_) << "what was refused changed something";
    EXPECT_EQ(bench_.device.writes, 0U);
    EXPECT_TRUE(IsOk(bench_.cache->deserialize(kScope, bytes_))) << "the bytes themselves are good";
  }
  Result<EntryId> load(Bytes const& bytes, PrefixScope const& scope = kScope) {
    return bench_.cache->deserialize(scope, bytes);
  }

  EntryBench bench_{with_entries(hybrid_layout())};
  Bytes bytes_;
  Picture before_;
};

TEST_F(RefusalTest, EveryShorterLengthIsDamaged) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    EXPECT_TRUE(HasCode(load({bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)}),
                        ErrorCode::kDamaged,
                        "bytes"));
  }
  Bytes longer = bytes_;
  longer.push_back(std::byte{});
  EXPECT_TRUE(HasCode(load(longer), ErrorCode::kDamaged, "bytes"));
}

TEST_F(RefusalTest, WhatIsForeignIsNamed) {
  Bytes magic = bytes_;
  magic[3] ^= std::byte{1};
  EXPECT_TRUE(HasCode(load(magic), ErrorCode::kInvalidArgument, "magic"));
  for (std::uint32_t const version : {0U, 1U, 3U, UINT32_MAX}) {
    EXPECT_TRUE(
        HasCode(load(with(bytes_, kVersionAt, version)), ErrorCode::kUnsupported, "version"));
  }
  EXPECT_EQ(number_at<std::uint32_t>(bytes_, kVersionAt), 2U);
  auto const layout = number_at<std::uint64_t>(bytes_, kLayoutAt);
  EXPECT_TRUE(
      HasCode(load(with(bytes_, kLayoutAt, layout + 1)), ErrorCode::kInvalidArgument, "layout"));
  EXPECT_TRUE(HasCode(load(with(bytes_, kRanksAt, 2U)), ErrorCode::kInvalidArgument, "ranks"));
  EXPECT_EQ(number_at<std::uint64_t>(bytes_, kModelAt), kScope.model);
  EXPECT_EQ(number_at<std::uint64_t>(bytes_, kAdapterAt), kScope.adapter);
  EXPECT_EQ(number_at<std::uint64_t>(bytes_, kTenantAt), kScope.tenant);
  EXPECT_TRUE(HasCode(load(bytes_, {1, 12, 13}), ErrorCode::kInvalidArgument, "model"));
  EXPECT_TRUE(HasCode(load(bytes_, {11, 1, 13}), ErrorCode::kInvalidArgument, "adapter"));
  EXPECT_TRUE(HasCode(load(bytes_, {11, 12, 1}), ErrorCode::kInvalidArgument, "tenant"));
}

TEST_F(RefusalTest, BytesOfAnotherLayoutAreRefusedThoughTheirSizeIsTheSame) {
  Layout heads = attention_layout();
  Layout dim = attention_layout();
  for (Layer& layer : dim.layers) {
    for (PlaneSpec& spec : layer.planes) {
      spec = AttentionKvSpec{.heads = 1, .head_dim = 2};  // was 2 heads of 1
    }
  }
  EntryBench from{with_entries(heads)};
  EntryBench to{with_entries(dim)};
  Bytes const bytes = from.bytes_of(from.entry_of(make_tokens(5, 1)));
  EXPECT_EQ(bytes.size(), to.bytes_of(to.entry_of(make_tokens(5, 1))).size());
  EXPECT_TRUE(HasCode(to.cache->deserialize(kScope, bytes), ErrorCode::kInvalidArgument, "layout"));
}

// That values are as keys may be said or not; as anything else it is another layout.
TEST(ByteForm, FormatOfValuesIsPartOfTheLayout) {
  auto const bytes_of = [](std::optional<Format> values) {
    AttentionKvSpec const spec{
        .heads = 2, .head_dim = 2, .format = Format::kF16, .value_format = values};
    EntryBench bench{with_entries(small_layout({{{spec}}}))};
    return bench.bytes_of(bench.entry_of(make_tokens(5, 1)));
  };
  Bytes const unsaid = bytes_of(std::nullopt);
  EXPECT_EQ(bytes_of(Format::kF16), unsaid);
  Bytes const other = bytes_of(Format::kBf16);
  EXPECT_EQ(other.size(), unsaid.size());
  EXPECT_NE(number_at<std::uint64_t>(other, kLayoutAt),
            number_at<std::uint64_t>(unsaid, kLayoutAt));
}

TEST_F(RefusalTest, SizesThatAreLiesAreDamagedEvenWithARightChecksum) {
  auto const planes = number_at<std::uint32_t>(bytes_, kPlanesAt);
  for (std::uint32_t const count : {0U, planes - 1, planes + 1, 17U, UINT32_MAX}) {
    EXPECT_TRUE(HasCode(load(with(bytes_, kPlanesAt, count)), ErrorCode::kDamaged, "bytes"));
  }
  for (std::uint64_t const total : {std::uint64_t{0}, bytes_.size() - 1, UINT64_MAX}) {
    EXPECT_TRUE(HasCode(load(with(bytes_, kTotalAt, total)), ErrorCode::kDamaged, "bytes"));
  }
  for (std::uint32_t const tokens : {0U, 6U, 8U, 1U << 30U, UINT32_MAX}) {
    EXPECT_TRUE(HasCode(load(with(bytes_, kTokensAt, tokens)), ErrorCode::kDamaged, "bytes"));
  }
  for (std::uint32_t plane = 0; plane < planes; ++plane) {
    std::size_t const at = kFirstPlaneAt + plane * kPlaneBytes;
    for (std::size_t field = 0; field < 3; ++field) {  // kind, layers, rows
      auto const value = number_at<std::uint32_t>(bytes_, at + 4 * field);
      EXPECT_TRUE(HasCode(load(with(bytes_, at + 4 * field, value + 1)),
                          ErrorCode::kDamaged,
                          bench_.cache->inspect().plane(plane).name));
    }
    for (std::uint64_t const size : {std::uint64_t{0}, UINT64_MAX, UINT64_MAX - bytes_.size()}) {
      EXPECT_TRUE(HasCode(load(with(bytes_, at + 12, size)), ErrorCode::kDamaged, "bytes"));
    }
  }
  // One plane's bytes moved to another: the sum is right, the planes are not.
  auto moved =
      with(bytes_, kFirstPlaneAt + 12, number_at<std::uint64_t>(bytes_, kFirstPlaneAt + 12) + 4);
  std::size_t const second = kFirstPlaneAt + kPlaneBytes + 12;
  moved = with(moved, second, number_at<std::uint64_t>(bytes_, second) - 4);
  EXPECT_TRUE(HasCode(load(moved), ErrorCode::kDamaged, "attention_kv"));
}

TEST_F(RefusalTest, TenThousandRandomChangesAreRefused) {
  model::Source source{std::uint64_t{20240229}};
  for (std::uint32_t i = 0; i < 10000; ++i) {
    Bytes changed = bytes_;
    for (std::uint32_t times = source.between(1, 4); times != 0; --times) {
      std::size_t const at = source.below(static_cast<std::uint32_t>(changed.size()));
      switch (source.below(4)) {
        case 0:
          changed[at] ^= std::byte{1} << source.below(8);
          break;
        case 1:
          changed[at] = static_cast<std::byte>(source.below(256));
          break;
        case 2:
          changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at),
                         static_cast<std::byte>(source.below(256)));
      }
    }
    if (changed != bytes_) {
      ASSERT_FALSE(load(changed)) << "change " << i;
    }
  }
}

TEST_F(RefusalTest, RandomHeadersWithARightChecksumAreRefused) {
  // The tokens and the payload behind them may say anything; the header may not.
  model::Source source{std::uint64_t{7}};
  auto const planes = number_at<std::uint32_t>(bytes_, kPlanesAt);
  auto const head = static_cast<std::uint32_t>(kFirstPlaneAt + planes * kPlaneBytes);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    Bytes changed = bytes_;
    changed[source.below(head)] ^= static_cast<std::byte>(source.between(1, 255));
    reseal(changed);
    ASSERT_FALSE(load(changed)) << "change " << i;
  }
}

TEST(ByteFormStorage, ATooLongEntryIsToldSo) {
  Layout tall = with_entries(hybrid_layout());
  tall.capacity.tokens = 60;
  EntryBench from{tall};
  EntryBench to{with_entries(hybrid_layout())};
  Bytes const bytes = from.bytes_of(from.entry_of(make_tokens(41, 1)));
  EXPECT_TRUE(HasCode(to.cache->deserialize(kScope, bytes), ErrorCode::kTooLong, "tokens"));
}

/// Loads an entry of 7 rows into a cache of this layout, whose other holders have taken the rest.
void expect_exhausted(Layout const& layout, char const* subject) {
  EntryBench from{with_entries(hybrid_layout())};
  Bytes const bytes = from.bytes_of(from.entry_of(make_tokens(7, 1)));
  EntryBench to{layout};
  Sequence keeper = to.sequence();
  History history;
  to.engine.append(keeper, history, make_tokens(5, 9));
  Picture const before = picture_of(*to.cache);
  EXPECT_TRUE(HasCode(to.cache->deserialize(kScope, bytes), ErrorCode::kExhausted, subject));
  EXPECT_EQ(picture_of(*to.cache), before);
  EXPECT_EQ(to.device.writes, 0U);
}

TEST(ByteFormStorage, WhatIsLackingIsNamedAndNothingIsTaken) {
  Layout entries = with_entries(hybrid_layout(), 0);
  expect_exhausted(entries, "entries");
  Layout pages = with_entries(hybrid_layout());
  pages.capacity.pages = 6;  // 3 for 5 rows, and the entry needs 4
  expect_exhausted(pages, "attention_kv");
  Layout ring = with_entries(hybrid_layout());
  ring.capacity.ring_pages = 3;  // 5 rows are on 3 pages
  expect_exhausted(ring, "tail_ring");
  Layout slots = with_entries(hybrid_layout());
  slots.capacity.slots = 2;
  EntryBench from{with_entries(hybrid_layout())};
  Bytes const bytes = from.bytes_of(from.entry_of(make_tokens(7, 1)));
  EntryBench to{slots};
  Sequence const one = to.sequence();
  Sequence const two = to.sequence();
  EXPECT_TRUE(HasCode(to.cache->deserialize(kScope, bytes), ErrorCode::kExhausted, "recurrent"));
}

TEST(ByteFormDevice, EveryFailedCopyIsReportedAndLeavesNothing) {
  EntryBench from{with_entries(hybrid_layout())};
  EntryId const entry = from.entry_of(make_tokens(7, 1));
  Bytes const bytes = from.bytes_of(entry);
  EntryBench to{with_entries(hybrid_layout())};
  std::uint64_t failed = 0;
  for (;; ++failed) {
    to.device.failing_write = to.device.writes + failed;
    auto const loaded = to.cache->deserialize(kScope, bytes);
    if (loaded) {
      to.engine.expect(*loaded, make_tokens(7, 1));
      ASSERT_TRUE(IsOk(to.cache->erase(*loaded)));
      break;
    }
    EXPECT_TRUE(HasCode(loaded, ErrorCode::kDeviceFailed));
    EXPECT_EQ(used_pages(*to.cache), 0U);
    EXPECT_TRUE(HasCode(to.restore(make_tokens(7, 1)), ErrorCode::kMiss));
  }
  EXPECT_GT(failed, 10U) << "the payload has more pieces than that";
  to.device.failing_synchronize = true;
  EXPECT_TRUE(HasCode(to.cache->deserialize(kScope, bytes), ErrorCode::kDeviceFailed));
  EXPECT_EQ(used_pages(*to.cache), 0U);

  from.device.failing_read = true;
  Bytes out(bytes.size());
  EXPECT_TRUE(HasCode(from.cache->serialize(entry, out), ErrorCode::kDeviceFailed));
}

TEST(ByteFormDevice, TooLittleRoomIsRefusedMoreIsFine) {
  EntryBench bench{with_entries(latent_layout())};
  EntryId const entry = bench.entry_of(make_tokens(7, 1));
  Bytes const bytes = bench.bytes_of(entry);
  Bytes out(bytes.size() - 1, std::byte{0x5A});
  Bytes const untouched = out;
  EXPECT_TRUE(HasCode(bench.cache->serialize(entry, out), ErrorCode::kInvalidArgument, "out"));
  EXPECT_EQ(out, untouched);
  Bytes more(bytes.size() + 100, std::byte{0x5A});
  auto const written = bench.cache->serialize(entry, more);
  ASSERT_TRUE(IsOk(written));
  EXPECT_EQ(*written, bytes.size());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), more.begin()));
  EXPECT_EQ(more[bytes.size()], std::byte{0x5A});
}

}  // namespace
}  // namespace holdfast::test
