// SPDX-License-Identifier: Apache-2.0
// Many programs on one engine, by several processes of it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target/engine_minimize.hpp"

namespace holdfast::fuzz {

struct EngineCounts {
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::uint64_t compared = 0;  ///< lines of logits that were
  std::uint64_t refused = 0;
  std::uint64_t weak = 0;
  std::uint64_t skipped = 0;   ///< operations that made no sense after what the engine answered
  std::uint64_t left_out = 0;  ///< operations that were drawn, and that a known finding needs
  std::uint64_t failed = 0;    ///< programs
  SessionCounts session;

  void add(EngineCounts const& other) noexcept;
};

struct EnginePlan {
  Target const& target;
  std::uint64_t seed = 1;
  std::uint64_t programs = 0;  ///< 0: by time
  double seconds = 10;
  std::uint32_t workers = 1;
  bool until_first =
      false;  ///< ends with the first program that fails, which is the one with the least index
  std::optional<Calibration> calibration;
  std::function<void(EngineCounts const& counts, double seconds, std::size_t findings)> on_progress;
  std::function<bool()> should_stop;
};

/// When programs came to something first, and how many did.
struct EngineSight {
  std::uint64_t index = 0;  ///< of the first program
  double seconds = 0;       ///< from the campaign's start until it was made small
  std::uint64_t count = 0;

  void add(std::uint64_t program, double now) noexcept;
};

/// A bucket of a campaign, or the part of it that a known finding has.
struct EngineGroup {
  EngineFinding finding;  ///< the one with the fewest operations
  EngineSight sight;
  std::map<std::string, EngineSight> knobs;  ///< by the minimal program's
  std::string known;        ///< name of the known finding that leaves out an operation of it
  bool is_variant = false;  ///< and that has another bucket
};

struct EngineResult {
  EngineCounts counts;
  Calibration calibration;
  model::Hello hello;
  double seconds = 0;
  std::map<std::string, EngineGroup>
      groups;  ///< by the bucket's text, behind it the known finding's name
  std::map<std::string, std::uint64_t>
      not_minimized;  ///< by oracle and operation: more of what was made small before
  std::uint64_t not_reproduced = 0;          ///< failed once, and held in a process of its own
  std::set<std::string> coverage;            ///< "copy > load unified=0 ok"
  std::optional<std::uint64_t> first_index;  ///< with until_first
  EngineProgram first;                       ///< the failing program as it was drawn
  EngineVerdict first_verdict;
};

/// Throws InputError when the engine cannot be started, or not be told apart from itself.
[[nodiscard]] EngineResult run_engine(EnginePlan const& plan);

}  // namespace holdfast::fuzz
