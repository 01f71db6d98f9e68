// SPDX-License-Identifier: Apache-2.0
// What an operation was in terms of abstract states, for coverage.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "models/lineage/abstract_state.hpp"
#include "models/ops/names.hpp"

namespace holdfast::fuzz {

/// Looks before and after each operation; nothing is known of what is shared without a `system`. An operation is about the sequences that it names and that
/// exist; else about its snapshot; else about its entry; else about nothing.
class TransitionWatch {
 public:
  void before(model::Model const& model,
              model::HoldfastSystem const* system,
              model::OpNames const& names);
  /// Calls `sink` for each thing that the operation was about. What it has made is where it leads.
  void after(model::Model const& model,
             model::HoldfastSystem const* system,
             model::OpNames const& names,
             model::Transition transition,
             std::function<void(model::Transition const&)> const& sink) const;

 private:
  struct Seen {
    std::optional<model::SequenceName> sequence;
    model::AbstractState state;
  };
  std::array<Seen, model::kStepItemLimit> seen_;
  std::uint32_t count_ = 0;
};

}  // namespace holdfast::fuzz
