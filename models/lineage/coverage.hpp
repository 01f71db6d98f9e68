// SPDX-License-Identifier: Apache-2.0
// Which operations were taken in which abstract states, with which outcome, and how each state was
// reached by the shortest program that is known.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/lineage/abstract_state.hpp"
#include "models/trace.hpp"

namespace holdfast::model {

/// An operation in a state, with its outcome.
struct CoverageEdge {
  std::uint32_t from = 0;  // key of the state
  std::uint32_t op = 0;
  std::uint32_t outcome = 0;
  friend auto operator<=>(CoverageEdge const&, CoverageEdge const&) = default;
};

/// An operation that was never taken in a state that was reached, but in another of the same life.
struct UnseenEdge {
  std::uint32_t from = 0;
  std::uint32_t op = 0;
  std::uint32_t distance = 0;       // transitions from nothing to the state, the fewest
  std::vector<std::uint32_t> path;  // the states on the way, `from` included
};

/// Counts add up to the largest number at most: those of a file may be anything.
[[nodiscard]] constexpr std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/// What was seen. Two add up.
class Coverage {
 public:
  /// Notes a transition of a program whose operations so far are `ops`.
  void note(Transition const& transition, std::string const& geometry, std::span<AnyOp const> ops);
  void add(Coverage const& other);
  void note_program() noexcept { programs_ = sum_of(programs_, 1); }

  [[nodiscard]] std::uint64_t programs() const noexcept { return programs_; }
  [[nodiscard]] std::uint64_t transitions() const noexcept;
  [[nodiscard]] std::size_t edge_count() const noexcept { return edges_.size(); }
  [[nodiscard]] std::size_t state_count() const noexcept { return witnesses_.size(); }
  /// For each edge, how often it led where.
  using Ends = std::map<std::uint32_t, std::uint64_t>;
  [[nodiscard]] std::map<CoverageEdge, Ends> const& edges() const noexcept { return edges_; }
  /// The shortest known program that ends in a state; nullptr when there is none.
  [[nodiscard]] Trace const* witness(std::uint32_t state) const noexcept;
  /// Edges of `other` that are not here.
  [[nodiscard]] std::vector<CoverageEdge> missing(Coverage const& other) const;
  /// What is next to try, the nearest first.
  [[nodiscard]] std::vector<UnseenEdge> unseen() const;

  /// JSON, versioned; the same for the same content.
  [[nodiscard]] std::string print() const;
  /// Throws InputError that names `origin`.
  [[nodiscard]] static Coverage parse(std::string_view text, std::string const& origin);

 private:
  void note_witness(std::uint32_t state, Trace trace);

  std::map<CoverageEdge, Ends> edges_;
  std::map<std::uint32_t, Trace> witnesses_;
  std::uint64_t programs_ = 0;
};

/// "at rest, page edge | append kExhausted".
[[nodiscard]] std::string text_of(CoverageEdge const& edge);

}  // namespace holdfast::model
