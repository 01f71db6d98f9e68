// SPDX-License-Identifier: Apache-2.0
// DECLARED: memory changes only where a kernel, copy or fill said that it writes. What is ordered,
// owned and read for the first time is judged by what was said.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void check_writes(Check const& check, Report& report) {
  if (check.undeclared == nullptr) {
    return;
  }
  std::vector<Place> places;
  add_place(check.planes, {check.undeclared, 1}, places);
  Violation violation{.id = "DECLARED",
                      .holder = check.subject ? name_of(*check.subject) : "",
                      .text =
                          "a byte of the records and tables changed, and nothing declared to "
                          "write it"};
  if (!places.empty()) {
    Place const& place = places.front();
    violation.plane = place.plane->info.name;
    violation.layer = layer_of(*place.plane);
    violation.text = "page or slot " + std::to_string(place.page) +
                     " changed, and nothing declared to write the byte";
  }
  report.add(std::move(violation));
}

}  // namespace

extern Invariant const kDeclared;
Invariant const kDeclared{"DECLARED",
                          "order",
                          "memory changes only where something declared to write",
                          model::Facet::kDevices,
                          {},
                          &check_writes,
                          &check_writes};

}  // namespace holdfast::invariant
