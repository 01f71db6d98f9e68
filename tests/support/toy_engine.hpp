// SPDX-License-Identifier: Apache-2.0
// A toy engine for the host device: writes what a token history determines, and checks a holder
// against a history. Rows are a plain function of (plane, layer, position, token); the state is a
// running fold over the tokens; pool keys are recomputed by the formula, from the rows' values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>
#include <holdfast/formats.hpp>
#include <string>
#include <vector>

#include "tests/support/status.hpp"

namespace holdfast::test {

/// Token keys, oldest first.
using History = std::vector<TokenKey>;

/// `count` tokens that follow from `seed`.
inline History make_tokens(std::uint32_t count, std::uint32_t seed) {
  History tokens;
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens.push_back((seed * 31 + i * 7 + 3) % 97);
  }
  return tokens;
}

/// `first` followed by `second`.
inline History joined(History first, History const& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The first `length` tokens.
inline History first_of(History const& history, std::uint32_t length) {
  return {history.begin(), history.begin() + length};
}

/// Element `element` of the row that token `token` adds at `position`.
inline float row_element(PlaneKind kind,
                         std::uint32_t layer,
                         std::uint32_t position,
                         TokenKey token,
                         std::uint32_t element) {
  TokenKey const mixed =
      token * 17 + position * 5 + element * 3 + layer * 11 + static_cast<std::uint32_t>(kind) * 13;
  return static_cast<float>(mixed % 41) * 0.25F - 4.5F;  // as a gate it leaves [0, 1] both ways
}

/// One step of the fold that stands for a recurrent layer.
inline float next_state(float before, std::uint32_t layer, TokenKey token, std::uint32_t element) {
  return before * 0.5F + static_cast<float>(token + layer * 3 + element % 5);
}

/// Pool key element over the rows [first, first + pool), by the definition.
inline float key_element(History const& history,
                         std::uint32_t layer,
                         std::uint32_t first,
                         std::uint32_t pool,
                         std::uint32_t width,
                         std::uint32_t element) {
  float sum = 0.0F;
  for (std::uint32_t i = 0; i < pool; ++i) {
    std::uint32_t const at = first + i;
    float const value = row_element(PlaneKind::kTailRing, layer, at, history[at], element);
    float const gate = row_element(PlaneKind::kTailRing, layer, at, history[at], width + element);
    float weight = 0.5F + 0.25F * gate;
    weight = weight < 0.0F ? 0.0F : weight > 1.0F ? 1.0F : weight;
    float const term = weight * value;
    sum = i == 0 ? term : sum + term;
  }
  return sum / static_cast<float>(pool);
}

/// Writes histories into a cache on a host device and checks them there.
class ToyEngine {
 public:
  explicit ToyEngine(Cache const& cache) noexcept : cache_{&cache} {}

  /// Rows [first, first + tokens.size()) of a handle that was opened at the end of `base`.
  [[nodiscard]] std::vector<float> rows(PlaneInfo const& plane,
                                        std::uint32_t layer,
                                        std::uint32_t position,
                                        History const& tokens) const {
    std::vector<float> out;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
      for (std::uint32_t element = 0; element < plane.row_elements; ++element) {
        out.push_back(row_element(plane.kind, layer, position + i, tokens[i], element));
      }
    }
    return out;
  }

  /// Writes all rows of all planes through write(), and the states.
  void write(Append& append, std::uint32_t position, History const& tokens) const {
    for_each_written([&](PlaneInfo const& plane, std::uint32_t layer) {
      auto const source = rows(plane, layer, position, tokens);
      EXPECT_TRUE(IsOk(append.write(plane.kind, layer, source.data(), count_of(tokens))));
    });
    write_states(append, tokens, false);
  }
  void write(Round& round, std::uint32_t position, History const& tokens) const {
    write_rows(round, position, tokens);
    write_states(round, tokens, true);
  }
  /// The rows without the states.
  void write_rows(Round& round, std::uint32_t position, History const& tokens) const {
    for_each_written([&](PlaneInfo const& plane, std::uint32_t layer) {
      auto const source = rows(plane, layer, position, tokens);
      EXPECT_TRUE(IsOk(round.write(plane.kind, layer, source.data(), 0, count_of(tokens))));
    });
  }

  /// All rows, and the state after them where it is read: rows of an in-place round.
  void write_in_place(Round& round, std::uint32_t position, History const& tokens) const {
    write_rows(round, position, tokens);
    write_states(round, tokens, false);
  }

  /// The same through views, as an engine's own kernels would.
  template <typename Open>
  void write_views(Open& open, std::uint32_t position, History const& tokens, bool is_round) const {
    for_each_written([&](PlaneInfo const& plane, std::uint32_t layer) {
      auto const view = open.rows(plane.kind, layer);
      ASSERT_TRUE(IsOk(view));
      auto const source = rows(plane, layer, position, tokens);
      float const* from = source.data();
      for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        for (Strip const& strip : view->strips) {
          encode_elements(strip.format, from, strip.elements, address(*view, position + i, strip));
          from += strip.elements;
        }
      }
    });
    write_states(open, tokens, is_round);
  }

  /// Writes the states alone, through views.
  template <typename Open>
  void write_states(Open& open, History const& tokens, bool is_round) const {
    for (StateInfo const& info : cache_->inspect().states()) {
      if (info.kind == PlaneKind::kHeld) {
        write_held(open, info, tokens, is_round);
        continue;
      }
      auto const view = open.state(info.layer);
      ASSERT_TRUE(IsOk(view));
      std::byte const* const from = view->slots + view->sequence->read_slot * view->slot_bytes;
      auto conv = read(from + view->conv_offset, info.conv_elements);
      auto ssm = read(from + view->ssm_offset, info.ssm_elements);
      for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        advance(conv, info.layer, tokens[i]);
        advance(ssm, info.layer + 1, tokens[i]);
        if (is_round || i + 1 == tokens.size()) {
          std::uint32_t const slot = (&view->sequence->write_slot[0])[is_round ? i : 0];
          std::byte* const to = view->slots + slot * view->slot_bytes;
          write_floats(to + view->conv_offset, conv);
          write_floats(to + view->ssm_offset, ssm);
        }
      }
    }
  }

  /// Folds as in the states.
  template <typename Open>
  void write_held(Open& open, StateInfo const& info, History const& tokens, bool is_round) const {
    auto const view = open.held(info.layer);
    ASSERT_TRUE(IsOk(view));
    ASSERT_EQ(view->elements, info.held_elements);
    std::byte* const base = view->slots + view->offset;
    auto held = read(base + view->sequence->read_slot * view->slot_bytes, info.held_elements);
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
      advance(held, info.layer + 2, tokens[i]);
      if (is_round || i + 1 == tokens.size()) {
        std::uint32_t const slot = (&view->sequence->write_slot[0])[is_round ? i : 0];
        write_floats(base + slot * view->slot_bytes, held);
      }
    }
  }

  /// Appends and commits; the sequence then holds history + tokens.
  void append(Sequence& sequence, History& history, History const& tokens) const {
    auto open = sequence.append(count_of(tokens));
    ASSERT_TRUE(IsOk(open));
    write(*open, count_of(history), tokens);
    ASSERT_TRUE(IsOk(open->commit()));
    history = joined(history, tokens);
  }
  /// Verifies all tokens and keeps the first `keep`.
  void verify(Sequence& sequence,
              History& history,
              History const& tokens,
              std::uint32_t keep) const {
    auto round = sequence.verify(count_of(tokens));
    ASSERT_TRUE(IsOk(round));
    write(*round, count_of(history), tokens);
    ASSERT_TRUE(IsOk(round->accept(keep)));
    history = joined(history, first_of(tokens, keep));
  }

  /// Everything that the sequence shows is what `history` determines.
  void expect(Sequence const& sequence, History const& history) const {
    auto const position = sequence.position();
    ASSERT_TRUE(IsOk(position));
    EXPECT_EQ(*position, history.size());
    expect_planes({HolderKind::kSequence, sequence.id().index}, history);
    auto const mirror = cache_->inspect().mirror(sequence.id().index);
    ASSERT_TRUE(IsOk(mirror));
    EXPECT_EQ(mirror->committed, history.size());
    EXPECT_EQ(mirror->generation, sequence.id().generation);
  }
  void expect(Snapshot const& snapshot, History const& history) const {
    auto const position = snapshot.position();
    ASSERT_TRUE(IsOk(position));
    EXPECT_EQ(*position, history.size());
    expect_planes({HolderKind::kSnapshot, snapshot.id().index}, history);
  }
  void expect(EntryId entry, History const& history) const {
    EXPECT_EQ(cache_->inspect().snapshot(entry.index).position, history.size());
    expect_planes({HolderKind::kSnapshot, entry.index}, history);
  }

 private:
  static std::uint32_t count_of(History const& tokens) {
    return static_cast<std::uint32_t>(tokens.size());
  }
  static std::byte* address(RowsView const& view, std::uint32_t row, Strip const& strip) {
    std::uint32_t const physical = view.ring_rows == 0 ? row : row % view.ring_rows;
    return view.pages + view.table[physical / view.page_rows] * view.page_bytes +
           view.layer_offset + strip.offset +
           std::uint64_t{physical % view.page_rows} * strip.row_bytes;
  }

  template <typename Visitor>
  void for_each_written(Visitor visitor) const {
    Inspection const look = cache_->inspect();
    for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
      PlaneInfo const plane = look.plane(index);
      if (plane.page_rows == 0 || plane.unit_tokens != 1) {
        continue;
      }
      for (std::uint32_t const layer : plane.layers) {
        visitor(plane, layer);
      }
    }
  }

  static std::vector<float> read(std::byte const* from, std::uint32_t count) {
    std::vector<float> out(count);
    for (float& value : out) {
      std::memcpy(&value, from, sizeof value);
      from += sizeof value;
    }
    return out;
  }
  static void write_floats(std::byte* to, std::vector<float> const& values) {
    for (float const value : values) {
      std::memcpy(to, &value, sizeof value);
      to += sizeof value;
    }
  }
  /// Makes of a row what its formats keep of it.
  static void keep(Strips const& strips, std::vector<float>& row) {
    float* elements = row.data();
    for (Strip const& strip : strips) {
      std::vector<std::byte> bytes(strip.row_bytes);
      encode_elements(strip.format, elements, strip.elements, bytes.data());
      decode_elements(strip.format, bytes.data(), strip.elements, elements);
      elements += strip.elements;
    }
  }
  static void advance(std::vector<float>& state, std::uint32_t layer, TokenKey token) {
    for (std::uint32_t element = 0; element < state.size(); ++element) {
      state[element] = next_state(state[element], layer, token, element);
    }
  }

  void expect_planes(Holder holder, History const& history) const {
    Inspection const look = cache_->inspect();
    for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
      PlaneInfo const plane = look.plane(index);
      PlaneState const state = look.state(holder, index);
      EXPECT_EQ(state.length, history.size() / plane.unit_tokens) << plane.name;
      if (plane.page_rows == 0) {
        expect_state(holder, plane, history);
      } else if (state.length == history.size() / plane.unit_tokens) {
        expect_rows(holder, index, history);
      }
    }
  }
  void expect_rows(Holder holder, std::uint32_t index, History const& history) const {
    Inspection const look = cache_->inspect();
    PlaneInfo const plane = look.plane(index);
    PlaneState const state = look.state(holder, index);
    std::vector<float> found(plane.row_elements);
    std::vector<float> wanted(plane.row_elements);
    for (std::uint32_t i = 0; i < plane.layers.size(); ++i) {
      std::uint32_t const layer = plane.layers[i];
      for (std::uint32_t row = state.lo; row < state.length; ++row) {
        ASSERT_TRUE(IsOk(look.read_rows(holder, index, i, row, 1, found)))
            << plane.name << " layer " << layer << " row " << row;
        for (std::uint32_t element = 0; element < plane.row_elements; ++element) {
          wanted[element] = plane.unit_tokens != 1
                                ? key_element(history,
                                              layer,
                                              row * plane.unit_tokens,
                                              plane.unit_tokens,
                                              plane.row_elements,
                                              element)
                                : row_element(plane.kind, layer, row, history[row], element);
        }
        keep(plane.strips, wanted);
        EXPECT_EQ(found, wanted) << plane.name << " layer " << layer << " row " << row;
      }
    }
  }
  void expect_state(Holder holder, PlaneInfo const& plane, History const& history) const {
    Inspection const look = cache_->inspect();
    std::vector<float> found(plane.page_bytes / sizeof(float));
    ASSERT_TRUE(IsOk(look.read_state(holder, found)));
    for (StateInfo const& info : look.states()) {
      std::vector<float> conv(info.conv_elements);
      std::vector<float> ssm(info.ssm_elements);
      std::vector<float> held(info.held_elements);
      for (TokenKey const token : history) {
        advance(conv, info.layer, token);
        advance(ssm, info.layer + 1, token);
        advance(held, info.layer + 2, token);
      }
      auto const held_at =
          found.begin() + static_cast<std::ptrdiff_t>(info.held_offset / sizeof(float));
      EXPECT_TRUE(std::equal(held.begin(), held.end(), held_at)) << "held of layer " << info.layer;
      auto const conv_at =
          found.begin() + static_cast<std::ptrdiff_t>(info.conv_offset / sizeof(float));
      auto const ssm_at =
          found.begin() + static_cast<std::ptrdiff_t>(info.ssm_offset / sizeof(float));
      EXPECT_TRUE(std::equal(conv.begin(), conv.end(), conv_at)) << "conv of layer " << info.layer;
      EXPECT_TRUE(std::equal(ssm.begin(), ssm.end(), ssm_at)) << "ssm of layer " << info.layer;
    }
  }

  Cache const* cache_;
};

}  // namespace holdfast::test
