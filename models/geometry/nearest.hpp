// SPDX-License-Identifier: Apache-2.0
// Suggestions for words that were not understood.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::model {

/// The known word that `word` is most likely meant to be, by edit distance; empty when none is
/// close. A known word that begins with `word` counts as close. Ties go to the earlier one.
std::string nearest(std::string_view word, std::vector<std::string> const& known);

/// The same as the end of a message: " (did you mean \"x\"?)", or nothing.
std::string did_you_mean(std::string_view word, std::vector<std::string> const& known);

}  // namespace holdfast::model
