// SPDX-License-Identifier: Apache-2.0
// Exhaustive search in a small scope: from a few start states, every program of at most so many
// operations whose parameters come from a fixed set of boundaries. Programs are run shortest first,
// so that the first violation is a shortest one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/go_on.hpp"
#include "fuzz/run.hpp"

namespace holdfast::fuzz {

/// Where programs begin.
struct StartState {
  char const* name;
  char const* text;  ///< what it is, in rows of the geometry
  std::vector<model::AnyOp> (*make)(model::ModelShape const& shape);
  model::StateMode mode = model::StateMode::kFresh;  ///< of the handles that follow
};

/// The start states: empty, open pool, wrapped ring, shared chunk, two snapshots in one page, and
/// handles in place.
[[nodiscard]] std::span<StartState const> start_states() noexcept;

/// The operations that programs go on with in the model's state, each once. Every one of them has
/// its precondition; some of them must be refused. Handles are opened in `mode`.
/// What changes nothing is asked for by the first operation after the start state only.
[[nodiscard]] std::vector<model::AnyOp> next_operations(model::Model const& model,
                                                        model::StateMode mode,
                                                        bool is_first);

/// Outcome of a search.
struct SearchResult {
  std::uint64_t programs = 0;            ///< that were run, the start state alone not counted
  std::vector<std::uint64_t> by_length;  ///< programs of 1, 2, ... operations
  std::uint64_t operations = 0;          ///< that were checked, those of the start counted
  std::optional<FailedProgram> failed;   ///< the first program that broke something
};

/// Runs every program of at most `depth` operations after `start`: all invariants and the
/// comparison with the model after each operation, the deep checks at the end of each program.
/// What they saw is added to `coverage`, where that is given. Ends early when `go_on` says no.
[[nodiscard]] SearchResult search_exhaustively(model::Geometry const& geometry,
                                               StartState const& start,
                                               std::uint32_t depth,
                                               model::Coverage* coverage = nullptr,
                                               GoOn const& go_on = {});

/// The trace of a failing program, what it broke, and how to run it again.
[[nodiscard]] std::string describe_failed(FailedProgram const& failed);

}  // namespace holdfast::fuzz
