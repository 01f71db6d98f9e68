// SPDX-License-Identifier: Apache-2.0
// Turns a broken contract of the library into a verdict: the program that met it stops, the process
// goes on.
#pragma once

#include <functional>
#include <string>

namespace holdfast::fuzz {

/// Runs `body`; when the library stops at a broken contract meanwhile, returns what it said, else
/// "". What the body had built is then in no state to be destroyed; the caller must leak it.
std::string run_with_contract(std::function<void()> const& body);

}  // namespace holdfast::fuzz
