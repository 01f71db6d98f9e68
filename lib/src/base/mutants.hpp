// SPDX-License-Identifier: Apache-2.0
// Mutation points: seeded bugs of the library, compiled only into its second build.
//
// A site reads `if (HOLDFAST_MUTANT(kName))`. In the plain build that is the constant false and
// leaves no trace. The names are in mutants.def; their texts and expected killers are in fuzz/.
#pragma once

#ifdef HOLDFAST_MUTANTS

#include <atomic>
#include <cstdint>

namespace holdfast::internal::base {

/// The seeded bugs.
enum class Mutant : std::uint32_t {
  kNone,
#define HOLDFAST_MUTANT_NAME(enumerator, name) enumerator,
#include "base/cuda_mutants.def"
#include "base/mutants.def"
#undef HOLDFAST_MUTANT_NAME
};

/// The bug that is on. Written before any cache exists, only read afterwards.
extern Mutant active_mutant;
/// How often a site of it was reached.
extern std::atomic<std::uint64_t> mutant_reached;

/// True at the sites of the bug that is on.
inline bool is_on(Mutant mutant) noexcept {
  if (active_mutant != mutant) {
    return false;
  }
  mutant_reached.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace holdfast::internal::base

#define HOLDFAST_MUTANT(enumerator) \
  ::holdfast::internal::base::is_on(::holdfast::internal::base::Mutant::enumerator)

#else

#define HOLDFAST_MUTANT(enumerator) false

#endif
