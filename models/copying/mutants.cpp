// SPDX-License-Identifier: Apache-2.0
#include "models/copying/mutants.hpp"

namespace holdfast::model::copying {

Mutant active_mutant =
    Mutant::kNone;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a switch
std::atomic<std::uint64_t>
    mutant_reached;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): likewise

bool select_mutant(std::string_view name) noexcept {
  active_mutant = Mutant::kNone;
  mutant_reached = 0;
#define HOLDFAST_COPYING_MUTANT(enumerator, word, text, killers) \
  if (name == (word)) {                                          \
    active_mutant = Mutant::enumerator;                          \
  }
#include "models/copying/mutants.def"
#undef HOLDFAST_COPYING_MUTANT
  return active_mutant != Mutant::kNone || name == "none";
}

}  // namespace holdfast::model::copying
