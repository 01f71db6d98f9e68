// SPDX-License-Identifier: Apache-2.0
// The table of points, and the library's side of it.
#include "fuzz/points.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

// Defined by the build of the library that has points; see lib/src/base/sometimes.cpp.
extern "C" {
[[gnu::weak]] char const* holdfast_point_name(std::uint32_t index);
[[gnu::weak]] bool holdfast_point_was_met(std::uint32_t index);
}

namespace holdfast::fuzz {
namespace {

constexpr PointInfo kPoints[] = {
    // Of the library, in the order of lib/src/base/sometimes.def.
    {"page_written_by_writer",
     "a page that others hold is written in place by its writer, above what they may see",
     false},
    {"page_copied", "a page is copied because others may see the row to be written", false},
    {"sealed_lowered",
     "a page that is held alone again is written below the rows that were sealed",
     false},
    {"chunk_made_private", "a shared chunk is replaced by a private one", false},
    {"shared_chunk_cut", "a shortening ends inside a chunk that others hold", false},
    {"rollback_kept_chunk", "a rollback finds a chunk that the sequence has already", false},
    {"restore_private_chunk", "a restore uses the beginning of a chunk", false},
    {"ring_page_copied", "a page of the tail ring is replaced, with its resident rows", false},
    {"ring_other_lap",
     "the writer of a ring page may not write it: it was shared in another lap",
     false},
    {"ring_met_twice", "the open rows meet a ring page again after a lap", false},
    {"ring_two_runs", "a ring page holds resident rows of two laps when it is copied", false},
    {"ring_base_held", "a long append holds the ring page of its base", false},
    {"ring_base_returned",
     "a long append that is dropped returns to the ring page of its base",
     false},
    {"ring_rejected_count", "rejected rows have overwritten rows that were resident", false},
    {"ring_truncate_refused", "a tail ring refuses a truncation", false},
    {"ring_page_restored", "a restore takes the ring page of an open pool", false},
    {"draft_lag_limited", "a draft plane is too far behind to catch up in one handle", false},
    {"draft_left_behind", "a commit leaves a draft plane behind its sequence", false},
    {"draft_rows_rejected", "draft rows above the kept ones are rejected", false},
    {"draft_restored_short", "a restore is longer than the entry's draft rows", false},
    {"state_written_directly", "an append in place writes the only slot there is", false},
    {"state_copied_for_append", "an append in place copies a state that others hold", false},
    {"in_place_kept_whole", "a round in place keeps all of its rows", false},
    {"in_place_back_to_base", "a round in place returns to its base", false},
    {"same_state_loaded", "a rollback loads the state that the sequence has", false},
    {"state_refuses_truncate", "a state refuses a truncation", false},
    {"rescan_of_several", "one rescan makes the states of several sequences", false},
    {"pages_exhausted", "a handle is refused for want of pages", false},
    {"ring_pages_exhausted", "a handle is refused for want of ring pages", false},
    {"slots_exhausted", "a handle is refused for want of state slots", false},
    {"start_exhausted", "a new sequence is refused for want of a state slot", false},
    {"snapshots_exhausted", "a snapshot is refused: all are in use", false},
    {"entries_exhausted", "a capture is refused: all entries are in use", false},
    {"entry_storage_exhausted", "bytes are refused for want of storage", false},
    {"refused_at_last_item", "a step is refused by the last of several items", false},
    {"state_lost", "a drop loses the state", false},
    {"released_open", "a sequence is released while a handle is open", false},
    {"known_key_captured", "a key is captured that has an entry", false},
    {"restore_inside_entry", "a restore takes less than the whole entry", false},
    {"restore_shortened_twice", "a second plane shortens what the first one has", false},
    {"restore_tie", "two entries are usable at the same length", false},
    {"viewed_keys_built",
     "pool keys are built at the end, of rows that came through a view",
     false},
    // Of the harness, in the order of HarnessPoint.
    {"answer_invalid_argument", "an operation is refused as kInvalidArgument", true},
    {"answer_unsupported", "an operation is refused as kUnsupported", true},
    {"answer_stale", "an operation is refused as kStale", true},
    {"answer_busy", "an operation is refused as kBusy", true},
    {"answer_too_long", "an operation is refused as kTooLong", true},
    {"answer_incomplete", "an operation is refused as kIncomplete", true},
    {"answer_refused", "an operation is refused as kRefused", true},
    {"answer_exhausted", "an operation is refused as kExhausted", true},
    {"answer_tainted", "an operation is refused as kTainted", true},
    {"answer_miss", "a restore misses", true},
    {"answer_damaged", "bytes are refused as kDamaged", true},
    {"rolled_back_twice",
     "a sequence is rolled back to the same snapshot for the second time",
     true},
    {"rolled_back_foreign", "a sequence is rolled back to the snapshot of another history", true},
    {"fork_outlives_source",
     "a fork starts from a snapshot when no sequence has its history",
     true},
    {"step_of_several", "a step keeps rows of two sequences or more", true},
};

constexpr std::size_t kHarnessCount = static_cast<std::size_t>(HarnessPoint::kCount);
constexpr std::size_t kLibraryCount = std::size(kPoints) - kHarnessCount;
static_assert(!kPoints[kLibraryCount - 1].of_harness && kPoints[kLibraryCount].of_harness);

std::array<std::atomic<bool>, kHarnessCount>& met_by_harness() noexcept {
  static std::array<std::atomic<bool>, kHarnessCount> known{};
  return known;
}

}  // namespace

std::span<PointInfo const> all_points() noexcept {
  return kPoints;
}

bool has_library_points() noexcept {
  return &holdfast_point_name != nullptr;
}

std::vector<std::string> library_points() {
  std::vector<std::string> names;
  if (has_library_points()) {
    for (std::uint32_t index = 0; holdfast_point_name(index) != nullptr; ++index) {
      names.emplace_back(holdfast_point_name(index));
    }
  }
  return names;
}

void meet(HarnessPoint point) noexcept {
  met_by_harness()[static_cast<std::size_t>(point)].store(true, std::memory_order_relaxed);
}

std::vector<PointInfo const*> points_never_met() {
  std::vector<PointInfo const*> never;
  for (std::size_t i = 0; i < std::size(kPoints); ++i) {
    bool const met =
        i < kLibraryCount
            ? has_library_points() && holdfast_point_was_met(static_cast<std::uint32_t>(i))
            : met_by_harness()[i - kLibraryCount].load(std::memory_order_relaxed);
    if (!met) {
      never.push_back(&kPoints[i]);
    }
  }
  return never;
}

}  // namespace holdfast::fuzz
