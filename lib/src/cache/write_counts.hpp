// SPDX-License-Identifier: Apache-2.0
// What was written in open handles: rows by plane, layer and rank. A write of a whole class is one
// number, and so is the question whether all layers of it are complete; layers are looked at one by one
// only where they were written one by one and some are missing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/fixed_array.hpp"
#include "storage/plan.hpp"

namespace holdfast::internal::cache {

/// Rows of one plane that were written, over all its layers and ranks.
struct PlaneWrites {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  bool is_viewed = false;  // a layer of it, so that any row may be written
};

/// Counts of all sequences. Never allocates after create.
class WriteCounts {
 public:
  /// Returns false when the host has no memory.
  [[nodiscard]] bool create(storage::Plan const& plan) noexcept {
    ranks_ = plan.ranks;
    shape_count_ = plan.class_count;
    for (std::uint32_t plane = 0; plane < plan.class_count; ++plane) {
      storage::ClassPlan const& known = plan.classes[plane];
      shapes_[plane] = {.first_cell = known.first_layer,
                        .layers = known.layer_count,
                        .lags = known.traits->lags,
                        .is_required = known.is_required()};
      cells_of_rank_ += known.layer_count;
    }
    std::uint64_t const ranks = std::uint64_t{plan.sequence_limit} * plan.ranks;
    return planes_.create(ranks * plan.class_count) && cells_.create(ranks * cells_of_rank_);
  }

