// SPDX-License-Identifier: Apache-2.0
// Ways to do with plain operations what a program does with others: for who looks for the one cause
// behind failures that look different.
#pragma once

#include <cstddef>
#include <vector>

#include "models/ops/op_list.hpp"

namespace holdfast::fuzz {

/// Programs in which the operation at `index` is of a plainer kind, the plainest first: rounds are
/// appends, with a handle or at once, steps are what their items say, a rollback is a fork. None for
/// what is plain. Doing it again ends.
[[nodiscard]] std::vector<std::vector<model::AnyOp>> plainer_programs(
    std::vector<model::AnyOp> const& ops, std::size_t index);

}  // namespace holdfast::fuzz
