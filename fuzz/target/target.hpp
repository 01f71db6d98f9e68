// SPDX-License-Identifier: Apache-2.0
// A target file: how to start an adapter, and what is known of its engine. It is JSON that its owner wrote; a trace only names it.
//
//   { "name": "toy",
//     "command": ["build/release/bin/holdfast-toy"],
//     "knobs": {"ubatch": ["16"]},            values that programs may have; others of a knob are left out
//     "tolerance": 1e-4,                      else it is calibrated
//     "seconds": 10, "start_seconds": 60, "memory_mib": 8192,
//     "known": [{"name": "C5", "bucket": "POSITION keep decode+keep",
//                "avoid": {"operation": "keep", "knobs": {"unified": "0"}}}] }
//
// "avoid" says which operations programs leave out while the finding is known: an operation, and further, all of what is given:
// knobs, each with one value or several ("lfm2,qwen35"); "after": an operation that came earlier; "until": one that ended it; "same": it was on the same sequence; "when": a condition as in `legal`;
// "items": so many items at least; "rows": so many rows at least.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target/engine_process.hpp"
#include "models/target/hello.hpp"
#include "models/target/history.hpp"

namespace holdfast::fuzz {

/// Operations that a known finding needs.
struct Avoidance {
  model::EngineKind kind = model::EngineKind::kDecode;
  model::Knobs knobs;
  model::EngineKind after = model::EngineKind::kCount;  // kCount: after anything
  model::EngineKind until = model::EngineKind::kCount;  // what came before it no longer counts
  bool same = false;
  std::optional<model::Clause> when;
  std::uint32_t items = 0;
  std::uint32_t rows = 0;

  /// Whether the operation is one of them, behind `before`.
  [[nodiscard]] bool matches(model::EngineOp const& op,
                             std::vector<model::EngineOp> const& before,
                             model::HistoryModel const& model) const;
};

struct KnownFinding {
  std::string name;
  std::string bucket;
  std::vector<Avoidance> avoid;

  [[nodiscard]] bool leaves_out(model::EngineOp const& op,
                                std::vector<model::EngineOp> const& before,
                                model::HistoryModel const& model) const;
};

struct Target {
  std::string name;
  std::vector<std::string> command;
  std::map<std::string, std::vector<std::string>> knobs;
  double tolerance = 0;  ///< 0: calibrated
  ProcessLimits limits;
  std::vector<KnownFinding> known;
};

/// Whether a known finding other than `tried_again` leaves the operation out, behind `before`.
[[nodiscard]] bool is_avoided(Target const& target,
                              std::string const& tried_again,
                              model::EngineOp const& op,
                              std::vector<model::EngineOp> const& before,
                              model::HistoryModel const& model);

/// The known findings that leave out an operation of this program: places in `target.known`.
[[nodiscard]] std::set<std::size_t> known_in(Target const& target,
                                             model::Hello const& hello,
                                             model::Knobs const& knobs,
                                             std::vector<model::EngineOp> const& ops);

/// Reads a target file. A command that begins with "./" or "../" starts at the file's folder. Throws InputError.
[[nodiscard]] Target load_target(std::string const& path);
/// Throws InputError when it names knobs or values that the engine does not declare.
void check_fits(Target const& target, model::Hello const& hello);
/// The target of a command line; its name is that of the program.
[[nodiscard]] Target target_of_command(std::vector<std::string> const& command);

}  // namespace holdfast::fuzz
