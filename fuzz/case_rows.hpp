// SPDX-License-Identifier: Apache-2.0
// The public bug reports that mutants and traces stand for: a row each, in a few words.
#pragma once

#include <span>

namespace holdfast::fuzz {

/// One report. Class and number are those that mutants and regression traces name.
struct CaseRow {
  char const* id;
  char const* text;
  char const*
      why_not;  ///< why it cannot exist here, or not yet; "" when a mutant or trace shows it
};

/// All rows, in the order of classes and numbers.
[[nodiscard]] std::span<CaseRow const> all_case_rows() noexcept;

}  // namespace holdfast::fuzz
