// SPDX-License-Identifier: Apache-2.0
// The list of invariants: one line each. Drivers, documents and tests derive from it.
#include "invariants/registry.hpp"

// X(variable)
#define HOLDFAST_INVARIANTS(X) \
  X(kLen)                      \
  X(kLatent)                   \
  X(kFinal)                    \
  X(kProv)                     \
  X(kRecur)                    \
  X(kAtomic)                   \
  X(kImmut)                    \
  X(kWhole)                    \
  X(kMovers)                   \
  X(kBytes)                    \
  X(kWindow)                   \
  X(kOwner)                    \
  X(kConserve)                 \
  X(kReserved)                 \
  X(kFirst)                    \
  X(kUnits)                    \
  X(kFail)                     \
  X(kOnce)                     \
  X(kRanks)                    \
  X(kLive)                     \
  X(kDeclared)                 \
  X(kOrder)                    \
  X(kPublish)                  \
  X(kInuse)                    \
  X(kAnswer)                   \
  X(kCost)

namespace holdfast::invariant {

#define HOLDFAST_INVARIANT_DECLARE(variable) extern Invariant const variable;
HOLDFAST_INVARIANTS(HOLDFAST_INVARIANT_DECLARE)
#undef HOLDFAST_INVARIANT_DECLARE

std::span<Invariant const* const> all_invariants() noexcept {
#define HOLDFAST_INVARIANT_ADDRESS(variable) &variable,
  static constexpr Invariant const* kAll[] = {HOLDFAST_INVARIANTS(HOLDFAST_INVARIANT_ADDRESS)};
#undef HOLDFAST_INVARIANT_ADDRESS
  return kAll;
}

}  // namespace holdfast::invariant
