// SPDX-License-Identifier: Apache-2.0
// The graph of holders: Boost.Graph for dominators.
#include "models/lineage/lineage.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <utility>

namespace holdfast::model {
namespace {

using HolderGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

constexpr std::uint32_t kCache = 0;  // the vertex of the cache itself
constexpr std::uint32_t kNoVertex = UINT32_MAX;

/// Numbers chunks, pages and slots as they are met.
class Builder {
 public:
  Builder(Inspection const& inspection, std::uint32_t first)
      : inspection_{inspection}, next_{first}, of_plane_(inspection.plane_count()) {
    for (std::uint32_t plane = 0; plane < of_plane_.size(); ++plane) {
      of_plane_[plane].pages.assign(inspection.plane(plane).pages, kNoVertex);
      of_plane_[plane].chunks.assign(inspection.chunk_limit(plane), kNoVertex);
    }
  }

  /// All that a holder's tables name.
  void add(Holder holder, std::uint32_t vertex) {
    for (std::uint32_t plane = 0; plane < of_plane_.size(); ++plane) {
      PlaneInfo const info = inspection_.plane(plane);
      PlaneState const state = inspection_.state(holder, plane);
      if (info.page_rows == 0) {
        add_page(plane, state.slot, vertex);
      }
      std::uint32_t const listed = info.ring_rows != 0 ? state.pages : 0;
      for (std::uint32_t entry = 0; entry < listed; ++entry) {
        add_page(plane, inspection_.page(holder, plane, entry), vertex);
      }
      for (std::uint32_t entry = 0; entry < state.chunks; ++entry) {
        add_chunk(plane, inspection_.chunk(holder, plane, entry), vertex);
      }
      if (holder.kind == HolderKind::kSequence) {
        for (std::uint32_t const page : inspection_.open_pages(holder.index, plane)) {
          add_page(plane, page, vertex);
        }
      }
    }
  }
  void add_edge(std::uint32_t from, std::uint32_t to) { edges_.emplace_back(from, to); }

  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> const& edges() const {
    return edges_;
  }
  [[nodiscard]] std::uint32_t vertices() const { return next_; }
  [[nodiscard]] bool has_page(std::uint32_t plane, std::uint32_t page) const {
    return of_plane_[plane].pages[page] != kNoVertex;
  }
  /// Calls visit(vertex, plane, whether it is a chunk) for everything that is held.
  template <typename Visit>
  void for_each_piece(Visit visit) const {
    for (std::uint32_t plane = 0; plane < of_plane_.size(); ++plane) {
      for (bool const is_chunk : {false, true}) {
        for (std::uint32_t const vertex :
             is_chunk ? of_plane_[plane].chunks : of_plane_[plane].pages) {
          if (vertex != kNoVertex) {
            visit(vertex, plane, is_chunk);
          }
        }
      }
    }
  }

 private:
  struct OfPlane {
    std::vector<std::uint32_t> pages;  // their vertices
    std::vector<std::uint32_t> chunks;
  };

  void add_page(std::uint32_t plane, std::uint32_t page, std::uint32_t from) {
    if (page == 0 || page >= of_plane_[plane].pages.size()) {
      return;  // reserved
    }
    std::uint32_t& vertex = of_plane_[plane].pages[page];
    vertex = vertex == kNoVertex ? next_++ : vertex;
    add_edge(from, vertex);
  }
  void add_chunk(std::uint32_t plane, std::uint32_t chunk, std::uint32_t from) {
    std::uint32_t& vertex = of_plane_[plane].chunks[chunk];
    bool const is_new = vertex == kNoVertex;
    vertex = is_new ? next_++ : vertex;
    std::uint32_t const own = vertex;
    add_edge(from, own);
    if (is_new) {
      for (std::uint32_t const page : inspection_.chunk_pages(plane, chunk)) {
        add_page(plane, page, own);
      }
    }
  }

  Inspection const& inspection_;
  std::uint32_t next_;
  std::vector<OfPlane> of_plane_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

/// Compares what is held with the free lists of one plane.
std::string flaw_of(Inspection const& inspection, Builder const& builder, std::uint32_t plane) {
  PlaneInfo const info = inspection.plane(plane);
  std::vector<bool> free(info.pages);
  for (std::uint32_t const page : inspection.free_pages(plane)) {
    free[page] = true;
  }
  for (std::uint32_t page = 1; page < info.pages; ++page) {
    if (free[page] == builder.has_page(plane, page)) {
      return std::string{info.name} + ": page or slot " + std::to_string(page) +
             (free[page] ? " is free, and somebody holds it" : " is not free, and nobody holds it");
    }
  }
  return {};
}

}  // namespace

Lineage::Lineage(Inspection const& inspection) : planes_{inspection.plane_count()} {
  std::uint32_t next = kCache + 1;
  for (std::uint32_t index = 1; index < inspection.sequence_limit(); ++index) {
    if (inspection.sequence(index).live) {
      owners_.push_back({{HolderKind::kSequence, index}, next++});
    }
  }
  for (std::uint32_t index = 1; index < inspection.snapshot_limit(); ++index) {
    if (inspection.snapshot(index).live) {
      owners_.push_back({{HolderKind::kSnapshot, index}, next++});
    }
  }
  first_piece_ = next;
  Builder builder{inspection, next};
  for (Owner const& owner : owners_) {
    builder.add_edge(kCache, owner.vertex);
    builder.add(owner.holder, owner.vertex);
  }
  pieces_.resize(builder.vertices());
  std::vector<std::uint32_t> chunks(planes_);  // held
  builder.for_each_piece([&](std::uint32_t vertex, std::uint32_t plane, bool is_chunk) {
    pieces_[vertex] = {plane, is_chunk};
    chunks[plane] += is_chunk ? 1 : 0;
  });
  for (std::uint32_t plane = 0; plane < planes_ && flaw_.empty(); ++plane) {
    flaw_ = flaw_of(inspection, builder, plane);
    if (flaw_.empty() &&
        chunks[plane] + inspection.chunks_free(plane) != inspection.chunk_limit(plane)) {
      flaw_ = std::string{inspection.plane(plane).name} + ": " + std::to_string(chunks[plane]) +
              " chunks are held and " + std::to_string(inspection.chunks_free(plane)) +
              " free, of " + std::to_string(inspection.chunk_limit(plane));
    }
  }
  HolderGraph const graph{
      builder.edges().begin(), builder.edges().end(), std::size_t{builder.vertices()}};
  dominators_.assign(builder.vertices(), kNoVertex);
  boost::lengauer_tarjan_dominator_tree(
      graph,
      boost::vertex(kCache, graph),
      boost::make_iterator_property_map(dominators_.begin(), get(boost::vertex_index, graph)));
}

std::vector<FreeCounts> Lineage::given_back_by(Holder holder) const {
  std::vector<FreeCounts> counts(planes_);
  auto const owner = std::find_if(owners_.begin(), owners_.end(), [&](Owner const& other) {
    return other.holder.kind == holder.kind && other.holder.index == holder.index;
  });
  if (owner == owners_.end()) {
    return counts;
  }
  for (std::uint32_t vertex = first_piece_; vertex < dominators_.size(); ++vertex) {
    // A page may hang on a chunk that the holder dominates.
    std::uint32_t above = dominators_[vertex];
    while (above != kNoVertex && above >= first_piece_) {
      above = dominators_[above];
    }
    if (above == owner->vertex) {
      Piece const& piece = pieces_[vertex];
      (piece.is_chunk ? counts[piece.plane].chunks : counts[piece.plane].pages) += 1;
    }
  }
  return counts;
}

}  // namespace holdfast::model
