// SPDX-License-Identifier: Apache-2.0
// Turns mutants on and off, those of the library and those of other systems.
#include "fuzz/mutants.hpp"
#include "models/copying/mutants.hpp"

// Found only in the mutant build of the library.
extern "C" {
[[gnu::weak]] bool holdfast_select_mutant(char const* name);
[[gnu::weak]] char const* holdfast_mutant_name(std::uint32_t index);
[[gnu::weak]] std::uint64_t holdfast_mutant_reached();
[[gnu::weak]] void holdfast_select_verify(bool on);
}

namespace holdfast::fuzz {

bool has_mutants() noexcept {
  return &holdfast_select_mutant != nullptr;
}

bool select_mutant(std::string const& name) noexcept {
  bool const is_copying = model::copying::select_mutant(name) && name != "none";
  bool const is_library =
      has_mutants() && holdfast_select_mutant(is_copying ? "none" : name.c_str());
  return is_copying || is_library;
}

std::uint64_t mutant_reached() noexcept {
  return model::copying::mutant_reached + (has_mutants() ? holdfast_mutant_reached() : 0);
}

void select_verify(bool on) noexcept {
  if (has_mutants()) {
    holdfast_select_verify(on);
  }
}

std::vector<std::string> library_mutants() {
  std::vector<std::string> names;
  if (has_mutants()) {
    for (std::uint32_t index = 1; holdfast_mutant_name(index) != nullptr; ++index) {
      names.emplace_back(holdfast_mutant_name(index));
    }
  }
  return names;
}

}  // namespace holdfast::fuzz
