// SPDX-License-Identifier: Apache-2.0
// Memory that looks as if nobody had written it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::model {

/// Byte that memory is filled with until it is written; four of them are a NaN.
inline constexpr int kPoisonByte = 0xFF;

/// Least bytes of a block that is mapped and not filled.
inline constexpr std::uint64_t kMappedPoisonBytes = std::uint64_t{64} << 20U;

/// Fills host memory from the heap with poison. A large block is mapped onto one file of poison instead, copy on
/// write: it costs memory where it is written, and no time before. The heap takes it back as any other block.
void fill_with_poison(std::byte* base, std::uint64_t bytes) noexcept;

}  // namespace holdfast::model
