// SPDX-License-Identifier: Apache-2.0
// The table of rules, and the page that is made of it.
#include "fuzz/order_page.hpp"

#include <algorithm>
#include <sstream>

#include "fuzz/mutants.hpp"

namespace holdfast::fuzz {
namespace {

constexpr OrderRule kRules[] = {
    {"entry",
     "A call on a sequence comes after the sequence's last call, in whatever stream that was.",
     "lib/src/cache/core.cpp",
     "owner_not_awaited step_enters_first"},
    {"exit",
     "Every call that changed a sequence - append, write, accept, rollback, restore, truncate, "
     "release - "
     "leaves its own stream as the one to wait for, once it has waited itself.",
     "lib/src/cache/core.cpp",
     "birth_not_marked marked_before_wait write_not_marked"},
    {"takeover",
     "All that a sequence may see, on every device, comes before the stream of its last call, "
     "whether or not the call touched it: a kernel may read it there.",
     "lib/src/cache/core_movements.cpp",
     "rollback_shares_unawaited fork_shares_unawaited own_length_stays fork_not_marked "
     "finish_enters_first"},
    {"birth",
     "The first fill of a new sequence comes before the first append of any stream.",
     "lib/src/cache/core.cpp",
     "birth_not_marked"},
    {"reuse",
     "A call that takes storage, or what a snapshot or entry holds, comes after the last use of "
     "storage in every stream.",
     "lib/src/cache/fences.cpp",
     "reuse_not_awaited"},
    {"use",
     "Every call counts as a use of storage in its stream: what it copied from or gave back is "
     "taken after its own work.",
     "lib/src/cache/core.cpp",
     "call_not_noted failed_load_not_noted"},
    {"release",
     "A release counts as a use in the stream of the sequence's last call: a step that was "
     "launched "
     "there may still run.",
     "lib/src/cache/core.cpp",
     "release_not_noted"},
    {"hold",
     "Who reads what a snapshot holds comes after the stream that wrote its rows.",
     "lib/src/cache/core_movements.cpp",
     "snapshot_not_marked"},
    {"publish",
     "A look-up finds an entry after the work that wrote its rows is done on every device; not "
     "when "
     "the device cannot say so.",
     "lib/src/cache/core_prefix.cpp",
     "published_early error_is_done load_waits_for_first"},
    {"cancel",
     "Nothing of work that failed or was cancelled is ever published.",
     "lib/src/cache/core_prefix.cpp",
     "capture_event_ignored failed_load_published"},
    {"read",
     "Bytes of an entry leave the cache after the stream that wrote them.",
     "lib/src/cache/core_prefix.cpp",
     "serialize_not_awaited entry_keeps_mark"},
    {"generation",
     "Who kept an id without a reference finds nothing under it after it was given back, whoever "
     "has its place.",
     "lib/src/cache/core.cpp",
     "generation_ignored snapshot_generation_ignored entry_generation_ignored"},
    {"wait",
     "A wait that failed is no wait: the call fails, and whoever comes next waits again.",
     "lib/src/cache/fences.cpp",
     "failed_wait_ignored wait_noted_early half_wait_counts marked_before_wait"},
    {"map",
     "A write of a whole step comes after its map of rows was written, in whatever stream; the "
     "next "
     "step's map is written after every read of the one before.",
     "lib/src/cache/core_writes.cpp",
     "map_not_marked map_reused_early"},
    {"parameters",
     "The host writes a parameter slot again after every launch that reads it, in all streams; "
     "when "
     "no event could be recorded, after their streams.",
     "lib/src/storage/step.cpp",
     "parameters_reused_early slot_reused_after_failure half_waits_for_one"},
    {"ranks",
     "All devices are told of a call before any of them is told of the next.",
     "lib/src/storage/step.cpp",
     "rank_not_told first_rank_decides last_rank_decides"},
    {"declared",
     "A kernel says every byte that it touches before it runs: what is not said cannot be ordered.",
     "lib/src/storage/step.cpp",
     "undeclared_write"},
};

constexpr char const* kOrderIntroduction =
    R"(<!-- Generated: holdfast list order --markdown > docs/ORDER.md. A test compares. -->
# Order

What comes before what when a cache is used in several streams, on several devices. Work of one stream is in order by
itself; between streams the library records events and waits for them, and never blocks the host but for the rules
*parameters* and *read*. One device and one stream cost no event beside one for each eight launches.
[Decision 0006](decisions/0006-order-between-streams.md) says why these rules are enough.

On simulated devices (`holdfast run --device sim`, `fuzz_async`) every declared access is checked by vector clocks (ORDER); what a
sequence may see counts as read by its stream whenever it comes to one, and now and then while it stays there; what
a look-up found is read at once (PUBLISH), and parameters of enqueued work are compared with what they were (INUSE). Each rule
is proven by seeded bugs that break it: `holdfast mutants` runs them, and where ORDER reports one, `holdfast replay --why` names both
accesses and the edge that is missing.

| rule | what must hold | kept in |
|---|---|---|
)";

std::string link_to(std::string const& file) {
  return "[" + file.substr(file.rfind('/') + 1) + "](../" + file + ")";
}

std::string mutant_lines(OrderRule const& rule) {
  std::string lines;
  std::istringstream names{rule.mutants};
  for (std::string name; names >> name;) {
    for (MutantInfo const& mutant : all_mutants()) {
      if (name == mutant.name) {
        std::string reporters = mutant.killers;
        std::replace(reporters.begin(), reporters.end(), ' ', '/');
        lines += "- `" + name + "`: " + mutant.text + " (" + reporters + ")\n";
      }
    }
  }
  return lines;
}

}  // namespace

std::span<OrderRule const> all_order_rules() noexcept {
  return kRules;
}

std::string order_page() {
  std::string page = kOrderIntroduction;
  for (OrderRule const& rule : kRules) {
    page +=
        "| " + std::string{rule.name} + " | " + rule.text + " | " + link_to(rule.where) + " |\n";
  }
  page +=
      "\n## Seeded bugs that break each\n\nIn brackets the invariants of which one must report "
      "it.\n";
  for (OrderRule const& rule : kRules) {
    page += "\n**" + std::string{rule.name} + "**\n\n" + mutant_lines(rule);
  }
  return page;
}

}  // namespace holdfast::fuzz
