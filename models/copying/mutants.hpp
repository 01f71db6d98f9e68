// SPDX-License-Identifier: Apache-2.0
// The switch of the copying system's seeded bugs. They are in every build: the system is a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace holdfast::model::copying {

/// The seeded bugs.
enum class Mutant : std::uint32_t {
  kNone,
#define HOLDFAST_COPYING_MUTANT(enumerator, name, text, killers) enumerator,
#include "models/copying/mutants.def"
#undef HOLDFAST_COPYING_MUTANT
};

/// The bug that is on. Written before any system exists, only read afterwards.
extern Mutant
    active_mutant;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a switch
/// How often a site of it was reached.
extern std::atomic<std::uint64_t>
    mutant_reached;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): likewise

/// True at the sites of the bug that is on.
inline bool is_on(Mutant mutant) noexcept {
  if (active_mutant != mutant) {
    return false;
  }
  mutant_reached.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Turns a bug on, every other off; "none" turns all off, as an unknown name does, which is false.
bool select_mutant(std::string_view name) noexcept;

}  // namespace holdfast::model::copying
