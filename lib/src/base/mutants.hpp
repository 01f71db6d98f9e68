// SPDX-License-Identifier: Apache-2.0
// Mutation points: seeded bugs of the library, compiled only into its second build.
//
// A site reads `if (HOLDFAST_MUTANT(kName))`. In the plain build that is the constant false and
// leaves no trace. The names are in mutants.def; their texts and expected killers are in fuzz/.
#pragma once

#ifdef HOLDFAST_MUTANTS

#include <cstdint>

namespace holdfast::internal::base {

/// The seeded bugs.
enum class Mutant : std::uint32_t {
  kNone,
#define HOLDFAST_MUTANT_NAME(enumerator, name) enumerator,
#include "base/mutants.def"
#undef HOLDFAST_MUTANT_NAME
};

/// The bug that is on. Written before any cache exists, only read afterwards.
extern Mutant active_mutant;

}  // namespace holdfast::internal::base

#define HOLDFAST_MUTANT(enumerator) \
  (::holdfast::internal::base::active_mutant == ::holdfast::internal::base::Mutant::enumerator)

#else

#define HOLDFAST_MUTANT(enumerator) false

#endif
