// SPDX-License-Identifier: Apache-2.0
// The switch of the mutant build. The plain build compiles this file to nothing.
#include "base/mutants.hpp"

#include "base/contract.hpp"

#ifdef HOLDFAST_MUTANTS

#include <cstring>

namespace holdfast::internal::base {

Mutant active_mutant = Mutant::kNone;
std::atomic<std::uint64_t> mutant_reached{0};
bool is_verifying = false;

}  // namespace holdfast::internal::base

namespace {

char const* const kNames[] = {
    "none",
#define HOLDFAST_MUTANT_NAME(enumerator, name) name,
#include "base/cuda_mutants.def"
#include "base/mutants.def"
#undef HOLDFAST_MUTANT_NAME
};

}  // namespace

// The harness finds these by weak reference, so that it links with either build of the library.

/// Turns the named bug on and every other off; "none" turns all off. False for an unknown name.
extern "C" bool holdfast_select_mutant(char const* name) {
  std::uint32_t index = 0;
  for (char const* known : kNames) {
    if (std::strcmp(known, name) == 0) {
      holdfast::internal::base::active_mutant =
          static_cast<holdfast::internal::base::Mutant>(index);
      holdfast::internal::base::mutant_reached = 0;
      return true;
    }
    ++index;
  }
  return false;
}

/// Name of bug `index`, counted from 1; nullptr past the last.
extern "C" char const* holdfast_mutant_name(std::uint32_t index) {
  return index == 0 || index >= sizeof kNames / sizeof kNames[0] ? nullptr : kNames[index];
}

/// Turns the costly checks on or off, which they are at first.
extern "C" void holdfast_select_verify(bool on) {
  holdfast::internal::base::is_verifying = on;
}

/// How often a site of the bug that is on was reached since it was turned on.
extern "C" std::uint64_t holdfast_mutant_reached() {
  return holdfast::internal::base::mutant_reached;
}

#endif
