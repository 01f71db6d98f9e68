// SPDX-License-Identifier: Apache-2.0
// Why two accesses are not ordered: what happened in a simulation as a graph - the order of each
// line, events that were waited for, and what the host had seen when it enqueued - and in it the
// edge that is missing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/sim/order.hpp"

namespace holdfast::model {

class SimWorld;

/// Everything that happened in one program, kept when somebody asks for it. What the host has seen is
/// counted as SimWorld counts it: `seen` is the last that it had when it enqueued something.
class OrderLog {
 public:
  /// Of a line's events: none, but all that it has done.
  static constexpr std::uint32_t kEnd = UINT32_MAX;

  /// Forgets everything; the host has seen nothing.
  void clear();
  /// Work ran on its line.
  void ran(WorkNote const& note, std::size_t seen);
  /// A line's next event was recorded.
  void recorded(WorkNote const& note, std::size_t seen);
  /// A line waited for an event of another.
  void waited(WorkNote const& note, std::size_t seen, std::uint32_t line, std::uint32_t event);
  /// The host saw an event of a line, or kEnd.
  void saw(WorkNote const& note, std::uint32_t line, std::uint32_t event);
  /// The host read memory itself.
  void read(WorkNote const& note);

  /// The lines that a person reads: both accesses, what their lines told each other around them, and
  /// what is missing.
  [[nodiscard]] std::string witness(SimWorld const& world, Conflict const& conflict) const;

 private:
  struct Step {
    WorkNote note;
    bool is_work = false;  // it touches memory
  };
  using Edge = std::pair<std::uint32_t, std::uint32_t>;  // steps
  struct Story;

  std::uint32_t add(Step const& step);
  std::uint32_t add(Step const& step, std::size_t seen);

  std::vector<Step> steps_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> last_;                  // by line: its last step
  std::vector<std::vector<std::uint32_t>> records_;  // [line, event]: the step
  std::vector<std::uint32_t> sights_;                // by what the host has seen: the step
};

}  // namespace holdfast::model
