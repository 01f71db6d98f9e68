// SPDX-License-Identifier: Apache-2.0
// Ways to do with plain operations what a program does with others, as the operations say
// themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// What an operation's `plainer` is given. It sees the next operation on its sequence, and says what
/// may stand for both, for itself, or for itself in another program with the same cause.
class PlainerWays {
 public:
  PlainerWays(std::span<model::AnyOp const> ops, std::size_t index);

  /// The next operation on the sequence that this one names first, if it is of this kind.
  template <typename Op>
  [[nodiscard]] Op const* next() const {
    return next_ < ops_.size() ? std::get_if<Op>(&ops_[next_]) : nullptr;
  }
  /// A sequence that the program does not mention; nothing when there is no name left.
  [[nodiscard]] std::optional<model::SequenceName> unused_sequence() const;

  /// It and the next one come to this.
  void join(model::AnyOp const& both) { joined_ = both; }
  /// It is this in another form.
  void same(model::AnyOp const& op) { same_.push_back(op); }
  /// Begins a program that shows the same cause: what is added stands in its place.
  void start() { others_.emplace_back(); }
  void add(model::AnyOp const& op) { others_.back().instead.push_back(op); }
  /// The next operation is another one in that program.
  void change_next(model::AnyOp const& op) { others_.back().next = op; }

  [[nodiscard]] std::optional<model::AnyOp> const& joined() const noexcept { return joined_; }
  [[nodiscard]] std::vector<model::AnyOp> const& forms() const noexcept { return same_; }
  [[nodiscard]] std::vector<std::vector<model::AnyOp>> programs() const;

 private:
  struct Other {
    std::vector<model::AnyOp> instead;
    std::optional<model::AnyOp> next;
  };

  std::span<model::AnyOp const> ops_;
  std::size_t index_;
  std::size_t next_;
  std::optional<model::AnyOp> joined_;
  std::vector<model::AnyOp> same_;
  std::vector<Other> others_;
};

/// The operation that two on one sequence come to, when they do.
[[nodiscard]] std::optional<model::AnyOp> joined(model::AnyOp const& first,
                                                 model::AnyOp const& second);

/// Other forms of an operation.
[[nodiscard]] std::vector<model::AnyOp> same_forms(model::AnyOp const& op);

/// Programs in which the operation at `index` is of a plainer kind, the plainest first: for who looks
/// for the one cause behind failures that look different. None for what is plain. Doing it again ends.
[[nodiscard]] std::vector<std::vector<model::AnyOp>> plainer_programs(
    std::vector<model::AnyOp> const& ops, std::size_t index);

}  // namespace holdfast::fuzz