  /// A handle opens `rows` rows; nothing is written.
  void open(std::uint32_t sequence, std::uint32_t rows) noexcept {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      for (std::uint32_t plane = 0; plane < shape_count_; ++plane) {
        planes_[at(sequence, plane, rank)] = {.open = rows,
                                              .complete = rows == 0 ? shapes_[plane].layers : 0};
      }
    }
  }
  /// Whether `rows` rows are written of every plane that an engine must write.
  [[nodiscard]] bool has_all(std::uint32_t sequence, std::uint32_t rows) const noexcept {
    for (std::uint32_t plane = 0; rows != 0 && plane < shape_count_; ++plane) {
      if (shapes_[plane].is_required && of(sequence, plane).least < rows) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::uint32_t rows(std::uint32_t sequence,
                                   std::uint32_t plane,
                                   std::uint32_t layer,
                                   std::uint32_t rank) const noexcept {
    Plane const& known = planes_[at(sequence, plane, rank)];
    return known.has_cells ? std::max(known.all, cells_[cell(sequence, plane, layer, rank)].rows)
                           : known.all;
  }
  /// Rows below `rows` of one layer are written.
  void raise(std::uint32_t sequence,
             std::uint32_t plane,
             std::uint32_t layer,
             std::uint32_t rank,
             std::uint32_t rows) noexcept {
    Plane& known = planes_[at(sequence, plane, rank)];
    Cell& own = use_cell(known, sequence, plane, layer, rank);
    std::uint32_t const before = std::max(known.all, own.rows);
    if (rows > before) {
      own.rows = rows;
      known.complete += before < known.open && rows >= known.open ? 1U : 0U;
    }
  }
  /// All open rows of all layers are written.
  void raise_all(std::uint32_t sequence, std::uint32_t plane, std::uint32_t rank) noexcept {
    Plane& known = planes_[at(sequence, plane, rank)];
    known.all = known.open;
    known.complete = shapes_[plane].layers;
  }
  /// Whether nothing was written in any layer.
  [[nodiscard]] bool is_untouched(std::uint32_t sequence,
                                  std::uint32_t plane,
                                  std::uint32_t rank) const noexcept {
    Plane const& known = planes_[at(sequence, plane, rank)];
    return known.all == 0 && !known.has_cells;
  }
  /// The engine writes through a view.
  void view(std::uint32_t sequence,
            std::uint32_t plane,
            std::uint32_t layer,
            std::uint32_t rank) noexcept {
    Plane& known = planes_[at(sequence, plane, rank)];
    use_cell(known, sequence, plane, layer, rank).is_viewed = true;
    known.is_viewed = true;
  }
  /// The engine writes all layers through views.
  void view_all(std::uint32_t sequence, std::uint32_t plane, std::uint32_t rank) noexcept {
    Plane& known = planes_[at(sequence, plane, rank)];
    known.is_viewed = true;
    known.all_viewed = true;
  }
  [[nodiscard]] bool is_viewed(std::uint32_t sequence,
                               std::uint32_t plane,
                               std::uint32_t layer,
                               std::uint32_t rank) const noexcept {
    Plane const& known = planes_[at(sequence, plane, rank)];
    return known.all_viewed ||
           (known.has_cells && cells_[cell(sequence, plane, layer, rank)].is_viewed);
  }
  [[nodiscard]] PlaneWrites of(std::uint32_t sequence, std::uint32_t plane) const noexcept {
    Shape const& shape = shapes_[plane];
    PlaneWrites all{.least = UINT32_MAX};
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      Plane const& own = planes_[at(sequence, plane, rank)];
      all.is_viewed = all.is_viewed || own.is_viewed;
      // Of a plane with more open rows than the handle, those that are written are looked up.
      bool const is_complete = own.complete == shape.layers && !shape.lags;
      if (is_complete || !own.has_cells) {
        std::uint32_t const rows = is_complete ? own.open : own.all;
        all.least = std::min(all.least, rows);
        all.most = std::max(all.most, rows);
        continue;
      }
      for (Cell const& one : cells_.span(cell(sequence, plane, 0, rank), shape.layers)) {
        all.least = std::min(all.least, std::max(own.all, one.rows));
        all.most = std::max(all.most, std::max(own.all, one.rows));
      }
    }
    return all;
  }

 private:
  /// What is known of a plane class.
  struct Shape {
    std::uint32_t first_cell;  // of those of a rank
    std::uint32_t layers;
    bool lags;         // it has more open rows than the handle
    bool is_required;  // an engine writes it before a handle can keep rows
  };
  /// All layers of one plane of one rank.
  struct Plane {
    std::uint32_t open;      // rows of the handle
    std::uint32_t all;       // that all layers have
    std::uint32_t complete;  // layers that have all open rows
    bool has_cells;          // layers were written one by one: their cells say more
    bool is_viewed;
    bool all_viewed;
  };
  /// One layer of one plane of one rank.
  struct Cell {
    std::uint32_t rows;
    bool is_viewed;
  };

  [[nodiscard]] std::uint64_t at(std::uint32_t sequence,
                                 std::uint32_t plane,
                                 std::uint32_t rank) const noexcept {
    return (std::uint64_t{sequence} * ranks_ + rank) * shape_count_ + plane;
  }
  [[nodiscard]] std::uint64_t cell(std::uint32_t sequence,
                                   std::uint32_t plane,
                                   std::uint32_t layer,
                                   std::uint32_t rank) const noexcept {
    return (std::uint64_t{sequence} * ranks_ + rank) * cells_of_rank_ + shapes_[plane].first_cell +
           layer;
  }
  Cell& use_cell(Plane& known,
                 std::uint32_t sequence,
                 std::uint32_t plane,
                 std::uint32_t layer,
                 std::uint32_t rank) noexcept {
    if (!known.has_cells) {
      std::ranges::fill(cells_.span(cell(sequence, plane, 0, rank), shapes_[plane].layers), Cell{});
      known.has_cells = true;
    }
    return cells_[cell(sequence, plane, layer, rank)];
  }

  base::FixedArray<Plane> planes_;  // [sequence_limit, ranks, planes]
  base::FixedArray<Cell> cells_;    // [sequence_limit, ranks, layers of all planes]
  std::array<Shape, storage::kLargestClassCount> shapes_{};
  std::uint32_t shape_count_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint64_t cells_of_rank_ = 0;
};

}  // namespace holdfast::internal::cache
