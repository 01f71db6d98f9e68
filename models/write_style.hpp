// SPDX-License-Identifier: Apache-2.0
// How the rows of an operation are written. What a system has no use for it ignores.
#pragma once

#include <cstdint>
#include <holdfast/device.hpp>
#include <optional>

#include "models/observation.hpp"
#include "models/write_plan.hpp"

namespace holdfast::model {

/// How the engine writes, and under which keys.
struct WriteStyle {
  std::uint32_t piece = 0;  // rows of one write call; 0: all at once
  bool view = false;        // through views, where a plane has them
  bool again = false;       // rows of a round that may have been written before
  StateMode mode = StateMode::kFresh;
  std::uint32_t skip = 0;     // rows of draft planes that are left out at the end
  bool whole = false;         // of a step: rows of all items at once
  std::optional<Stream> via;  // where those rows go, when not with the rest of the engine's work
  Stream stream;              // where the engine's work goes
  KeyRule keys;               // that the prompt shows for its tokens
  WritePlan plan;             // what it does otherwise with one part
  bool graph = false;  // of a step: as a graph that was captured before does, if there is one
};

}  // namespace holdfast::model
