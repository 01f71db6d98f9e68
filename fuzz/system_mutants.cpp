// SPDX-License-Identifier: Apache-2.0
#include "fuzz/system_mutants.hpp"

#include <string_view>

namespace holdfast::fuzz {
namespace {

constexpr MutantInfo kCopyingMutants[] = {
#define HOLDFAST_COPYING_MUTANT(enumerator, name, text, killers) {name, text, "", killers},
#include "models/copying/mutants.def"
#undef HOLDFAST_COPYING_MUTANT
};

}  // namespace

std::span<MutantInfo const> mutants_of(model::SystemInfo const* system) noexcept {
  if (system == nullptr || system == &model::library_system()) {
    return all_mutants();
  }
  return std::string_view{system->name} == "copying" ? std::span<MutantInfo const>{kCopyingMutants}
                                                     : std::span<MutantInfo const>{};
}

}  // namespace holdfast::fuzz
