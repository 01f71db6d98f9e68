// SPDX-License-Identifier: Apache-2.0
// FIRST: reused storage is never read before it is written. The witness is the recorder: storage is
// poisoned when it becomes free, and kernels declare what they read. Poison that somebody sees is
// found where rows and states are compared (check.cpp), and reported as FIRST there, too.
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

}  // namespace

extern Invariant const kFirst;
Invariant const kFirst{"FIRST",
                       "first read",
                       "reused storage is never read before it is written; poison never surfaces",
                       model::Facet::kDevices,
                       {},
                       &cheap,
                       nullptr};

}  // namespace holdfast::invariant
