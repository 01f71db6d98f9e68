// SPDX-License-Identifier: Apache-2.0
// Counts every heap allocation of the process. A program that links it (DEPS
// holdfast_heap_counter) sees operator new and, through the linker's --wrap, the malloc family.
#pragma once

#include <cstdint>

namespace holdfast::test {

/// Heap allocations of the process so far.
[[nodiscard]] std::uint64_t heap_allocations() noexcept;

}  // namespace holdfast::test
