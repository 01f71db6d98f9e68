// SPDX-License-Identifier: Apache-2.0
// What the laws must know of a plane class: a layout that has it, where its rows or states lie, which of them
// a length needs, and what it cannot serve. See contract_test.cpp for how to add one.
#pragma once

#include <vector>

#include "planes/plane_list.hpp"
#include "tests/contract/lab.hpp"
#include "tests/support/layouts.hpp"

namespace holdfast::test {

using internal::planes::DraftPlane;
using internal::planes::PagedPlane;
using internal::planes::RecurrentPlane;
using internal::planes::StateMode;
using internal::planes::TailRingPlane;
using internal::storage::ClassPlan;

/// Rows in pages, row r at table index r / page_rows.
template <typename P>
struct RowsFixture {
  using Plane = P;
  static constexpr StateMode kModes[] = {StateMode::kFresh};
  /// Whether a drop leaves nothing taken that was not taken before.
  static constexpr bool kDropGivesBack = true;

  static std::uint32_t unit_tokens(ClassPlan const& known) { return known.unit_tokens; }
  static std::uint32_t table_index(ClassPlan const& known, std::uint32_t row) {
    return row / known.page_rows;
  }
  /// First row that `length` rows need.
  static std::uint32_t first_needed(ClassPlan const& /*known*/, std::uint32_t /*length*/) {
    return 0;
  }
  /// Whether a sequence has what it would need at a shorter length.
  template <typename F, typename L>
  static bool has_what_it_needs(L const& lab, std::uint32_t sequence, std::uint32_t length) {
    std::uint32_t const first = F::first_needed(lab.known(), length);
    return first == length || first >= lab.state(sequence).lo;
  }
  static internal::storage::StripLayout strips(ClassPlan const& known, std::byte* pages) {
    return {.base = pages,
            .page_bytes = known.page_bytes,
            .runs = internal::storage::runs_of(known.strips, known.layer_count)};
  }
};

/// The same with what depends on the fixture itself.
template <typename F, typename P>
struct RowsOf : RowsFixture<P> {
  using Base = RowsFixture<P>;

  template <typename L>
  static bool can_be(L const& lab, std::uint32_t sequence, std::uint32_t length) {
    return Base::template has_what_it_needs<F>(lab, sequence, length);
  }
  /// Calls visit(bytes) for the pieces of a row: every strip of every layer.
  template <typename L, typename Visit>
  static void for_each_piece(L& lab, Holder holder, std::uint32_t row, Visit visit) {
    ClassPlan const& known = lab.known();
    std::uint32_t const page = lab.plane().page_at(holder, F::table_index(known, row));
    ASSERT_NE(page, 0U) << "row " << row << " has no page";
    for (std::uint32_t layer = 0; layer < known.layer_count; ++layer) {
      for (Strip const& strip : known.strips) {
        visit(std::span{lab.page(page) + known.layer_offset(layer) + strip.offset +
                            std::uint64_t{row % known.page_rows} * strip.row_bytes,
                        strip.row_bytes});
      }
    }
  }
  template <typename L>
  static void write(L& lab, std::uint32_t sequence) {
    std::uint32_t const unit = lab.known().unit_tokens;
    auto const range = lab.plane().open_range(sequence, lab.opening(sequence));
    Tags tags = lab.history(sequence);
    tags.insert(tags.end(), lab.open_tags(sequence).begin(), lab.open_tags(sequence).end());
    for (std::uint32_t row = range.first / unit; row < (range.first + range.count) / unit; ++row) {
      for_each_piece(lab, {HolderKind::kSequence, sequence}, row, [&](auto bytes) {
        lab.fill(tags[(row + 1) * unit - 1], bytes);
      });
    }
  }
  template <typename L>
  static void rescan(L& /*lab*/, std::uint32_t /*sequence*/, std::uint32_t /*keep*/) {}
  template <typename L>
  static void expect(L const& lab, Holder holder, Tags const& history) {
    std::uint32_t const unit = lab.known().unit_tokens;
    auto const rows = static_cast<std::uint32_t>(history.size()) / unit;
    std::uint32_t const lo = lab.plane().state(holder).lo;
    std::uint32_t const first = F::first_needed(lab.known(), rows);
    EXPECT_TRUE(first == rows || lo <= first) << "row " << first << " is needed, not resident";
    // A snapshot has what its length needs, a sequence perhaps more.
    for (std::uint32_t row = holder.kind == HolderKind::kSequence ? lo : first; row < rows; ++row) {
      for_each_piece(lab, holder, row, [&](auto bytes) {
        lab.expect_tag(history[(row + 1) * unit - 1], bytes, row);
      });
    }
  }
};

/// A fixture of each plane class. There is none for others: one that is added to the list of planes does not
/// compile here until it has its own.
template <typename P>
struct PlaneFixture;

template <>
struct PlaneFixture<PagedPlane> : RowsOf<PlaneFixture<PagedPlane>, PagedPlane> {
  static constexpr PlaneKind kKind = PlaneKind::kAttentionKv;
  /// Keys and values are of different sizes.
  static Layout layout() {
    AttentionKvSpec rows = small_attention();
    rows.format = Format::kBf16;
    rows.value_format = Format::kF32;
    return small_layout({{{rows}}, {}, {{rows}}});
  }
  static std::vector<RowsDescription> refused() {
    return {{.kind = kKind, .strips = strips_of({4}), .ring_rows = 8}};
  }
};

template <>
struct PlaneFixture<DraftPlane> : RowsOf<PlaneFixture<DraftPlane>, DraftPlane> {
  static constexpr PlaneKind kKind = PlaneKind::kDraftKv;
  static Layout layout() {
    return small_layout({{{small_attention()}}, {{DraftKvSpec{small_attention()}}}});
  }
  static std::vector<RowsDescription> refused() {
    return {{.kind = kKind, .strips = strips_of({4}), .unit_tokens = 2},
            {.kind = kKind, .strips = strips_of({4}), .pooled = true}};
  }
};

template <>
struct PlaneFixture<TailRingPlane> : RowsOf<PlaneFixture<TailRingPlane>, TailRingPlane> {
  static constexpr PlaneKind kKind = PlaneKind::kTailRing;
  static constexpr bool kDropGivesBack = false;  // a page of the ring stays where rows reached it
  static Layout layout() { return small_layout({{{small_indexer()}}, {{small_indexer()}}}); }
  static std::uint32_t table_index(ClassPlan const& known, std::uint32_t row) {
    return row % known.ring_rows / known.page_rows;
  }
  static std::uint32_t first_needed(ClassPlan const& known, std::uint32_t length) {
    return length / known.pool * known.pool;
  }
  static std::vector<RowsDescription> refused() {
    return {{.kind = kKind, .strips = strips_of({4})},
            {.kind = kKind, .strips = strips_of({4}), .ring_rows = 6, .pool = 0, .pooled = true}};
  }
};

/// The state after the last token, in a slot.
template <>
struct PlaneFixture<RecurrentPlane> {
  using Plane = RecurrentPlane;
  static constexpr PlaneKind kKind = PlaneKind::kRecurrent;
  static constexpr StateMode kModes[] = {
      StateMode::kFresh, StateMode::kInPlace, StateMode::kRescan};
  static constexpr bool kDropGivesBack = true;

