// SPDX-License-Identifier: Apache-2.0
// RECUR: recurrent and held side state equal the serial replay of the accepted tokens.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Whether there is a state to compare: a tainted sequence has none, nor has one whose open append
/// writes the only slot. Taint is the library's word: who does not say it must have the state.
bool has_state(Check const& check, model::SequenceName name) {
  model::OpenHandle const& open = check.model.sequence(name).open;
  return !check.visible.sequence(name).tainted && (!open.open || open.drop_is_exact);
}

void cheap(Check const& check, Report& report) {
  bool const untainted =
      check.subject && check.model.sequence(*check.subject).tainted && check.got.ok;
  if ((check.touched || untainted) && has_state(check, *check.subject)) {
    check_state(check,
                report,
                "RECUR",
                label(*check.subject),
                check.model.history(check.model.sequence(*check.subject)));
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(check, [&](model::SequenceName name, model::History const& history) {
    if (report.is_clean() && has_state(check, name)) {
      check_state(check, report, "RECUR", label(name), history);
    }
  });
}

}  // namespace

extern Invariant const kRecur;
Invariant const kRecur{
    "RECUR",
    "recurrence",
    "conv windows, ssm states and held side state equal the serial replay of the "
    "accepted tokens",
    model::Facet::kVisible,
    {},
    &cheap,
    &deep};

}  // namespace holdfast::invariant
