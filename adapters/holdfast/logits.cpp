// SPDX-License-Identifier: Apache-2.0
#include "adapters/holdfast/logits.hpp"

#include <xxhash.h>

#include <algorithm>
#include <holdfast/formats.hpp>

namespace holdfast::adapters {
namespace {

using model::ModelShape;
using model::PlaneShape;
using model::StateMode;
using model::StateShape;
using model::Token;

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

/// The hash of what lies at a place: a row of a plane, or a state, which is no row.
Digest hash_of(std::uint32_t place,
               std::uint32_t rank,
               std::uint32_t row,
               std::span<float const> elements) noexcept {
  std::uint64_t const seed = (std::uint64_t{place} << 40U | std::uint64_t{rank} << 32U | row);
  return XXH3_64bits_withSeed(elements.data(), elements.size_bytes(), mixed(seed + kGolden));
}

/// Rows that a plane must show of a history: all, those that the window needs, or a key for each whole pool.
model::RowRange range_of(ModelShape const& shape, std::uint32_t plane, std::uint32_t length) {
  PlaneShape const& known = shape.planes[plane];
  if (known.derived) {
    return {0, length / known.pool};
  }
  std::uint32_t const window = shape.window_of_plane[plane];
  return {window < shape.windows.size() ? shape.windows[window].first_needed(length) : 0, length};
}

}  // namespace

Logits logits_of(Digest digest) noexcept {
  Logits logits;
  for (std::uint32_t i = 0; i < kVocabulary; ++i) {
    auto const bits = static_cast<std::uint32_t>(mixed(digest + (i + 1) * kGolden) >> 40U);
    logits[i] = static_cast<float>(bits) / 8388608.0F - 1.0F;  // 24 bits: exact
  }
  return logits;
}

std::vector<Token> contents_of(std::span<std::uint32_t const> ids) {
  std::vector<Token> contents(ids.size());
  std::uint64_t history = kGolden;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    history = mixed(history + ids[i] + 1);
    contents[i] =
        static_cast<Token>(history % 0xFFFFFFU) + 1;  // formats of few digits keep 24 bits
  }
  return contents;
}

Digest Meaning::row(std::uint32_t plane, std::span<Token const> contents, std::uint32_t row) const {
  PlaneShape const& known = shape_.planes[plane];
  float whole[model::kWidestRow];
  float shard[model::kWidestRow];
  if (known.derived) {
    PlaneShape ring = known;
    ring.kind = PlaneKind::kTailRing;
    ring.elements = 2 * known.key_width;
    std::uint32_t const first = row * known.pool;
    model::make_key(ring, contents.subspan(first, known.pool), first, whole);
  } else {
    model::make_stored_row(known, contents[row], row, whole);
  }
  Digest sum = 0;
  std::uint32_t const elements = shard_elements(known, shape_.ranks);
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    take_shard(known, whole, shape_.ranks, rank, shard);
    sum += hash_of(plane, rank, row, {shard, elements});
  }
  return sum;
}

Digest Meaning::rows(std::span<Token const> contents, std::uint32_t rows, Sums& sums) const {
  sums.resize(shape_.planes.size(), {0});
  Digest sum = 0;
  for (std::uint32_t plane = 0; plane < sums.size(); ++plane) {
    std::vector<Digest>& first = sums[plane];
    model::RowRange const range = range_of(shape_, plane, rows);
    while (first.size() <= range.last) {
      first.push_back(first.back() +
                      row(plane, contents, static_cast<std::uint32_t>(first.size()) - 1));
    }
    sum += first[range.last] - first[range.first];
  }
  return sum;
}

Digest Meaning::states(std::span<float const> whole) const {
  Digest sum = 0;
  std::vector<float> shard;
  for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
    StateShape const& state = shape_.states[i];
    shard.resize(shard_elements(state, shape_.ranks));
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
      take_shard(state, whole.data() + shape_.state_offsets[i], shape_.ranks, rank, shard.data());
      sum += hash_of(static_cast<std::uint32_t>(shape_.planes.size()) + i, rank, 0, shard);
    }
  }
  return sum;
}

void Meaning::advance(Token token, std::vector<float>& whole) const {
  whole.resize(shape_.state_elements);
  for (std::size_t i = 0; i < shape_.states.size(); ++i) {
    StateShape const& state = shape_.states[i];
    float* const at = whole.data() + shape_.state_offsets[i];
    state.advance(state, {&token, 1}, at, at);
  }
}

Sight::Sight(ModelShape const& shape, Inspection inspection)
    : shape_{shape}, meaning_{shape}, inspection_{inspection}, places_(shape.planes.size()) {
  for (std::uint32_t c = 0; c < inspection.plane_count(); ++c) {
    PlaneInfo const info = inspection.plane(c);
    for (std::uint32_t i = 0; i < info.layers.size() && info.page_rows != 0; ++i) {
      places_[shape.find(info.kind, info.layers[i])] = {info, c, i};
    }
  }
}

Digest Sight::rows(std::uint32_t plane,
                   std::uint32_t sequence,
                   std::uint32_t rank,
                   std::uint32_t first,
                   std::uint32_t end) const {
  Place const& place = places_[plane];
  PlaneInfo const& info = place.info;
  table_.resize(info.entries);
  if (!inspection_.read_table(sequence, place.plane_class, 0, table_, rank)) {
    return 0;
  }
  std::byte const* const base =
      inspection_.base(place.plane_class, rank) + place.layer_index * info.strips.layer_bytes;
  Digest sum = 0;
  float elements[model::kWidestRow];
  for (std::uint32_t row = first; row < end; ++row) {
    std::uint32_t const physical = info.ring_rows == 0 ? row : row % info.ring_rows;
    std::uint32_t const entry = physical / info.page_rows;
    if (entry >= table_.size() || table_[entry] >= info.pages) {
      continue;  // it lies nowhere
    }
    std::uint32_t at = 0;
    for (Strip const& strip : info.strips) {
      decode_elements(strip.format,
                      base + table_[entry] * info.page_bytes + strip.offset +
                          std::uint64_t{physical % info.page_rows} * strip.row_bytes,
                      strip.elements,
                      elements + at);
      at += strip.elements;
    }
    sum += hash_of(plane, rank, row, {elements, at});
  }
  return sum;
}

