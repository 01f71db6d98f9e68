// SPDX-License-Identifier: Apache-2.0
// A language model of two layers that is small enough to read: what it says next is what followed
// the most similar context so far. Layer 1 is recurrent: its state is the context, a decaying sum
// of the tokens. Layer 0 is attention: the key of a row is the context before its token, the value
// the token. So a stale row or a stale state changes what it says.
//
// Both layers live in a Holdfast cache on the host, where kernels are plain functions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <holdfast/cache.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny {

inline constexpr std::uint32_t kWidth = 32;
using Vector = std::array<float, kWidth>;
using holdfast::PlaneKind;
using holdfast::Result;

inline Vector embedding(char token) {
  Vector vector;
  std::uint32_t bits = static_cast<unsigned char>(token) * 2654435761U;
  for (float& element : vector) {
    bits = bits * 1664525U + 1013904223U;
    element = (bits & 0x10000U) != 0 ? 1.0F : -1.0F;
  }
  return vector;
}

inline float dot(Vector const& a, Vector const& b) {
  float sum = 0;
  for (std::uint32_t i = 0; i < kWidth; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

inline holdfast::Layout layout() {
  holdfast::Layout layout;
  layout.layers = {{{holdfast::AttentionKvSpec{.heads = 1, .head_dim = kWidth}}},
                   {{holdfast::RecurrentSpec{.heads = 1, .d_k = 1, .d_v = kWidth}}}};
  layout.page_rows = 16;
  layout.capacity = {
      .sequences = 2, .tokens = 512, .largest_round = 4, .snapshots = 2, .entries = 2};
  return layout;
}

/// What follows a context, by attention over `rows` rows of layer 0.
inline char most_likely(holdfast::RowsView const& view, Vector const& context, std::uint32_t rows) {
  Vector mixed{};
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::byte const* const at = view.pages + view.table[row / view.page_rows] * view.page_bytes +
                                view.layer_offset + row % view.page_rows * view.strips[0].row_bytes;
    Vector key;
    Vector value;
    std::memcpy(&key, at, sizeof key);
    std::memcpy(&value, at + view.strips[1].offset, sizeof value);
    float const norm = std::sqrt(dot(key, key) * dot(context, context)) + 1.0F;
    float const weight = std::exp(60.0F * dot(key, context) / norm);
    for (std::uint32_t i = 0; i < kWidth; ++i) {
      mixed[i] += weight * value[i];
    }
  }
  char best = ' ';
  for (char token = ' '; token <= 'z'; ++token) {
    best = dot(mixed, embedding(token)) > dot(mixed, embedding(best)) ? token : best;
  }
  return best;
}

/// Runs tokens through both layers, as the open rows of an append or a round, and says what comes
/// after each.
template <typename OpenRows>
Result<std::string> forward(OpenRows& open, std::string_view tokens) {
  auto const rows = open.rows(PlaneKind::kAttentionKv, 0);
  HOLDFAST_TRY(rows);
  auto const states = open.state(1);
  HOLDFAST_TRY(states);
  auto const state_of = [&](std::uint32_t slot) {
    return states->slots + slot * states->slot_bytes + states->ssm_offset;
  };
  Vector context;
  std::memcpy(&context, state_of(states->sequence->read_slot), sizeof context);
  std::string next;
  std::uint32_t const committed = rows->sequence->committed;
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    std::uint32_t const row = committed + i;
    std::byte* const at = rows->pages + rows->table[row / rows->page_rows] * rows->page_bytes +
                          rows->layer_offset + row % rows->page_rows * rows->strips[0].row_bytes;
    Vector const value = embedding(tokens[i]);
    std::memcpy(at, &context, sizeof context);
    std::memcpy(at + rows->strips[1].offset, &value, sizeof value);
    for (std::uint32_t element = 0; element < kWidth; ++element) {
      context[element] = 0.8F * context[element] + value[element];
    }
    // A round keeps the state after each of its rows, an append that after the last.
    constexpr bool kIsRound = std::is_same_v<OpenRows, holdfast::Round>;
    std::memcpy(state_of(states->sequence->write_slot[kIsRound ? i : 0]), &context, sizeof context);
    next += most_likely(*rows, context, row + 1);
  }
  return next;
}

/// Appends a text; says what comes after it.
inline Result<char> read(holdfast::Sequence& sequence, std::string_view text) {
  auto append = sequence.append(static_cast<std::uint32_t>(text.size()));
  HOLDFAST_TRY(append);
  auto const next = forward(*append, text);
  HOLDFAST_TRY(next);
  HOLDFAST_TRY(append->commit());
  return next->back();
}

}  // namespace tiny
