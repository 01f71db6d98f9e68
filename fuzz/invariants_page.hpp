// SPDX-License-Identifier: Apache-2.0
// docs/INVARIANTS.md, as the registry of invariants and the table of mutants make it.
#pragma once

#include <string>

namespace holdfast::fuzz {

/// The whole page; a test compares it with the file.
[[nodiscard]] std::string invariants_page();

}  // namespace holdfast::fuzz
