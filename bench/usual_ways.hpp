// SPDX-License-Identifier: Apache-2.0
// How engines save the recurrent state of a sequence without a cache like this one.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/timing.hpp"

namespace holdfast::bench {

/// The usual ways, each the best of its kind: what it takes to save all buffers once.
struct UsualWays {
  std::uint64_t bytes = 0;
  std::uint32_t buffers = 0;
  Times allocate;        ///< allocate a buffer and copy to it, for each; freed later
  Times copies;          ///< a copy for each, to buffers that are there
  Times batch;           ///< cudaMemcpyBatchAsync over all
  Times flat;            ///< one copy of as many bytes, as if they lay in one piece
  Times batch_and_back;  ///< save and restore, by two batches
};

/// Measures on buffers of these sizes.
UsualWays measure_usual_ways(std::vector<std::uint64_t> const& buffer_bytes);

/// Flat copies on the device that make so many bytes together.
Times measure_flat_copies(std::uint64_t bytes, std::uint32_t count);

}  // namespace holdfast::bench
