// SPDX-License-Identifier: Apache-2.0
// The text form of programs, the one way to keep a failure. Line oriented, versioned, round trips
// exactly:
//
//   # what this trace shows
//   holdfast-trace 1
//   geometry tiny
//   device host                       (or: device sim SEED; or of another system: system NAME)
//   create sequence=s0
//   append sequence=s0 rows=5 token=1 piece=0 view=0
//
// Fields that have a default are printed only when they differ from it, and may be missing: what an
// operation learns later changes no trace that exists.
//
// Lines that are empty or start with '#' are skipped, and kept when they stand before the version
// line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/device_choice.hpp"
#include "models/ops/op_list.hpp"

namespace holdfast::model {

/// A program with everything that is needed to run it again.
struct Trace {
  std::vector<std::string> comments;  // before the version line, without the '#'
  std::string geometry;               // as geometry_reference() gives it
  std::string device = "host";        // as text_of(DeviceChoice) gives it
  std::vector<AnyOp> ops;
};

/// Appends the line of `op`, without a line end, to `text`.
void print_op(AnyOp const& op, std::string& text);
/// The line of `op`.
[[nodiscard]] std::string text_of(AnyOp const& op);

/// Reads operations, a line each.
///
/// Errors: InputError, as of a trace whose first line this is
[[nodiscard]] std::vector<AnyOp> parse_ops(std::string_view lines, std::string const& origin);
[[nodiscard]] std::string print_trace(Trace const& trace);
/// Throws InputError "origin:line:column: what is wrong".
[[nodiscard]] Trace parse_trace(std::string_view text, std::string const& origin);
/// Reads a file. Throws InputError when it is missing, unreadable, or no trace.
[[nodiscard]] Trace load_trace(std::string const& path);

}  // namespace holdfast::model
