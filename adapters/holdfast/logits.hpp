// SPDX-License-Identifier: Apache-2.0
// The logits of the adapter's engine: a fixed function of everything that a sequence has - rows, keys, indexer rows of the open pool
// and states, on every rank - and of nothing else. Once as the history says that it must be, without the library, and once as
// kernels find it in device memory, through the sequence's record and page tables there.
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <span>
#include <vector>

#include "models/reference/model.hpp"

namespace holdfast::adapters {

inline constexpr std::uint32_t kVocabulary = 64;
using Logits = std::array<float, kVocabulary>;

/// A sum of hashes: of each row, key and state, with its place.
using Digest = std::uint64_t;

[[nodiscard]] Logits logits_of(Digest digest) noexcept;

/// What the engine makes rows of: a number for each token of a history that depends on all before it, so that
/// a row of another history is never right.
[[nodiscard]] std::vector<model::Token> contents_of(std::span<std::uint32_t const> ids);

/// What must be there after `rows` of the contents. Shapes: contents [at least rows].
class Meaning {
 public:
  explicit Meaning(model::ModelShape const& shape) : shape_{shape} {}

  /// Digests of the first rows of each plane, as far as they were needed.
  using Sums = std::vector<std::vector<Digest>>;

  /// Rows, keys, and indexer rows of the open pool; `sums` are those of the same contents.
  [[nodiscard]] Digest rows(std::span<model::Token const> contents,
                            std::uint32_t rows,
                            Sums& sums) const;
  /// One row of one plane, on all ranks.
  [[nodiscard]] Digest row(std::uint32_t plane,
                           std::span<model::Token const> contents,
                           std::uint32_t row) const;
  /// Whole states of all layers, [ModelShape::state_elements].
  [[nodiscard]] Digest states(std::span<float const> whole) const;
  /// Advances whole states by one token.
  void advance(model::Token token, std::vector<float>& whole) const;

 private:
  model::ModelShape const& shape_;
};

/// What a kernel of an open step sees of one of its items.
class Sight {
 public:
  Sight(model::ModelShape const& shape, Inspection inspection);

  /// The item, its sequence's index in device memory, and its contents up to its last row.
  struct Item {
    Step& step;
    std::uint32_t item;
    std::uint32_t sequence;
    std::uint32_t base;  // committed rows
    std::span<model::Token const> contents;
    std::uint32_t skip;  // rows that the engine leaves out at the end of draft planes
    bool views;          // rows went through views: their keys are built when the step ends
    model::StateMode mode;
    bool round;
  };
  /// After the first `rows` open rows.
  [[nodiscard]] Result<Digest> digest(Item const& item, std::uint32_t rows) const;
  /// Whether everything that keeps a length says `position`, and no handle is open: the host's bookkeeping of
  /// every plane, and the record on every device.
  [[nodiscard]] bool agrees(std::uint32_t sequence, std::uint32_t position) const;

 private:
  struct Place {
    PlaneInfo info;
    std::uint32_t plane_class;
    std::uint32_t layer_index;
  };
  /// Rows [first, end) of a plane on one rank.
  [[nodiscard]] Digest rows(std::uint32_t plane,
                            std::uint32_t sequence,
                            std::uint32_t rank,
                            std::uint32_t first,
                            std::uint32_t end) const;
  [[nodiscard]] Result<Digest> plane(std::uint32_t plane,
                                     Item const& item,
                                     std::uint32_t rows) const;
  [[nodiscard]] Result<Digest> states(Item const& item, std::uint32_t rows) const;
  [[nodiscard]] Result<float const*> state(std::uint32_t state,
                                           std::uint32_t rank,
                                           Item const& item,
                                           std::uint32_t rows) const;

  model::ModelShape const& shape_;
  Meaning meaning_;
  Inspection inspection_;
  std::vector<Place> places_;  // by plane of the shape
  mutable std::vector<std::uint32_t> table_;
};

}  // namespace holdfast::adapters
