// SPDX-License-Identifier: Apache-2.0
// Abstract states around an operation.
#include "fuzz/transitions.hpp"

namespace holdfast::fuzz {
namespace {

using model::AbstractState;
using model::HoldfastSystem;
using model::Model;
using model::OpNames;
using model::SequenceName;

AbstractState state_without_sequence(Model const& model,
                                     HoldfastSystem const* system,
                                     OpNames const& names) {
  if (names.snapshot && model.snapshot_of(*names.snapshot).created) {
    return model::abstract_state(model, system, *names.snapshot);
  }
  if (names.entry && model.is_created(*names.entry)) {
    return model::abstract_state(model, system, *names.entry);
  }
  return {};
}

}  // namespace

void TransitionWatch::before(Model const& model,
                             HoldfastSystem const* system,
                             OpNames const& names) {
  count_ = 0;
  for (SequenceName const name : names.sequences()) {
    if (model.sequence(name).created) {
      seen_[count_++] = {name, model::abstract_state(model, system, name)};
    }
  }
  if (count_ == 0) {
    seen_[count_++] = {std::nullopt, state_without_sequence(model, system, names)};
  }
}

void TransitionWatch::after(Model const& model,
                            HoldfastSystem const* system,
                            OpNames const& names,
                            model::Transition transition,
                            std::function<void(model::Transition const&)> const& sink) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto made = seen_[i].sequence;
    if (!made && !names.sequences().empty() && model.sequence(names.sequences().front()).created) {
      made = names.sequences().front();
    }
    transition.from = seen_[i].state;
    transition.to = made ? model::abstract_state(model, system, *made)
                         : state_without_sequence(model, system, names);
    if (!model::tells_states_apart(transition.outcome)) {
      transition.from = {.life = transition.from.life};
      transition.to = {.life = transition.to.life};
    }
    sink(transition);
  }
}

}  // namespace holdfast::fuzz
