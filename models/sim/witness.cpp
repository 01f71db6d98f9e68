// SPDX-License-Identifier: Apache-2.0
// Boost.Graph says what is reached from what.
#include "models/sim/witness.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>

#include "models/sim/sim_device.hpp"

namespace holdfast::model {
namespace {

using OrderGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
constexpr std::uint32_t kNone = UINT32_MAX;

/// Which vertices are reached from one.
template <typename AnyGraph>
std::vector<bool> reached_from(AnyGraph const& graph, std::uint32_t from) {
  std::vector<boost::default_color_type> colors(num_vertices(graph));
  boost::breadth_first_search(graph,
                              boost::vertex(from, graph),
                              boost::color_map(boost::make_iterator_property_map(
                                  colors.begin(), get(boost::vertex_index, graph))));
  std::vector<bool> reached(colors.size());
  std::transform(colors.begin(), colors.end(), reached.begin(), [](auto color) {
    return color != boost::white_color;
  });
  return reached;
}

}  // namespace

/// The graph of one conflict, and its words.
struct OrderLog::Story {
  OrderLog const& log;
  SimWorld const& world;
  OrderGraph graph;
  std::uint32_t first = kNone;
  std::uint32_t second = kNone;

  Story(OrderLog const& of, SimWorld const& in, Conflict const& conflict)
      : log{of}, world{in}, graph{of.edges_.begin(), of.edges_.end(), of.steps_.size()} {
    for (std::uint32_t step = 0; step < log.steps_.size(); ++step) {
      auto const is = [&](WorkNote const& note) {
        return log.steps_[step].is_work && line(step) == note.line &&
               log.steps_[step].note.time == note.time;
      };
      first = is(conflict.first) ? step : first;
      second = is(conflict.second) ? step : second;
    }
  }

  [[nodiscard]] std::uint32_t line(std::uint32_t step) const { return log.steps_[step].note.line; }
  [[nodiscard]] std::string line_name(std::uint32_t step) const {
    return world.name_of_line(line(step));
  }
  [[nodiscard]] std::string work_name(std::uint32_t step) const {
    return name_of(log.steps_[step].note);
  }
  /// The nearest work on a step's line, from the step on to one end; the step itself when there is
  /// none.
  [[nodiscard]] std::uint32_t work_near(std::uint32_t step, bool before) const {
    for (std::uint32_t at = step; at < log.steps_.size(); at += before ? UINT32_MAX : 1U) {
      if (log.steps_[at].is_work && line(at) == line(step)) {
        return at;
      }
    }
    return step;
  }
  [[nodiscard]] std::string edge_text(std::uint32_t from, std::uint32_t to) const {
    std::uint32_t const done = line(from) == 0 ? from : work_near(from, true);
    std::uint32_t const begun = line(to) == 0 ? to : work_near(to, false);
    return line_name(from) + (log.steps_[done].is_work ? ", after " : ", at ") + work_name(done) +
           " -> " + line_name(to) + (log.steps_[begun].is_work ? ", before " : ", at ") +
           work_name(begun);
  }

  /// The first order that the first's line passes on after it, in what was enqueued before the
  /// second; kNone, kNone without.
  [[nodiscard]] Edge out() const {
    Edge found{kNone, kNone};
    for (auto const& [from, to] : log.edges_) {
      if (from >= first && line(from) == line(first) && line(to) != line(first) &&
          log.steps_[to].note.number < log.steps_[second].note.number && from < found.first) {
        found = {from, to};
      }
    }
    return found;
  }
  /// The last order that the second's line was given before it.
  [[nodiscard]] Edge in() const {
    Edge found{kNone, kNone};
    for (auto const& [from, to] : log.edges_) {
      if (to <= second && line(to) == line(second) && line(from) != line(second) &&
          (found.second == kNone || to >= found.second)) {
        found = {from, to};
      }
    }
    return found;
  }
  /// The last work of the first's line that the second comes after.
  [[nodiscard]] std::string known() const {
    std::vector<bool> const before = reached_from(boost::make_reverse_graph(graph), second);
    std::uint32_t seen = kNone;
    std::uint32_t unseen = 0;
    for (std::uint32_t step = 0; step <= first; ++step) {
      if (log.steps_[step].is_work && line(step) == line(first)) {
        seen = before[step] ? step : seen;
        unseen = before[step] ? 0 : unseen + 1;
      }
    }
    return seen == kNone ? "nothing of " + line_name(first)
                         : line_name(first) + " up to " + work_name(seen) + ", " +
                               std::to_string(unseen) + " before the first access";
  }
  [[nodiscard]] std::string missing() const {
    std::string const done = line_name(first) + ", after " + work_name(first);
    std::string const begun = line_name(second) + ", before " + work_name(second);
    return done + " -> " + begun;
  }
};

void OrderLog::clear() {
  steps_.clear();
  edges_.clear();
  last_.clear();
  records_.clear();
  sights_.assign(1, kNone);
}

std::uint32_t OrderLog::add(Step const& step) {
  auto const index = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(step);
  last_.resize(std::max<std::size_t>(last_.size(), step.note.line + 1), kNone);
  std::uint32_t& last = last_[step.note.line];
  if (last != kNone) {
    edges_.emplace_back(last, index);
  }
  last = index;
  return index;
}

std::uint32_t OrderLog::add(Step const& step, std::size_t seen) {
  std::uint32_t const index = add(step);
  if (sights_[seen] != kNone) {
    edges_.emplace_back(sights_[seen], index);
  }
  return index;
}

void OrderLog::ran(WorkNote const& note, std::size_t seen) {
  add({note, true}, seen);
}

void OrderLog::recorded(WorkNote const& note, std::size_t seen) {
  records_.resize(std::max<std::size_t>(records_.size(), note.line + 1));
  records_[note.line].push_back(add({note, false}, seen));
}

void OrderLog::waited(WorkNote const& note,
                      std::size_t seen,
                      std::uint32_t line,
                      std::uint32_t event) {
  std::uint32_t const step = add({note, false}, seen);
  edges_.emplace_back(records_[line][event], step);
}

void OrderLog::saw(WorkNote const& note, std::uint32_t line, std::uint32_t event) {
  std::uint32_t const from = event == kEnd ? last_[line] : records_[line][event];
  std::uint32_t const step = add({note, false});
  edges_.emplace_back(from, step);
  sights_.push_back(step);
}

void OrderLog::read(WorkNote const& note) {
  sights_.push_back(add({note, true}));
}

std::string OrderLog::witness(SimWorld const& world, Conflict const& conflict) const {
  Story const story{*this, world, conflict};
  if (story.first == kNone || story.second == kNone) {
    return "  nothing is known of one of the accesses\n";
  }
  auto const side = [&](std::uint32_t step, bool writes) {
    return story.work_name(step) + " on " + story.line_name(step) + (writes ? " writes" : " reads");
  };
  auto const edge = [&](Edge const& known) {
    return known.first == kNone ? "nothing" : story.edge_text(known.first, known.second);
  };
  std::string text = "  first    " + side(story.first, conflict.first_writes) + "\n" +
                     "  second   " + side(story.second, conflict.second_writes) +
                     " the same bytes\n";
  if (reached_from(story.graph, story.first)[story.second]) {
    return text + "  the graph orders them: the clocks are wrong\n";
  }
  text += "  out      " + edge(story.out()) + "\n";
  text += "  in       " + edge(story.in()) + "\n";
  text += "  known    " + story.known() + "\n";
  text += "  missing  " + story.missing() + "\n";
  return text;
}

}  // namespace holdfast::model