  static Layout layout() {
    return small_layout({{{small_recurrent(), HeldSpec{.elements = 2}}}, {{small_recurrent()}}});
  }
  static std::vector<RowsDescription> refused() {
    return {{.kind = kKind, .strips = strips_of({4})}};
  }
  static std::uint32_t unit_tokens(ClassPlan const& /*known*/) { return 1; }
  static internal::storage::StripLayout strips(ClassPlan const& known, std::byte* slots) {
    return {.base = slots,
            .page_bytes = known.page_bytes,
            .runs = {.count = 1,
                     .list = {{.strips = 1, .row_bytes = internal::planes::kSlotRowBytes}}}};
  }
  template <typename L>
  static bool can_be(L const& lab, std::uint32_t sequence, std::uint32_t length) {
    return length == lab.state(sequence).length;
  }
  /// Fills the slots that the device's record names: one a row of a round, else the one after the last.
  template <typename L>
  static void write(L& lab, std::uint32_t sequence) {
    auto const& opening = lab.opening(sequence);
    if (opening.mode == StateMode::kRescan) {
      return;  // inputs are stashed
    }
    for (std::uint32_t row = opening.round ? 0 : opening.rows - 1; row < opening.rows; ++row) {
      fill(lab, lab.record(sequence).write_slot[opening.round ? row : 0], sequence, row);
    }
  }
  template <typename L>
  static void rescan(L& lab, std::uint32_t sequence, std::uint32_t keep) {
    fill(lab, lab.record(sequence).write_slot[0], sequence, keep - 1);
  }
  template <typename L>
  static void expect(L const& lab, Holder holder, Tags const& history) {
    std::uint32_t const slot = lab.plane().page_at(holder, 0);
    ASSERT_NE(slot, 0U);
    Tag const want = history.empty() ? Tag{0} : history.back();
    for (std::uint32_t part = 0; part < lab.known().layer_count; ++part) {
      StateInfo const& info = lab.plan().states[lab.known().first_state + part];
      std::uint64_t const elements =
          std::uint64_t{info.conv_elements} + info.ssm_elements + info.held_elements;
      lab.expect_tag(
          want, std::span{lab.page(slot) + info.conv_offset, elements * sizeof(float)}, part);
    }
    if (holder.kind == HolderKind::kSequence) {
      EXPECT_EQ(lab.record(holder.index).read_slot, slot) << "kernels read another state";
    }
  }

 private:
  template <typename L>
  static void fill(L& lab, std::uint32_t slot, std::uint32_t sequence, std::uint32_t row) {
    lab.fill(lab.open_tags(sequence)[row], std::span{lab.page(slot), lab.known().page_bytes});
  }
};

// Kinds whose class has a fixture already, and which use more of it.

struct LatentFixture : RowsOf<LatentFixture, PagedPlane> {
  static constexpr PlaneKind kKind = PlaneKind::kLatent;
  /// In the format that is the last of the list.
  static Layout layout() {
    constexpr auto kFormat = static_cast<Format>(kFormatCount - 1);
    LatentSpec const rows{.width = 3 * trait_of(kFormat).block_elements, .format = kFormat};
    return small_layout({{{rows}}, {{rows}}});
  }
  static std::vector<RowsDescription> refused() { return {}; }
};

/// Rows of two tokens.
struct PoolKeysFixture : RowsOf<PoolKeysFixture, PagedPlane> {
  static constexpr PlaneKind kKind = PlaneKind::kPoolKeys;
  static Layout layout() { return small_layout({{{small_indexer()}}}); }
  static std::vector<RowsDescription> refused() { return {}; }
};

using MoreFixtures = internal::planes::TypeList<LatentFixture, PoolKeysFixture>;

template <typename P>
concept has_fixture = requires {
  PlaneFixture<P>::kKind;
};

/// Stops the compilation when a class of the list has no fixture.
template <typename... P>
constexpr bool all_have_fixtures(internal::planes::TypeList<P...> /*list*/) noexcept {
  static_assert((has_fixture<P> && ...), "a plane class has no fixture in tests/contract");
  return true;
}
static_assert(all_have_fixtures(internal::planes::AllPlanes{}));

}  // namespace holdfast::test
