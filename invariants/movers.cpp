// SPDX-License-Identifier: Apache-2.0
// MOVERS: whatever belongs to a plane is in every movement of it.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Every row, key and state that the holder must have, against the model.
void check_all(
    Check const& check, Report& report, Holder holder, Label name, model::History const& history) {
  for (PlaneBinding const& plane : check.planes) {
    if (report.is_clean() && plane.reference != nullptr) {
      std::uint32_t const model_plane = plane.model_planes.front();
      model::RowRange const rows = plane.reference->rows(check.model.shape().planes[model_plane],
                                                         check.model.view(history, model_plane));
      check_rows(check, report, "MOVERS", plane, holder, name, history, rows);
    }
  }
  if (report.is_clean()) {
    check_state(check, report, "MOVERS", holder, name, history);
  }
}

/// A restore, fork or rollback gave the sequence all it has; a reload or capture the entry.
void cheap(Check const& check, Report& report) {
  bool const moves_sequence = std::holds_alternative<model::RestoreOp>(*check.op) ||
                              std::holds_alternative<model::ForkOp>(*check.op) ||
                              std::holds_alternative<model::RollbackOp>(*check.op);
  if (moves_sequence && check.touched) {
    check_all(check,
              report,
              check.holder(*check.subject),
              label(*check.subject),
              check.model.history(check.model.sequence(*check.subject)));
  }
  bool const moves_entry = std::holds_alternative<model::ReloadOp>(*check.op) ||
                           std::holds_alternative<model::CaptureOp>(*check.op);
  if (moves_entry && check.entry && check.got.ok) {
    check_all(check,
              report,
              check.holder(*check.entry),
              label(*check.entry),
              check.model.entry(*check.entry).history);
  }
}

}  // namespace

extern Invariant const kMovers;
Invariant const kMovers{"MOVERS",
                        "movers",
                        "whatever belongs to a plane (keys, ring rows, conv windows, ssm states, "
                        "side state) is in every movement "
                        "of it",
                        &cheap,
                        nullptr};

}  // namespace holdfast::invariant
