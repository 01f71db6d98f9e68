// SPDX-License-Identifier: Apache-2.0
// A failing trace becomes a regression trace of the corpus.
#pragma once

#include <string>

#include "tools/options.hpp"
#include "tools/setup.hpp"

namespace holdfast::tools {

/// Writes the trace into the corpus with the lines that say what it shows, and returns its path.
/// Throws InputError for a trace that holds, and whenever the result would not be a regression trace
/// (see corpus/README.md); nothing is written then.
std::string promote(ReplayOptions const& options, LoadedTrace const& loaded);

}  // namespace holdfast::tools
