// SPDX-License-Identifier: Apache-2.0
// Which operations of a program build on which, as a graph: for the part of a program that a failure
// can depend on, and for an order that does not depend on how the program was found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// How much one operation builds on others.
enum class Links : std::uint8_t {
  /// On what was done to its sequences, and on the operation that made what it holds.
  kNeeded,
  /// On every earlier operation that mentions one of its names.
  kAll,
};

/// Indices of the operations that the last one builds on, itself included, in order.
[[nodiscard]] std::vector<std::uint32_t> backward_slice(std::span<model::AnyOp const> ops,
                                                        Links links);

/// Indices of all operations in the one order that commuting operations are written in: each after
/// what it builds on, then by kind.
[[nodiscard]] std::vector<std::uint32_t> canonical_order(std::span<model::AnyOp const> ops);

}  // namespace holdfast::fuzz
