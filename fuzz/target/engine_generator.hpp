// SPDX-License-Identifier: Apache-2.0
// Draws programs for an engine from what its adapter declares.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "fuzz/target/session.hpp"
#include "models/source.hpp"

namespace holdfast::fuzz {

class EngineGenerator {
 public:
  /// `tried_again` is the name of the one known finding that programs do not avoid; empty: all are avoided.
  EngineGenerator(model::Hello const& hello, Target const& target, std::string tried_again);

  /// The program with this seed. It ends with a row for every sequence, so that nothing stays unseen.
  [[nodiscard]] EngineProgram program(std::uint64_t seed) const;

 private:
  using Weights = std::array<std::uint32_t, model::kEngineKindCount>;

  /// What one program has of its own.
  struct Draft {
    model::Source& source;
    model::HistoryModel& model;
    std::vector<model::EngineOp> ops;
    Weights weights{};
    std::uint32_t sequences = 1;         // that it uses
    std::uint32_t token = 1;             // no row has had it yet
    std::vector<std::uint32_t> prompts;  // first tokens of histories
    std::uint32_t last = 0;              // sequence that was written last
    bool likes_edges = false;
    std::uint32_t left_out = 0;
  };

  [[nodiscard]] model::Knobs draw_knobs(model::Source& source) const;
  [[nodiscard]] Weights draw_weights(model::Source& source) const;
  bool add(model::EngineOp const& op, Draft& draft) const;
  bool draw(model::EngineKind kind, Draft& draft, model::EngineOp& op) const;
  [[nodiscard]] std::uint32_t rows_for(std::uint32_t size, Draft& draft) const;
  [[nodiscard]] std::uint32_t room(Draft const& draft) const;
  [[nodiscard]] std::uint32_t first_token(std::uint32_t sequence, Draft& draft) const;
  void draw_decode(Draft& draft, model::EngineOp& op) const;
  bool draw_draft(Draft& draft, model::EngineOp& op) const;
  void draw_range(Draft& draft, model::EngineOp& op) const;
  void draw_shift(Draft& draft, model::EngineOp& op) const;
  bool draw_entry(Draft& draft, model::EngineOp& op) const;
  bool draw_snapshot(Draft& draft, model::EngineOp& op) const;
  [[nodiscard]] std::uint32_t live_sequence(Draft& draft) const;
  [[nodiscard]] std::uint32_t any_sequence(Draft& draft) const;
  void load_damaged(model::EngineOp const& damage, Draft& draft) const;
  void add_probes(Draft& draft) const;

  model::Hello const& hello_;
  Target const& target_;
  std::string tried_again_;
};

/// Rows of one token for each of these sequences, with logits: what shows the state that a program leaves.
[[nodiscard]] std::vector<model::EngineOp> probes_of(std::vector<std::uint32_t> const& sequences,
                                                     std::uint32_t token);

}  // namespace holdfast::fuzz
