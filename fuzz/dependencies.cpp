// SPDX-License-Identifier: Apache-2.0
// Boost.Graph over operations and the names that they mention.
#include "fuzz/dependencies.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "fuzz/op_fields.hpp"

namespace holdfast::fuzz {
namespace {

/// An edge leads from an operation to one that builds on it.
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

Graph graph_of(std::span<model::AnyOp const> ops, Links links) {
  Graph graph{ops.size()};
  std::map<NameUse, std::uint32_t> last;  // operation that the next one with this name builds on
  for (std::uint32_t index = 0; index < ops.size(); ++index) {
    for (NameUse const& use : names_in(ops[index])) {
      auto const [known, is_first] = last.emplace(use, index);
      if (!is_first) {
        boost::add_edge(known->second, index, graph);
      }
      // Snapshots and entries never change: what was done with one does not matter to the next.
      if (links == Links::kAll || use.kind == NameKind::kSequence) {
        known->second = index;
      }
    }
  }
  return graph;
}

}  // namespace

std::vector<std::uint32_t> backward_slice(std::span<model::AnyOp const> ops, Links links) {
  std::vector<std::uint32_t> slice;
  if (ops.empty()) {
    return slice;
  }
  Graph const graph = graph_of(ops, links);
  std::vector<boost::default_color_type> colors(ops.size());
  boost::breadth_first_search(
      boost::make_reverse_graph(graph),
      ops.size() - 1,
      boost::color_map(boost::make_iterator_property_map(
          colors.begin(), boost::get(boost::vertex_index, graph), colors.front())));
  for (std::uint32_t index = 0; index < ops.size(); ++index) {
    if (colors[index] == boost::black_color) {
      slice.push_back(index);
    }
  }
  return slice;
}

std::vector<std::uint32_t> canonical_order(std::span<model::AnyOp const> ops) {
  Graph const graph = graph_of(ops, Links::kAll);
  std::vector<std::size_t> waits_for(ops.size());
  // By kind, then as it was.
  using Ready = std::pair<std::size_t, std::uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::uint32_t index = 0; index < ops.size(); ++index) {
    waits_for[index] = boost::in_degree(index, graph);
    if (waits_for[index] == 0) {
      ready.emplace(ops[index].index(), index);
    }
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    std::uint32_t const index = ready.top().second;
    ready.pop();
    order.push_back(index);
    auto const [first, last] = boost::out_edges(index, graph);
    for (auto edge = first; edge != last; ++edge) {
      auto const next = static_cast<std::uint32_t>(boost::target(*edge, graph));
      if (--waits_for[next] == 0) {
        ready.emplace(ops[next].index(), next);
      }
    }
  }
  return order;
}

}  // namespace holdfast::fuzz
