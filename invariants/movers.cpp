// SPDX-License-Identifier: Apache-2.0
// MOVERS: whatever belongs to a plane is in every movement of it.
#include <algorithm>

#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Every row, key and state that the holder must have from position `first` on, against the model.
void check_from(Check const& check,
                Report& report,
                Label name,
                model::History const& history,
                std::uint32_t first) {
  for (PlaneBinding const& plane : check.planes) {
    if (report.is_clean() && plane.reference != nullptr) {
      std::uint32_t const model_plane = plane.model_planes.front();
      model::RowRange rows = plane.reference->rows(check.model.shape().planes[model_plane],
                                                   check.model.view(history, model_plane));
      rows.first = std::max(rows.first, plane.units(first));
      check_rows(check, report, "MOVERS", plane, name, history, rows);
    }
  }
  if (report.is_clean()) {
    check_state(check, report, "MOVERS", name, history);
  }
}

/// A restore, fork or rollback gave the sequence all it has; a reload or capture the entry. What is
/// shared by whole chunks, as by fork and rollback, is looked at where it ends.
void cheap(Check const& check, Report& report) {
  model::Effects const effects = model::effects_of(*check.op);
  bool const restores = effects.loads.has(model::Thing::kEntry);
  bool const moves_sequence = restores || effects.loads.has(model::Thing::kSnapshot);
  if (moves_sequence && check.touched) {
    check_from(check,
               report,
               label(*check.subject),
               check.model.history(check.model.sequence(*check.subject)),
               restores ? 0 : check.touched_first);
  }
  if (effects.makes.has(model::Thing::kEntry) && check.entry && check.got.ok) {
    check_from(check, report, label(*check.entry), check.model.entry(*check.entry).history, 0);
  }
}

}  // namespace

extern Invariant const kMovers;
Invariant const kMovers{"MOVERS",
                        "movers",
                        "whatever belongs to a plane (keys, ring rows, conv windows, ssm states, "
                        "side state) is in every movement "
                        "of it",
                        model::Facet::kVisible,
                        {},
                        &cheap,
                        nullptr};

}  // namespace holdfast::invariant
