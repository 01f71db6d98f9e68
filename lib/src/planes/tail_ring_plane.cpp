// SPDX-License-Identifier: Apache-2.0
// Movements of the tail ring.
#include "planes/tail_ring_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"

namespace holdfast::internal::planes {

Status TailRingPlane::check(RowsDescription const& rows, LayerRules const& rules) noexcept {
  char const* const name = name_of(rows.kind);
  if (!rows.pooled) {
    return rules.refuse(name, "is a ring, but no pool keys are made of its rows (pooled)");
  }
  if (rows.pool < 2) {
    return rules.refuse(name, "is a ring, and needs a pool of 2 rows or more", rows.pool, 2);
  }
  if (rows.parts != 1 || rows.unit_tokens != 1 || rows.split || rows.format != Format::kF32) {
    return rules.refuse(name, "is a ring, and needs one f32 part a token that ranks do not split");
  }
  if (rows.elements != 2 * std::uint64_t{rows.key_width}) {
    return rules.refuse(name,
                        "is a ring, and needs rows of twice key_width: [value | gate]",
                        static_cast<std::int64_t>(rows.elements),
                        2 * std::int64_t{rows.key_width});
  }
  if (rules.page_rows % rows.pool != 0) {
    return rules.refuse("page_rows", "is not a multiple of the pool", rules.page_rows, rows.pool);
  }
  std::uint64_t const least = std::uint64_t{rows.pool} - 1 + std::max(1U, rules.largest_round);
  if (rows.ring_rows < least || rows.ring_rows % rules.page_rows != 0) {
    return rules.refuse(name,
                        "is a ring, and needs ring_rows that are a multiple of page_rows and at "
                        "least pool - 1 + the largest round",
                        rows.ring_rows,
                        static_cast<std::int64_t>(least));
  }
  return {};
}

Status TailRingPlane::check(StateDescription const& state, LayerRules const& rules) noexcept {
  return rules.refuse(name_of(state.kind), "is a state, though its rule keeps rows");
}

ClassSize TailRingPlane::size(ClassPlan const& known, Capacity const& capacity) noexcept {
  std::uint64_t const kept = std::uint64_t{capacity.snapshots} + capacity.entries;
  HOLDFAST_ASSERT(known.ring_rows % known.page_rows == 0);
  std::uint32_t const entries = known.ring_rows / known.page_rows;
  // A long handle holds one page more.
  std::uint64_t const pages = capacity.sequences * (std::uint64_t{entries} + 1) + kept;
  return {.entries = entries,
          .pages = capacity.ring_pages != 0 ? capacity.ring_pages : pages,
          .copies = 2 * std::uint64_t{entries}};  // two runs of each page
}

EntryShape TailRingPlane::entry_shape(ClassPlan const& known, std::uint32_t length) noexcept {
  HOLDFAST_ASSERT(known.pool != 0);
  std::uint32_t const rows = length % known.pool;
  return {.rows = rows,
          .row_bytes = known.layer_row_bytes() * known.layer_count,
          .pages = rows != 0 ? 1U : 0U};
}

bool TailRingPlane::create(Plan const& plan,
                           std::uint32_t plane,
                           PlaneMemory const& memory) noexcept {
  storage::ClassPlan const& known = plan.classes[plane];
  HOLDFAST_ASSERT(known.page_rows % known.pool == 0);  // an open pool lies in one page
  HOLDFAST_ASSERT(known.entries * known.page_rows == known.ring_rows);
  HOLDFAST_ASSERT(memory.device_table != nullptr);
  plane_ = plane;
  name_ = name_of(known.kind);
  entries_ = known.entries;
  page_rows_ = base::Divisor{known.page_rows};
  ring_rows_ = base::Divisor{known.ring_rows};
  pool_ = base::Divisor{known.pool};
  strip_bytes_ = known.strip_bytes;
  row_bytes_ = known.row_bytes;
  device_table_ = memory.device_table;
  return pages_.create(memory.pages, known.page_bytes, known.pages) &&
         sequences_.create(plan.sequence_limit) && snapshots_.create(plan.snapshot_limit) &&
         tables_.create(std::uint64_t{plan.sequence_limit} * entries_);
}

PlaneState TailRingPlane::state(Holder holder) const noexcept {
  if (holder.kind == HolderKind::kSnapshot) {
    Held const& held = snapshots_[holder.index];
    return {.length = held.length, .lo = open_pool(held.length), .pages = entries_};
  }
  State const& known = sequences_[holder.index];
  return {.length = known.length, .sealed = known.sealed, .lo = known.lo, .pages = entries_};
}

std::uint32_t TailRingPlane::page_at(Holder holder, std::uint32_t entry) const noexcept {
  if (entry >= entries_) {
    return 0;
  }
  if (holder.kind == HolderKind::kSnapshot) {
    Held const& held = snapshots_[holder.index];
    return held.page != 0 && entry == entry_of(held.length - 1) ? held.page : 0;
  }
  return table(holder.index)[entry];
}

void TailRingPlane::start(Owner owner, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  sequences_[owner.index] = {};
}

bool TailRingPlane::is_long(Opening const& opening) const noexcept {
  return opening.base % pool_ != 0 && opening.rows > ring_rows_ - opening.base % pool_;
}

/// Calls `visit(entry)` for the entries that open rows fall on, from that of the first one on, around the
/// end of the ring.
template <typename Visit>
void TailRingPlane::for_each_touched(Opening const& opening, Visit visit) const noexcept {
  std::uint32_t const pages =
      opening.rows == 0 ? 0 : base::ceil_div(opening.base % page_rows_ + opening.rows, page_rows_);
  std::uint32_t entry = entry_of(opening.base);
  HOLDFAST_ASSERT(entry < entries_);
  for (std::uint32_t left = std::min(pages, entries_); left != 0; --left) {
    visit(entry);
    entry = entry + 1 == entries_ ? 0 : entry + 1;
  }
}

/// Whether every open row that falls on entry `entry` may go to the page that is there.
bool TailRingPlane::may_write(Owner owner,
                              Opening const& opening,
                              std::uint32_t entry) const noexcept {
  std::uint32_t const page = table(owner.index)[entry];
  HOLDFAST_ASSERT(page != 0);
  if (is_long(opening) && entry == entry_of(opening.base - 1)) {
    return false;  // the base's live rows stay where they are until the handle closes
  }
  if (pages_.references(page) == 1) {
    return true;
  }
  if (pages_.writer(page) != owner.mark) {
    return false;
  }
  // The first open row on this entry decides for those that follow it in the same lap.
  std::uint32_t const first_entry = entry_of(opening.base);
  std::uint32_t const steps = entry + (entry < first_entry ? entries_ : 0) - first_entry;
  std::uint32_t const first =
      steps == 0 ? opening.base : (opening.base / page_rows_ + steps) * page_rows_;
  // The rows meet the entry once more, from its start, when they wrap around onto it.
  bool const one_lap = HOLDFAST_MUTANT(kRingOneLapAssumed) ||
                       first / page_rows_ * page_rows_ + ring_rows_ >= opening.base + opening.rows;
  bool const same_lap = (one_lap && first / ring_rows_ == pages_.shared_lap(page)) ||
                        HOLDFAST_MUTANT(kRingLapIgnored);
  bool const is_open = first >= sequences_[owner.index].sealed;
  HOLDFAST_SOMETIMES(kRingMetTwice, is_open && !one_lap);
  HOLDFAST_SOMETIMES(kRingOtherLap, is_open && one_lap && !same_lap);
  return is_open && same_lap;
}

std::uint32_t TailRingPlane::need(Owner owner, Opening const& opening) const noexcept {
  std::uint32_t pages = 0;
  for_each_touched(opening, [&](std::uint32_t entry) {
    if (table(owner.index)[entry] == 0 || !may_write(owner, opening, entry)) {
      ++pages;
    }
  });
  return pages;
}

void TailRingPlane::give_up(Owner owner, std::uint32_t page) noexcept {
  pages_.clear_writer(page, owner.mark);
  pages_.release(page);
}

void TailRingPlane::copy_resident(Owner owner,
                                  std::uint32_t entry,
                                  std::uint32_t fresh,
                                  std::uint32_t old,
                                  StepWork& step) noexcept {
  State const& known = sequences_[owner.index];
  HOLDFAST_ASSERT(fresh != old);
  // At most two runs: what the last lap wrote from the entry's start, and what the lap before left
  // above.
  std::uint32_t run = 0;
  std::uint32_t runs = 0;
  for (std::uint32_t offset = 0; offset <= page_rows_; ++offset) {
    bool resident = false;
    if (offset < page_rows_) {
      std::uint32_t const physical = entry * page_rows_ + offset;
      // The newest position below `length` on this physical row.
      if (known.length > physical) {
        std::uint32_t const position =
            physical + (known.length - 1 - physical) / ring_rows_ * ring_rows_;
        resident = position >= known.lo;
      }
    }
    if (resident) {
      ++run;
    } else if (run != 0) {
      step.copy_rows({.plane = plane_,
                      .destination = fresh,
                      .source = old,
                      .first_row = offset - run,
                      .rows = run});
      run = 0;
      ++runs;
    }
  }
  HOLDFAST_ASSERT(runs <= 2);
  HOLDFAST_SOMETIMES(kRingTwoRuns, runs == 2);
}

void TailRingPlane::open(Owner owner, Opening const& opening, StepWork& step) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  HOLDFAST_VERIFY_THAT(sequences_[owner.index].length == opening.base);
  copy_on_write(owner, opening, step);
  take_missing(owner, opening, step);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

void TailRingPlane::copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept {
  State& known = sequences_[owner.index];
  auto const pages = table(owner.index);
  std::uint32_t const base_entry = is_long(opening) ? entry_of(opening.base - 1) : entries_;
  for_each_touched(opening, [&](std::uint32_t entry) {
    if (pages[entry] == 0) {
      return;
    }
    std::uint32_t const old = pages[entry];
    if (may_write(owner, opening, entry)) {
      if (pages_.references(old) == 1) {
        pages_.set_writer(old, owner.mark);
      }
      return;
    }
    HOLDFAST_SOMETIMES(kRingPageCopied, pages_.references(old) > 1);
    HOLDFAST_SOMETIMES(kRingBaseHeld, entry == base_entry);
    std::uint32_t const fresh = pages_.take(owner.mark);
    copy_resident(owner, entry, fresh, old, step);
    pages[entry] = fresh;
    step.patch(device_table(owner.index) + entry, fresh);
    if (entry == base_entry) {
      HOLDFAST_ASSERT(known.base_page == 0);
      known.base_page = old;  // its reference goes over to the handle
    } else {
      give_up(owner, old);
    }
  });
}

void TailRingPlane::take_missing(Owner owner, Opening const& opening, StepWork& step) noexcept {
  auto const pages = table(owner.index);
  for_each_touched(opening, [&](std::uint32_t entry) {
    if (pages[entry] == 0) {
      pages[entry] = pages_.take(owner.mark);
      step.patch(device_table(owner.index) + entry, pages[entry]);
    }
  });
}

void TailRingPlane::close(Owner owner, Closing const& closing, StepWork& step) noexcept {
  Opening const& opening = closing.opening;
  std::uint32_t const keep = closing.keep;
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(keep <= opening.rows);
  HOLDFAST_ASSERT(closing.reached >= opening.base);
  if (known.base_page != 0) {
    if (keep == 0) {
      HOLDFAST_SOMETIMES(kRingBaseReturned, true);
      std::uint32_t const entry = entry_of(opening.base - 1);
      give_up(owner, table(owner.index)[entry]);
      table(owner.index)[entry] = known.base_page;
      pages_.clear_writer(known.base_page, owner.mark);
      step.patch(device_table(owner.index) + entry, known.base_page);
    } else {
      give_up(owner, known.base_page);
    }
    known.base_page = 0;
  }
  // What the handle wrote up to `reached` has overwritten everything a lap below.
  std::uint32_t lo = closing.reached > ring_rows_ ? closing.reached - ring_rows_ : 0;
  if (HOLDFAST_MUTANT(kRingLoOneLapLow)) {
    lo = lo > ring_rows_ ? lo - ring_rows_ : 0;
  }
  if (HOLDFAST_MUTANT(kRingLoPageHigh) && lo != 0) {
    lo = std::max(lo, std::min(lo + page_rows_, open_pool(opening.base + keep)));
  }
  if (keep == 0 && !opening.round) {
    lo = std::min(lo, open_pool(opening.base));
  }
  HOLDFAST_SOMETIMES(kRingRejectedCount,
                     opening.round && lo > known.lo && opening.base + keep < lo + ring_rows_);
  known.lo = std::max(known.lo, lo);
  known.length = opening.base + keep;
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

Status TailRingPlane::can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept {
  State const& known = sequences_[sequence];
  if (open_pool(length) == length || open_pool(length) >= known.lo) {
    return {};
  }
  HOLDFAST_SOMETIMES(kRingTruncateRefused, true);
  return Error{.code = ErrorCode::kRefused,
               .text = "the rows of the open pool are no longer resident; roll back to a snapshot",
               .subject = name_,
               .got = open_pool(length),
               .limit = known.lo};
}

void TailRingPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(length <= known.length);
  known.length = length;
  known.lo = std::min(known.lo, length);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

void TailRingPlane::hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept {
  State& known = sequences_[sequence];
  Held& held = snapshots_[snapshot];
  HOLDFAST_ASSERT(known.base_page == 0);
  HOLDFAST_ASSERT(held.page == 0);
  held = {.length = known.length, .page = 0};
  if (known.length % pool_ != 0 && !HOLDFAST_MUTANT(kTailRowsNotHeld)) {
    held.page = table(sequence)[entry_of(known.length - 1)];
    pages_.retain(held.page);
    pages_.set_shared_lap(held.page, (known.length - 1) / ring_rows_);
  }
  known.sealed = std::max(known.sealed, known.length);
}

void TailRingPlane::load(std::uint32_t snapshot,
                         Owner owner,
                         LoadKind kind,
                         StepWork& step) noexcept {
  Held const& held = snapshots_[snapshot];
  State& known = sequences_[owner.index];
  auto const pages = table(owner.index);
  HOLDFAST_ASSERT(known.base_page == 0);
  if (held.page != 0) {
    pages_.retain(held.page);
  }
  for (std::uint32_t& page : pages) {
    if (page != 0) {
      if (page == held.page) {
        pages_.release(page);  // it stays, and so does the writer's mark
      } else {
        give_up(owner, page);
      }
      page = 0;
    }
  }
  if (held.page != 0) {
    std::uint32_t const entry = entry_of(held.length - 1);
    pages[entry] = held.page;
    step.patch(device_table(owner.index) + entry, held.page);
  }
  known.length = held.length;
  known.lo = open_pool(held.length);
  known.sealed = kind == LoadKind::kFork ? held.length : std::max(known.sealed, held.length);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

void TailRingPlane::drop(std::uint32_t snapshot) noexcept {
  if (snapshots_[snapshot].page != 0) {
    pages_.release(snapshots_[snapshot].page);
  }
  snapshots_[snapshot] = {};
}

void TailRingPlane::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  HOLDFAST_ASSERT(snapshot != entry);
  HOLDFAST_ASSERT(snapshots_[entry].page == 0);
  // The page is in the lap in which the snapshot shared it: whoever writes it later was kept off.
  snapshots_[entry] = snapshots_[snapshot];
  if (snapshots_[entry].page != 0) {
    pages_.retain(snapshots_[entry].page);
  }
}

Status TailRingPlane::can_restore(std::uint32_t entry, std::uint32_t length) const noexcept {
  Held const& held = snapshots_[entry];
  std::uint32_t const edge = open_pool(length);
  if (edge == length || (held.page != 0 && edge == open_pool(held.length)) ||
      HOLDFAST_MUTANT(kRestoreInsideAnyPool)) {
    return {};
  }
  return Error{.code = ErrorCode::kRefused,
               .text = "the rows of its open pool are not held",
               .subject = name_,
               .got = length,
               .limit = edge};
}

void TailRingPlane::restore(std::uint32_t entry,
                            Owner owner,
                            std::uint32_t length,
                            StepWork& step) noexcept {
  Held const& held = snapshots_[entry];
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  sequences_[owner.index] = {
      .length = length, .lo = open_pool(length), .sealed = length, .base_page = 0};
  if (length % pool_ != 0 && held.page != 0) {
    HOLDFAST_SOMETIMES(kRingPageRestored, true);
    std::uint32_t const slot = entry_of(length - 1);
    pages_.retain(held.page);
    table(owner.index)[slot] = held.page;
    step.patch(device_table(owner.index) + slot, held.page);
  }
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

void TailRingPlane::serialize(std::uint32_t entry,
                              std::uint32_t layer_index,
                              PieceSink& sink) const noexcept {
  Held const& held = snapshots_[entry];
  std::uint32_t const rows = held.length % pool_;
  if (rows != 0) {
    HOLDFAST_ASSERT(held.page != 0);
    std::uint64_t const first = std::uint64_t{open_pool(held.length) % page_rows_} * row_bytes_;
    sink.piece(pages_.address(held.page) + layer_index * strip_bytes_ + first,
               std::uint64_t{rows} * row_bytes_);
  }
}

void TailRingPlane::deserialize(std::uint32_t entry, std::uint32_t length) noexcept {
  constexpr storage::WriterMark kNobody = 0;
  HOLDFAST_ASSERT(snapshots_[entry].page == 0);
  snapshots_[entry] = {.length = length, .page = length % pool_ != 0 ? pages_.take(kNobody) : 0};
}

void TailRingPlane::release(Owner owner) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  for (std::uint32_t& page : table(owner.index)) {
    if (page != 0) {
      give_up(owner, page);
      page = 0;
    }
  }
  sequences_[owner.index] = {};
}

bool TailRingPlane::has_needed(std::uint32_t sequence) const noexcept {
  State const& known = sequences_[sequence];
  std::uint32_t const first = open_pool(known.length);
  return first == known.length ||
         (known.lo <= first && table(sequence)[entry_of(known.length - 1)] != 0);
}

bool TailRingPlane::audit() const noexcept {
  base::Tally held;
  bool is_sound = true;
  for (std::uint32_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    State const& known = sequences_[sequence];
    is_sound = is_sound && known.lo <= known.length && has_needed(sequence);
    if (known.base_page != 0) {
      held.add(known.base_page);
    }
    for (std::uint32_t const page : table(sequence)) {
      if (page != 0) {
        held.add(page);
      }
    }
  }
  for (std::uint32_t snapshot = 0; snapshot < snapshots_.size(); ++snapshot) {
    Held const& known = snapshots_[snapshot];
    if (known.page != 0) {
      held.add(known.page);
      // What it sees is sealed against the page's writer, in the lap in which it was shared.
      storage::WriterMark const mark = pages_.writer(known.page);
      is_sound = is_sound &&
                 (mark == 0 || known.length <= sequences_[static_cast<std::uint32_t>(mark)].sealed);
    }
  }
  return is_sound && pages_.audit(held);
}

}  // namespace holdfast::internal::planes
