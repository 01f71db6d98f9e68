// SPDX-License-Identifier: Apache-2.0
// COST: after its creation a cache asks of its devices no more than its headers say. What opens or ends
// handles, reads or writes bytes, or waits is judged by its allocations alone: the engine's own calls are
// among the others.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

using model::Thing;

void cheap(Check const& check, Report& report) {
  if (check.cost == nullptr || check.failed_calls != 0) {
    return;
  }
  model::Cost const& cost = *check.cost;
  model::Effects const effects = model::effects_of(*check.op);
  auto const limit = [&](char const* what, std::uint32_t got, std::uint32_t most) {
    if (got > most) {
      report.add({.id = "COST",
                  .holder = check.subject ? name_of(*check.subject) : "",
                  .text = std::to_string(got) + " " + what + " where at most " +
                          std::to_string(most) + " are needed"});
    }
  };
  limit("allocations", cost.allocations, 0);
  if (effects.all().has_any(Thing::kAppend | Thing::kRound | Thing::kBytes | Thing::kPending)) {
    return;
  }
  // Parameters of launches are used again in halves: the host waits before it writes a half, and events are
  // recorded when one is full.
  constexpr std::uint32_t kHalf = 8;
  bool const moves = (effects.makes | effects.changes).has(Thing::kSequence);
  model::ModelShape const& shape = check.model.shape();
  std::uint32_t const devices = shape.ranks * shape.stages;
  std::uint32_t const launches = moves ? devices : 0;
  bool const begins_half = moves && cost.steps_before % kHalf == 0;
  bool const ends_half = moves && cost.steps_before % kHalf == kHalf - 1;
  limit("launches", cost.launches, launches);
  limit("copies", cost.copies, 0);
  limit("waits of streams", cost.waits, launches * model::kStreamNames);
  limit("waits of the host", cost.host_waits, begins_half ? kHalf * devices : 0);
  limit("events",
        cost.records,
        cost.waits + (ends_half ? kHalf * devices : 0) +
            (effects.makes.has(Thing::kEntry) ? devices : 0));
}

}  // namespace

extern Invariant const kCost;
Invariant const kCost{
    "COST",
    "cost",
    "no call after create allocates, launches, copies or waits more than its headers say",
    model::Facet::kInternals | model::Facet::kDevices,
    {},
    &cheap,
    nullptr};

}  // namespace holdfast::invariant
