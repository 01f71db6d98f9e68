// SPDX-License-Identifier: Apache-2.0
// A captured CUDA graph, and how long a replay takes.
#pragma once

#include <cstddef>
#include <functional>
#include <holdfast/cuda.hpp>

namespace holdfast::bench {

/// Medians in microseconds.
struct GraphTimes {
  std::size_t kernel_nodes = 0;
  double host = 0;          ///< of one launch call
  double device = 0;        ///< between two events around one launch
  double back_to_back = 0;  ///< each of a hundred
};

/// Captures what `enqueue` puts into the device's stream 0 and replays it.
[[nodiscard]] GraphTimes measure_graph(CudaDevice& device, std::function<void()> const& enqueue);

}  // namespace holdfast::bench
