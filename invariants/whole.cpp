// SPDX-License-Identifier: Apache-2.0
// WHOLE: an entry is usable at p only if every plane is, and it holds bytes of every plane.
#include "invariants/check.hpp"

namespace holdfast::invariant {
namespace {

/// A restore: as long as the shortest plane allows, never longer.
void check_hit(Check const& check, Report& report) {
  std::uint32_t const found = check.got.ok ? check.got.value : 0;
  std::uint32_t const must = check.want.ok ? check.want.value : 0;
  bool const refused = !check.got.ok && !check.got.is(ErrorCode::kMiss);
  if (found != must && !refused) {
    report.add({.id = "WHOLE",
                .position = must,
                .holder = check.subject ? name_of(*check.subject) : "",
                .text = "the hit is of " + std::to_string(found) +
                        " rows, but the least over planes, entries and limit is " +
                        std::to_string(must)});
  }
}

/// Ties go to the entry that was captured first.
void check_source(Check const& check, Report& report) {
  model::EntryName const must = check.model.restored_from();
  if (check.want.ok && check.got.ok && !check.model.restored_from_pending() &&
      !check.visible.was_restored_from(must)) {
    report.add({.id = "WHOLE",
                .position = check.want.value,
                .holder = label(must).text(),
                .text =
                    "of the entries that hit alike this one was captured first, but another was "
                    "taken"});
  }
}

/// A key names one entry, and another key another one.
void check_key(Check const& check, Report& report) {
  if (check.want.ok && check.got.ok && check.got.value != check.want.value) {
    report.add({.id = "WHOLE",
                .holder = label(model::EntryName{check.want.value}).text(),
                .text = "the captured key is this entry's, but the cache says it is that of e" +
                        std::to_string(check.got.value)});
  }
}

void cheap(Check const& check, Report& report) {
  model::Effects const effects = model::effects_of(*check.op);
  if (effects.loads.has(model::Thing::kEntry)) {
    check_hit(check, report);
    check_source(check, report);
  } else if (effects.makes.has(model::Thing::kEntry) && effects.uses.has(model::Thing::kSnapshot)) {
    check_key(check, report);
  }
}

/// Sizes of all entries in the library's byte form: rows of every addressed plane count.
void deep(Check const& check, Report& report) {
  if (check.internals == nullptr) {
    return;
  }
  for (std::uint32_t const value : check.model.live_entries()) {
    model::EntryName const name{value};
    model::ModelEntry const& entry = check.model.entry(name);
    EntryBytes const found = check.internals->bytes(name);
    std::uint64_t const must = check.model.payload_bytes(entry);
    if (report.is_clean() && (found.payload != must || found.total <= must)) {
      report.add({.id = "WHOLE",
                  .position = static_cast<std::int64_t>(entry.history.tokens.size()),
                  .holder = label(name).text(),
                  .text = "the entry has " + std::to_string(found.payload) +
                          " bytes of rows, keys and states, must have " + std::to_string(must)});
    }
  }
}

}  // namespace

extern Invariant const kWhole;
Invariant const kWhole{
    "WHOLE",
    "whole entries",
    "an entry is usable at p only if every plane is; the hit length is the least of all; entry "
    "bytes grow with its tokens",
    model::Facet::kVisible,
    model::Facet::kInternals,
    &cheap,
    &deep};

}  // namespace holdfast::invariant
