// SPDX-License-Identifier: Apache-2.0
// Meets the points of the harness: what can be seen of an operation from outside.
#pragma once

#include <array>
#include <cstdint>

#include "models/ops/names.hpp"

namespace holdfast::fuzz {

/// Looks before and after each operation of a program.
class PointWatch {
 public:
  /// A new program begins.
  void start() noexcept;
  void before(model::AnyOp const& op, model::Model const& model) noexcept;
  void after(model::AnyOp const& op, model::Observation const& got) noexcept;

 private:
  static constexpr std::uint32_t kNoSnapshot = model::kNameLimit;

  std::array<std::uint32_t, model::kNameLimit> rolled_back_to_{};  // by sequence
  model::OpNames names_;
  bool loads_ = false;       // the operation takes what a snapshot holds
  bool forks_ = false;       // into a new sequence
  bool is_foreign_ = false;  // the sequence has another history than the snapshot
  bool is_last_ = false;     // no sequence has the history of the snapshot
};

}  // namespace holdfast::fuzz
