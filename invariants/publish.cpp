// SPDX-License-Identifier: Apache-2.0
// PUBLISH: what a prefix look-up finds is written, whatever is still pending.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  if (check.sim == nullptr || !model::effects_of(*check.op).loads.has(model::Thing::kEntry) ||
      !check.got.ok || !check.want.ok) {
    return;
  }
  model::EntryName const entry = check.model.restored_from();
  if (!check.visible.was_restored_from(entry)) {
    return;  // another one that may have become visible
  }
  model::History const& history = check.model.entry(entry).history;
  for (PlaneBinding const& plane : check.planes) {
    if (plane.model_planes.empty()) {
      continue;
    }
    model::HistoryView const view = check.model.view(history, plane.model_planes.front());
    model::RowRange const rows =
        plane.reference->rows(check.model.shape().planes[plane.model_planes.front()], view);
    if (!check_rows(check, report, "PUBLISH", plane, label(entry), history, rows, When::kNow)) {
      return;
    }
  }
  check_state(check, report, "PUBLISH", label(entry), history, When::kNow);
}

}  // namespace

extern Invariant const kPublish;
Invariant const kPublish{
    "PUBLISH",
    "publish after write",
    "nothing is visible before its writer finished; nothing of cancelled work ever is",
    model::Facet::kVisible | model::Facet::kDevices,
    {},
    &cheap,
    nullptr};

}  // namespace holdfast::invariant
