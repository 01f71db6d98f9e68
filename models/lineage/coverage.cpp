// SPDX-License-Identifier: Apache-2.0
// The graph of states and transitions: Boost.Graph for distances and ways.
#include "models/lineage/coverage.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <set>
#include <utility>

namespace holdfast::model {
namespace {

using TransitionGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using Vertex = boost::graph_traits<TransitionGraph>::vertex_descriptor;

/// The states as vertices, in the order of their keys.
struct StateGraph {
  std::vector<std::uint32_t> keys;
  TransitionGraph graph;

  [[nodiscard]] Vertex vertex(std::uint32_t key) const {
    return static_cast<Vertex>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
  }
};

StateGraph graph_of(std::map<CoverageEdge, Coverage::Ends> const& edges) {
  std::set<std::uint32_t> keys = {AbstractState{}.key()};
  for (auto const& [edge, ends] : edges) {
    keys.insert(edge.from);
    for (auto const& [end, count] : ends) {
      keys.insert(end);
    }
  }
  StateGraph known{.keys = {keys.begin(), keys.end()}, .graph = TransitionGraph{keys.size()}};
  for (auto const& [edge, ends] : edges) {
    for (auto const& [end, count] : ends) {
      boost::add_edge(known.vertex(edge.from), known.vertex(end), known.graph);
    }
  }
  return known;
}

/// Distances and predecessors from nothing on; UINT32_MAX for what is not reached.
struct Ways {
  std::vector<std::uint32_t> distance;
  std::vector<Vertex> before;
};

Ways ways_of(StateGraph const& known) {
  std::size_t const count = known.keys.size();
  Ways ways{.distance = std::vector(count, UINT32_MAX), .before = std::vector<Vertex>(count)};
  Vertex const root = known.vertex(AbstractState{}.key());
  ways.distance[root] = 0;
  ways.before[root] = root;
  auto const index = boost::get(boost::vertex_index, known.graph);
  auto const distances =
      boost::make_iterator_property_map(ways.distance.begin(), index, ways.distance.front());
  auto const before =
      boost::make_iterator_property_map(ways.before.begin(), index, ways.before.front());
  boost::breadth_first_search(known.graph,
                              root,
                              boost::visitor(boost::make_bfs_visitor(std::make_pair(
                                  boost::record_distances(distances, boost::on_tree_edge()),
                                  boost::record_predecessors(before, boost::on_tree_edge())))));
  return ways;
}

}  // namespace

void Coverage::note(Transition const& transition,
                    std::string const& geometry,
                    std::span<AnyOp const> ops) {
  std::uint32_t const to = transition.to.key();
  std::uint64_t& count = edges_[{transition.from.key(), transition.op, transition.outcome}][to];
  count = sum_of(count, 1);
  if (!tells_states_apart(transition.outcome)) {
    return;  // the state is not what it is called
  }
  auto const known = witnesses_.find(to);
  std::size_t const length = std::size_t{transition.op_index} + 1;
  if (known == witnesses_.end() || length < known->second.ops.size()) {
    Trace trace{.geometry = geometry};
    trace.ops.assign(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(length));
    witnesses_.insert_or_assign(to, std::move(trace));
  }
}

void Coverage::note_witness(std::uint32_t state, Trace trace) {
  auto const known = witnesses_.find(state);
  if (known == witnesses_.end()) {
    witnesses_.emplace(state, std::move(trace));
    return;
  }
  // Of the same length the lesser text, so that the order of adding does not matter.
  std::size_t const length = known->second.ops.size();
  if (trace.ops.size() < length ||
      (trace.ops.size() == length && print_trace(trace) < print_trace(known->second))) {
    known->second = std::move(trace);
  }
}

void Coverage::add(Coverage const& other) {
  for (auto const& [edge, ends] : other.edges_) {
    Ends& own = edges_[edge];
    for (auto const& [end, count] : ends) {
      own[end] = sum_of(own[end], count);
    }
  }
  for (auto const& [state, trace] : other.witnesses_) {
    note_witness(state, trace);
  }
  programs_ = sum_of(programs_, other.programs_);
}

std::uint64_t Coverage::transitions() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& [edge, ends] : edges_) {
    for (auto const& [end, count] : ends) {
      sum = sum_of(sum, count);
    }
  }
  return sum;
}

Trace const* Coverage::witness(std::uint32_t state) const noexcept {
  auto const known = witnesses_.find(state);
  return known == witnesses_.end() ? nullptr : &known->second;
}

std::vector<CoverageEdge> Coverage::missing(Coverage const& other) const {
  std::vector<CoverageEdge> edges;
  for (auto const& [edge, ends] : other.edges_) {
    if (edges_.count(edge) == 0) {
      edges.push_back(edge);
    }
  }
  return edges;
}

std::vector<UnseenEdge> Coverage::unseen() const {
  // What was tried where, and by lives: only there does an operation make sense.
  std::set<std::pair<std::uint32_t, std::uint32_t>> tried;
  std::map<Life, std::set<std::uint32_t>> fitting;
  for (auto const& [edge, ends] : edges_) {
    if (tells_states_apart(edge.outcome)) {
      tried.emplace(edge.from, edge.op);
      fitting[AbstractState::from_key(edge.from).life].insert(edge.op);
    }
  }
  StateGraph const known = graph_of(edges_);
  Ways const ways = ways_of(known);
  std::vector<UnseenEdge> edges;
  for (auto const& [state, trace] : witnesses_) {
    for (std::uint32_t const op : fitting[AbstractState::from_key(state).life]) {
      Vertex at = known.vertex(state);
      if (tried.count({state, op}) != 0 || ways.distance[at] == UINT32_MAX) {
        continue;
      }
      UnseenEdge edge{.from = state, .op = op, .distance = ways.distance[at]};
      for (std::uint32_t step = 0; step <= edge.distance; ++step) {
        edge.path.push_back(known.keys[at]);
        at = ways.before[at];
      }
      std::reverse(edge.path.begin(), edge.path.end());
      edges.push_back(std::move(edge));
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](UnseenEdge const& a, UnseenEdge const& b) {
    return a.distance < b.distance;
  });
  return edges;
}

std::string text_of(CoverageEdge const& edge) {
  return text_of(AbstractState::from_key(edge.from)) + " | " + AllOps::kNames[edge.op] + " " +
         outcome_name(edge.outcome);
}

}  // namespace holdfast::model
