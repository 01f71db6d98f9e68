// SPDX-License-Identifier: Apache-2.0
// Who holds what: a graph from the cache to sequences, snapshots, entries and open handles, from
// those to chunks, pages and slots. What cannot be reached is free, or it has leaked. What every way
// to leads through a holder - what it dominates - is what its end gives back, no more and no less.
//
// It reads tables, never counts of references: those are what it is a witness for.
#pragma once

#include <cstdint>
#include <holdfast/inspect.hpp>
#include <string>
#include <vector>

#include "models/recorder/free_storage.hpp"

namespace holdfast::model {

/// The lineage of one cache at one moment.
class Lineage {
 public:
  explicit Lineage(Inspection const& inspection);

  /// What the end of a holder gives back, by plane; of a sequence also what its open handle took.
  [[nodiscard]] std::vector<FreeCounts> given_back_by(Holder holder) const;
  /// Storage that is free and held, or neither; empty when there is none.
  [[nodiscard]] std::string flaw() const { return flaw_; }

 private:
  /// A chunk, page or slot.
  struct Piece {
    std::uint32_t plane = 0;
    bool is_chunk = false;
  };
  struct Owner {
    Holder holder;
    std::uint32_t vertex = 0;
  };

  std::vector<Owner> owners_;
  std::vector<Piece> pieces_;              // by vertex; of holders and of the cache nothing
  std::vector<std::uint32_t> dominators_;  // by vertex: the next one on the way to the cache
  std::uint32_t planes_ = 0;
  std::uint32_t first_piece_ = 0;  // vertex
  std::string flaw_;
};

}  // namespace holdfast::model
