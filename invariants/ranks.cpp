// SPDX-License-Identifier: Apache-2.0
// RANKS: all ranks decide alike. One bookkeeping serves them all, so what is left to go wrong is
// that a rank is not told, is told something else, or works in another's memory.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

void add(Check const& check, Report& report, std::string text) {
  report.add({.id = "RANKS",
              .position = check.before.sequence.position,
              .holder = check.subject ? name_of(*check.subject) : "",
              .text = std::move(text)});
}

/// Whether the engine did the same on all ranks, in this operation and in the handle that it is about.
bool is_even_work(Check const& check) {
  bool is_uneven = !model::writes_alike(*check.op);
  if (check.subject) {
    model::ModelStep const* const step = check.model.last_step_of(*check.subject);
    is_uneven = is_uneven || (model::effects_of(*check.op).all().has(model::Thing::kStep) &&
                              step != nullptr && step->is_uneven);
    model::OpenHandle const& open = check.model.sequence(*check.subject).open;
    is_uneven = is_uneven || (open.is_uneven && (open.open || check.before.sequence.open));
  }
  return !is_uneven;
}

/// Every rank of a stage was given as much work, none of it in foreign memory.
void check_work(Check const& check, Report& report, std::uint32_t ranks) {
  if (check.sim != nullptr && !check.got.ok &&
      model::effects_of(*check.op).changes.has(model::Thing::kRound)) {
    return;  // the engine shares the devices, and began on one before it was refused
  }
  bool const is_even = is_even_work(check);
  for (std::uint32_t device = 0; device < check.rank_devices.size() && report.is_clean();
       ++device) {
    std::uint32_t const first = device / ranks * ranks;
    model::RankDevice const& own = *check.rank_devices[device];
    model::RankDevice const& other = *check.rank_devices[first];
    if (is_even && (own.works() != other.works() || own.copied() != other.copied())) {
      add(check,
          report,
          "rank " + std::to_string(device % ranks) + " of stage " + std::to_string(device / ranks) +
              " was given " + std::to_string(own.works()) + " pieces of work and " +
              std::to_string(own.copied()) + " bytes to copy, rank 0 " +
              std::to_string(other.works()) + " and " + std::to_string(other.copied()));
    } else if (check.rank_devices[device]->foreign() != 0) {
      add(check,
          report,
          "rank " + std::to_string(device % ranks) + " of stage " + std::to_string(device / ranks) +
              " was told to touch memory of another device");
    }
  }
}

/// The records of a sequence agree on all devices, slots apart, which are a stage's own.
void check_records(Check const& check, Report& report, std::uint32_t sequence) {
  auto const devices = static_cast<std::uint32_t>(check.rank_devices.size());
  auto const first = check.inspection.mirror(sequence, 0);
  for (std::uint32_t device = 1; device < devices && report.is_clean(); ++device) {
    auto const other = check.inspection.mirror(sequence, device);
    if (!first || !other || first->committed != other->committed || first->open != other->open ||
        first->generation != other->generation) {
      add(check,
          report,
          "the record on device " + std::to_string(device) + " says " +
              std::to_string(other ? other->committed : 0) + " committed rows of generation " +
              std::to_string(other ? other->generation : 0) + ", that on device 0 " +
              std::to_string(first ? first->committed : 0) + " of " +
              std::to_string(first ? first->generation : 0));
    }
  }
}

void cheap(Check const& check, Report& report) {
  if (check.rank_devices.empty()) {
    return;
  }
  check_work(check, report, check.inspection.ranks());
  if (check.subject && check.model.sequence(*check.subject).live &&
      !check.model.sequence(*check.subject).unknown && report.is_clean()) {
    check_records(check, report, check.holder(*check.subject).index);
  }
}

}  // namespace

extern Invariant const kRanks;
Invariant const kRanks{"RANKS",
                       "ranks",
                       "all ranks take the same decision and the same number of steps, each in its "
                       "own memory",
                       model::Facet::kInternals | model::Facet::kDevices,
                       {},
                       &cheap,
                       nullptr};

}  // namespace holdfast::invariant
