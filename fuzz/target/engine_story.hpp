// SPDX-License-Identifier: Apache-2.0
// A program of an engine told: lines for a terminal, and a page with histories, positions, and the error of each check.
#pragma once

#include <string>

#include "fuzz/target/engine_minimize.hpp"

namespace holdfast::fuzz {

struct EngineStory {
  std::string target;
  std::string engine;  ///< name and version
  EngineFinding finding;
  Calibration calibration;
  std::string said;       ///< on standard error
  std::string reproduce;  ///< a command
};

[[nodiscard]] std::string text_of(EngineStory const& story);
/// One HTML file that needs nothing beside it.
[[nodiscard]] std::string page_of(EngineStory const& story);

}  // namespace holdfast::fuzz
