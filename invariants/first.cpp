// SPDX-License-Identifier: Apache-2.0
// FIRST: reused storage is never read before it is written. The witness is the recorder: storage is
// poisoned when it becomes free, and kernels declare what they read.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// Kernels: no read began or ended with poison.
void cheap(Check const& check, Report& report) {
  for (model::ByteRange const& range : check.poison_reads) {
    std::vector<Place> read;
    add_place(check.planes, range, read);
    if (read.empty()) {
      continue;  // an engine's own memory
    }
    Place const& place = read[0];
    report.add({.id = "FIRST",
                .plane = place.plane->info.name,
                .layer = layer_of(*place.plane),
                .position = check.before.live ? std::int64_t{check.before.sequence.position} : -1,
                .holder = check.subject ? name_of(*check.subject) : "",
                .text = "page or slot " + std::to_string(place.page) +
                        (place.plane->info.page_rows == 0
                             ? std::string{}
                             : ", rows " + std::to_string(place.first_row) + " to " +
                                   std::to_string(place.last_row - 1) + " of it,") +
                        " was read, but not written since it was free"});
    return;
  }
}

/// Rows that a holder sees, of one plane: none begins with poison.
void check_rows_of(Check const& check,
                   Report& report,
                   PlaneBinding const& plane,
                   Holder holder,
                   Label name,
                   model::History const& history) {
  std::uint64_t const row_bytes = plane.info.row_bytes;
  for (std::uint32_t layer = 0; layer < plane.model_planes.size(); ++layer) {
    std::uint32_t const model_plane = plane.model_planes[layer];
    model::RowRange const rows = plane.reference->rows(check.model.shape().planes[model_plane],
                                                       check.model.view(history, model_plane));
    std::byte const* at = nullptr;
    for (std::uint32_t row = rows.first; row < rows.last; ++row, at += row_bytes) {
      if (at == nullptr || row % plane.info.page_rows == 0) {
        at = check.inspection.row_address(holder, plane.index, layer, row);
      }
      if (at == nullptr) {
        break;  // others say that the row has no page
      }
      if (model::is_poison(at)) {
        report.add({.id = "FIRST",
                    .plane = plane.info.name,
                    .layer = plane.info.layers[layer],
                    .position = std::int64_t{row} * plane.info.unit_tokens,
                    .holder = name.text(),
                    .text = "a visible row was not written since its page was free"});
        return;
      }
    }
  }
}

void deep(Check const& check, Report& report) {
  auto const check_holder = [&](auto name, Holder holder, model::History const& history) {
    for (PlaneBinding const& plane : check.planes) {
      if (plane.reference != nullptr && report.is_clean()) {
        check_rows_of(check, report, plane, holder, label(name), history);
      }
    }
  };
  for_each_sequence(check, [&](model::SequenceName name, Holder holder, auto const& history) {
    if (!check.model.sequence(name).open.open) {  // a long handle may have lapped a ring
      check_holder(name, holder, history);
    }
  });
  for_each_snapshot(check, check_holder);
}

}  // namespace

extern Invariant const kFirst;
Invariant const kFirst{"FIRST",
                       "first read",
                       "reused storage is never read before it is written; poison never surfaces",
                       &cheap,
                       &deep};

}  // namespace holdfast::invariant
