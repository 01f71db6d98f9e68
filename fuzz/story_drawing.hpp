// SPDX-License-Identifier: Apache-2.0
// The drawing of a story, for its page.
#pragma once

#include <string>

#include "fuzz/story.hpp"

namespace holdfast::fuzz {

/// An svg element. Its classes are styled by the page.
[[nodiscard]] std::string story_drawing(Story const& story);

}  // namespace holdfast::fuzz