/// Draft rows and keys that are not there yet are made anew, as an engine would that needs them now.
Result<Digest> Sight::plane(std::uint32_t plane, Item const& item, std::uint32_t rows) const {
  PlaneShape const& known = shape_.planes[plane];
  std::uint32_t const length = item.base + rows;
  model::RowRange range = range_of(shape_, plane, length);
  std::uint32_t const end = range.last;
  if (rule_of(known.kind) == PlaneRule::kDraft) {
    auto const open = item.step.range(item.item, known.kind, known.layer);
    HOLDFAST_TRY(open);
    std::uint32_t const most = std::min(open->count, item.base - open->first + rows);
    range.last = std::min(length, open->first + (most > item.skip ? most - item.skip : 0));
  } else if (known.derived && item.views) {
    range.last = item.base / known.pool;
  }
  Digest sum = 0;
  for (std::uint32_t row = range.last; row < end; ++row) {
    sum += meaning_.row(plane, item.contents, row);
  }
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
    auto const record = inspection_.mirror(item.sequence, known.stage * shape_.ranks + rank);
    HOLDFAST_TRY(record);
    std::uint32_t const there = record->committed + std::min(record->open, rows);
    std::uint32_t const last = std::min(range.last, known.derived ? there / known.pool : there);
    sum += this->rows(plane, item.sequence, rank, range.first, last);
  }
  return sum;
}

/// Where the state of one layer lies after some rows; that of a rescan round is the one at its base.
Result<float const*> Sight::state(std::uint32_t state,
                                  std::uint32_t rank,
                                  Item const& item,
                                  std::uint32_t rows) const {
  StateShape const& known = shape_.states[state];
  std::byte const* slots = nullptr;
  SequenceMirror const* record = nullptr;
  std::uint64_t slot_bytes = 0;
  if (known.kind == PlaneKind::kHeld) {
    auto const view = item.step.held(item.item, known.layer, 0, rank);
    HOLDFAST_TRY(view);
    slots = view->slots + view->offset;
    record = view->sequence;
    slot_bytes = view->slot_bytes;
  } else {
    auto const view = item.step.state(item.item, known.layer, 0, rank);
    HOLDFAST_TRY(view);
    slots = view->slots + view->conv_offset;
    record = view->sequence;
    slot_bytes = view->slot_bytes;
  }
  std::uint32_t slot = record->read_slot;  // in place it is written, and at the base of a rescan
  if (item.mode == StateMode::kFresh) {
    slot = record->write_slot[item.round ? rows - 1 : 0];
  }
  return reinterpret_cast<float const*>(slots + slot * slot_bytes);
}

Result<Digest> Sight::states(Item const& item, std::uint32_t rows) const {
  bool const is_rescan = item.mode == StateMode::kRescan;
  std::vector<float> whole(shape_.state_elements);
  Digest sum = 0;
  for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
      auto const found = state(i, rank, item, rows);
      HOLDFAST_TRY(found);
      if (is_rescan) {
        put_shard(
            shape_.states[i], *found, shape_.ranks, rank, whole.data() + shape_.state_offsets[i]);
      } else {
        sum += hash_of(static_cast<std::uint32_t>(shape_.planes.size()) + i,
                       rank,
                       0,
                       {*found, shard_elements(shape_.states[i], shape_.ranks)});
      }
    }
  }
  if (!is_rescan) {
    return sum;
  }
  for (Token const token : item.contents.subspan(item.base, rows)) {
    meaning_.advance(token, whole);
  }
  return meaning_.states(whole);
}

Result<Digest> Sight::digest(Item const& item, std::uint32_t rows) const {
  auto sum = states(item, rows);
  HOLDFAST_TRY(sum);
  for (std::uint32_t i = 0; i < shape_.planes.size(); ++i) {
    auto const one = plane(i, item, rows);
    HOLDFAST_TRY(one);
    *sum += *one;
  }
  return sum;
}

bool Sight::agrees(std::uint32_t sequence, std::uint32_t position) const {
  SequenceInfo const info = inspection_.sequence(sequence);
  bool agree = info.live && !info.open && !info.tainted && info.position == position;
  for (std::uint32_t c = 0; c < inspection_.plane_count(); ++c) {
    PlaneInfo const plane = inspection_.plane(c);
    PlaneState const state = inspection_.state({HolderKind::kSequence, sequence}, c);
    bool const is_draft = rule_of(plane.kind) == PlaneRule::kDraft;
    bool const has_rows = plane.page_rows != 0;
    agree = agree && (!has_rows || (is_draft ? state.length <= position
                                             : state.length == position / plane.unit_tokens));
    for (std::uint32_t rank = 0; rank < shape_.ranks && agree; ++rank) {
      auto const record = inspection_.mirror(sequence, plane.stage * shape_.ranks + rank);
      agree = record && record->committed == position && record->open == 0 &&
              (has_rows || (record->read_slot == state.slot && state.slot != 0));
    }
  }
  return agree;
}

}  // namespace holdfast::adapters
