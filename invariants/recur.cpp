// SPDX-License-Identifier: Apache-2.0
// RECUR: the recurrent state equals the serial replay of the accepted tokens.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (check.touched) {
    check_state(check,
                report,
                "RECUR",
                check.holder(*check.subject),
                label(*check.subject),
                check.model.history(check.model.sequence(*check.subject)));
  }
}

void deep(Check const& check, Report& report) {
  for_each_sequence(check,
                    [&](model::SequenceName name, Holder holder, model::History const& history) {
                      if (report.is_clean()) {
                        check_state(check, report, "RECUR", holder, label(name), history);
                      }
                    });
}

}  // namespace

extern Invariant const kRecur;
Invariant const kRecur{"RECUR",
                       "recurrence",
                       "conv windows and ssm states equal the serial replay of the accepted tokens",
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
