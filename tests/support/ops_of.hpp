// SPDX-License-Identifier: Apache-2.0
// Operations as a trace has them.
#pragma once

#include <string>
#include <vector>

#include "models/trace.hpp"

namespace holdfast::test {

/// Operations, a line each.
inline std::vector<model::AnyOp> ops_of(std::string const& lines) {
  return model::parse_ops(lines, "test");
}

}  // namespace holdfast::test
