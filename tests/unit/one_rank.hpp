// SPDX-License-Identifier: Apache-2.0
// Step work on one rank, for tests of one plane alone.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "storage/step.hpp"

namespace holdfast::test {

/// Attaches one rank; `block` becomes its pinned memory, `tables` are the plane's device tables.
inline void attach_one_rank(internal::storage::StepWork& step,
                            internal::storage::StepLimits const& limits,
                            Device& device,
                            std::vector<std::max_align_t>& block,
                            std::uint32_t* tables) {
  block.resize(internal::storage::StepWork::block_bytes(limits) / sizeof(std::max_align_t) + 1);
  ASSERT_TRUE(step.create(limits, 1));
  step.attach(0,
              device,
              reinterpret_cast<std::byte*>(block.data()),
              {.records = nullptr, .tables = tables, .row_sequences = nullptr, .record_bytes = 0});
}

}  // namespace holdfast::test
