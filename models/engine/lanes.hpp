// SPDX-License-Identifier: Apache-2.0
// Four elements at a time. Vector types of the compilers, because neither vectorizes these short
// loops at the optimization level of this project, and they are most of a run's time. Each lane is
// one element's own arithmetic, so the bits are those of a scalar loop.
#pragma once

#include <cstdint>
#include <cstring>

namespace holdfast::model {

inline constexpr std::uint32_t kLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Integers = std::int32_t __attribute__((vector_size(16)));

inline Floats load(float const* from) noexcept {
  Floats values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

inline void store(float* to, Floats values) noexcept {
  std::memcpy(to, &values, sizeof values);
}

}  // namespace holdfast::model
