// SPDX-License-Identifier: Apache-2.0
// BYTES: bytes that are not exactly an entry of this cache are refused, each kind with its own
// answer.
#include "invariants/check.hpp"
#include "models/ops/names.hpp"

namespace holdfast::invariant {
namespace {

void cheap(Check const& check, Report& report) {
  model::Effects const effects = model::effects_of(*check.op);
  bool const is_damaged = effects.loads.has(model::Thing::kBytes) && effects.makes.is_empty();
  if (!is_damaged || check.want == check.got) {
    return;
  }
  report.add({.id = "BYTES",
              .holder = label(*model::names_of(*check.op).entry).text(),
              .text = check.got.ok ? std::string{"bytes that must be refused were loaded"}
                                   : std::string{"the bytes were refused with "} +
                                         holdfast::name_of(check.got.code) + ", must be " +
                                         holdfast::name_of(check.want.code)});
}

/// Nothing but the program's entries is there: what was refused left nothing behind.
void deep(Check const& check, Report& report) {
  if (check.internals == nullptr) {
    return;
  }
  std::uint32_t found = 0;
  for (std::uint32_t index = check.inspection.first_entry();
       index < check.inspection.snapshot_limit();
       ++index) {
    found += check.inspection.snapshot(index).live ? 1U : 0U;
  }
  auto const must = static_cast<std::uint32_t>(check.model.live_entries().size());
  if (found != must) {
    report.add({.id = "BYTES",
                .text = "the cache has " + std::to_string(found) + " entries, the program " +
                        std::to_string(must)});
  }
}

}  // namespace

extern Invariant const kBytes;
Invariant const kBytes{
    "BYTES",
    "bytes",
    "serialized bytes are refused when truncated, damaged, of another version, model, layout or "
    "rank count",
    model::Facet::kVisible,
    model::Facet::kInternals,
    &cheap,
    &deep};

}  // namespace holdfast::invariant
