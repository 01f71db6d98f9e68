// SPDX-License-Identifier: Apache-2.0
// Movements of the windowed planes; included by the source of each class that is one.
#pragma once

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "base/tally.hpp"
#include "planes/windowed_plane.hpp"

namespace holdfast::internal::planes {

template <Window W>
Status WindowedPlane<W>::check(StateDescription const& state, LayerRules const& rules) noexcept {
  return rules.refuse(name_of(state.kind), "is a state, though its rule keeps rows");
}

template <Window W>
EntryShape WindowedPlane<W>::entry_shape(ClassPlan const& known, std::uint32_t length) noexcept {
  HOLDFAST_ASSERT(known.page_rows != 0);
  std::uint32_t const first = W{known, 0}.first_needed(length);
  HOLDFAST_ASSERT(first <= length);
  std::uint32_t const pages =
      first == length ? 0 : (length - 1) / known.page_rows + 1 - first / known.page_rows;
  return {.rows = length - first,
          .row_bytes = known.layer_row_bytes() * known.layer_count,
          .pages = pages};
}

template <Window W>
bool WindowedPlane<W>::create(Plan const& plan,
                              std::uint32_t plane,
                              PlaneMemory const& memory) noexcept {
  ClassPlan const& known = plan.classes[plane];
  HOLDFAST_ASSERT(known.entries != 0);
  HOLDFAST_ASSERT(memory.device_table != nullptr);
  plane_ = plane;
  name_ = name_of(known.kind);
  entries_ = known.entries;
  held_limit_ = W::held_pages(known);
  HOLDFAST_ASSERT(held_limit_ != 0);
  page_rows_ = base::Divisor{known.page_rows};
  window_ = W{known, plan.largest_round};
  strips_ = known.strips;
  device_table_ = memory.device_table;
  return pages_.create(memory.pages, known.page_bytes, known.pages) &&
         sequences_.create(plan.sequence_limit) && lengths_.create(plan.snapshot_limit) &&
         held_.create(std::uint64_t{plan.snapshot_limit} * held_limit_) &&
         tables_.create(std::uint64_t{plan.sequence_limit} * entries_);
}

template <Window W>
PlaneState WindowedPlane<W>::state(Holder holder) const noexcept {
  if (holder.kind == HolderKind::kSnapshot) {
    std::uint32_t const length = lengths_[holder.index];
    return {.length = length, .lo = window_.first_needed(length), .pages = entries_for(length)};
  }
  State const& known = sequences_[holder.index];
  return {.length = known.length,
          .sealed = known.sealed,
          .lo = known.lo,
          .pages = W::kWraps ? entries_ : known.pages};
}

template <Window W>
typename WindowedPlane<W>::NeededPages WindowedPlane<W>::needed_pages(
    std::uint32_t length) const noexcept {
  std::uint32_t const first = window_.first_needed(length);
  HOLDFAST_ASSERT(first <= length);
  return {.first = first / page_rows_,
          .count = first == length ? 0 : (length - 1) / page_rows_ + 1 - first / page_rows_};
}

template <Window W>
std::uint32_t WindowedPlane<W>::page_at(Holder holder, std::uint32_t entry) const noexcept {
  if (entry >= entries_) {
    return 0;
  }
  if (holder.kind == HolderKind::kSequence) {
    return table(holder.index)[entry];
  }
  NeededPages const needed = needed_pages(lengths_[holder.index]);
  for (std::uint32_t i = 0; i < needed.count; ++i) {
    if (entry_of_page(needed.first + i) == entry) {
      return held(holder.index)[i];
    }
  }
  return 0;
}

template <Window W>
std::span<std::uint32_t> WindowedPlane<W>::used(std::uint32_t sequence,
                                                std::uint32_t& first) noexcept {
  State const& known = sequences_[sequence];
  first = W::kWraps ? 0 : known.lo / page_rows_;
  std::uint32_t const last = W::kWraps ? entries_ : std::max(first, known.pages);
  HOLDFAST_ASSERT(first <= last);
  HOLDFAST_ASSERT(last <= entries_);
  return table(sequence).subspan(first, last - first);
}

template <Window W>
void WindowedPlane<W>::start(Owner owner, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  sequences_[owner.index] = {};
}

template <Window W>
bool WindowedPlane<W>::is_long(Opening const& opening) const noexcept {
  return opening.rows > window_.view_limit(opening.base) &&
         window_.first_needed(opening.base) != opening.base;
}

/// Calls `visit(entry)` for the entries that open rows fall on, from that of the first one on, around the
/// end of the table.
template <Window W>
template <typename Visit>
void WindowedPlane<W>::for_each_touched(Opening const& opening, Visit visit) const noexcept {
  std::uint32_t const pages =
      opening.rows == 0 ? 0 : base::ceil_div(opening.base % page_rows_ + opening.rows, page_rows_);
  std::uint32_t entry = entry_of(opening.base);
  HOLDFAST_ASSERT(entry < entries_ || pages == 0);
  for (std::uint32_t left = std::min(pages, entries_); left != 0; --left) {
    visit(entry);
    entry = entry + 1 == entries_ ? 0 : entry + 1;
  }
}

/// Whether every open row that falls on entry `entry` may go to the page that is there.
template <Window W>
bool WindowedPlane<W>::may_write(Owner owner,
                                 Opening const& opening,
                                 std::uint32_t entry) const noexcept {
  std::uint32_t const page = table(owner.index)[entry];
  HOLDFAST_ASSERT(page != 0);
  if (is_long(opening) && entry == entry_of(opening.base - 1)) {
    return false;  // the base's needed rows stay where they are until the handle closes
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
  bool const one_lap =
      HOLDFAST_MUTANT(kRingOneLapAssumed) ||
      first / page_rows_ * page_rows_ + window_.span() >= opening.base + opening.rows;
  bool const same_lap = (one_lap && window_.lap(first) == pages_.shared_lap(page)) ||
                        HOLDFAST_MUTANT(kRingLapIgnored);
  bool const is_open = first >= sequences_[owner.index].sealed;
  HOLDFAST_SOMETIMES(kRingMetTwice, is_open && !one_lap);
  HOLDFAST_SOMETIMES(kRingOtherLap, is_open && one_lap && !same_lap);
  return is_open && same_lap;
}

template <Window W>
std::uint32_t WindowedPlane<W>::need(Owner owner, Opening const& opening) const noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  std::uint32_t pages = 0;
  for_each_touched(opening, [&](std::uint32_t entry) {
    if (table(owner.index)[entry] == 0 || !may_write(owner, opening, entry)) {
      ++pages;
    }
  });
  return pages;
}

template <Window W>
void WindowedPlane<W>::give_up(Owner owner, std::uint32_t page) noexcept {
  HOLDFAST_ASSERT(page != 0);
  pages_.clear_writer(page, owner.mark);
  pages_.release(page);
}

/// Copies the resident rows of a page; where rows wrap around these are at most two runs: what the last lap
/// wrote from the entry's start, and what the lap before left above.
template <Window W>
void WindowedPlane<W>::copy_resident(Owner owner,
                                     std::uint32_t entry,
                                     std::uint32_t fresh,
                                     std::uint32_t old,
                                     StepWork& step) noexcept {
  HOLDFAST_ASSERT(fresh != old);
  State const& known = sequences_[owner.index];
  std::uint32_t run = 0;
  std::uint32_t runs = 0;
  for (std::uint32_t offset = 0; offset <= page_rows_; ++offset) {
    bool resident = false;
    if (offset < page_rows_) {
      std::uint32_t const place = entry * page_rows_ + offset;
      resident = known.length > place && window_.last_at(place, known.length) >= known.lo;
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

template <Window W>
void WindowedPlane<W>::open(Owner owner, Opening const& opening, StepWork& step) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  HOLDFAST_VERIFY_THAT(sequences_[owner.index].length == opening.base);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
  copy_on_write(owner, opening, step);
  take_missing(owner, opening, step);
  State& known = sequences_[owner.index];
  known.pages = std::max(known.pages, entries_for(opening.base + opening.rows));
  HOLDFAST_ASSERT(known.pages <= entries_);
}

template <Window W>
void WindowedPlane<W>::copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept {
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

template <Window W>
void WindowedPlane<W>::take_missing(Owner owner, Opening const& opening, StepWork& step) noexcept {
  auto const pages = table(owner.index);
  for_each_touched(opening, [&](std::uint32_t entry) {
    if (pages[entry] == 0) {
      pages[entry] = pages_.take(owner.mark);
      step.patch(device_table(owner.index) + entry, pages[entry]);
    }
  });
}

/// The page that a long handle held for its base comes back when nothing is kept.
template <Window W>
void WindowedPlane<W>::end_long(Owner owner, Closing const& closing, StepWork& step) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(known.base_page != 0);
  HOLDFAST_ASSERT(closing.opening.base != 0);
  if (closing.keep == 0) {
    HOLDFAST_SOMETIMES(kRingBaseReturned, true);
    std::uint32_t const entry = entry_of(closing.opening.base - 1);
    give_up(owner, table(owner.index)[entry]);
    table(owner.index)[entry] = known.base_page;
    pages_.clear_writer(known.base_page, owner.mark);
    step.patch(device_table(owner.index) + entry, known.base_page);
  } else {
    give_up(owner, known.base_page);
  }
  known.base_page = 0;
}

template <Window W>
void WindowedPlane<W>::close(Owner owner, Closing const& closing, StepWork& step) noexcept {
  HOLDFAST_ASSERT(closing.keep <= closing.opening.rows);
  HOLDFAST_ASSERT(closing.reached >= closing.opening.base);
  State& known = sequences_[owner.index];
  if (known.base_page != 0) {
    end_long(owner, closing, step);
  }
  std::uint32_t const length = closing.opening.base + closing.keep;
  std::uint32_t const left = window_.first_left(closing);
  HOLDFAST_SOMETIMES(
      kRingRejectedCount,
      W::kWraps && closing.opening.round && left > known.lo && length < left + window_.span());
  keep_rows(owner, std::max(known.lo, left), length, step);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

template <Window W>
Status WindowedPlane<W>::can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept {
  std::uint32_t const needed = window_.first_needed(length);
  std::uint32_t const lo = sequences_[sequence].lo;
  if (needed == length || needed >= lo) {
    return {};
  }
  HOLDFAST_SOMETIMES(kRingTruncateRefused, true);
  return Error{
      .code = ErrorCode::kRefused,
      .text = "the rows that it would need are no longer resident; roll back to a snapshot",
      .subject = name_,
      .got = needed,
      .limit = lo};
}

template <Window W>
void WindowedPlane<W>::truncate(Owner owner, std::uint32_t length, StepWork& step) noexcept {
  HOLDFAST_ASSERT(length <= sequences_[owner.index].length);
  keep_rows(owner, std::min(sequences_[owner.index].lo, length), length, step);
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

template <Window W>
void WindowedPlane<W>::keep_rows(Owner owner,
                                 std::uint32_t lo,
                                 std::uint32_t length,
                                 [[maybe_unused]] StepWork& step) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_VERIFY_THAT(lo <= length);
  if constexpr (!W::kWraps) {
    std::uint32_t entry = 0;
    for (std::uint32_t& page : used(owner.index, entry)) {
      bool const is_below = (entry + 1) * page_rows_ <= lo;
      if (page != 0 && (is_below || entry >= entries_for(length))) {
        give_up(owner, page);
        page = 0;
        if (is_below) {
          step.patch(device_table(owner.index) + entry, 0);
        }
      }
      ++entry;
    }
    known.pages = entries_for(length);
  }
  known.lo = lo;
  known.length = length;
}

template <Window W>
void WindowedPlane<W>::hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept {
  State& known = sequences_[sequence];
  HOLDFAST_ASSERT(known.base_page == 0);
  NeededPages const needed = needed_pages(known.length);
  lengths_[snapshot] = known.length;
  auto const pages = held(snapshot);
  HOLDFAST_ASSERT(needed.count <= held_limit_);
  HOLDFAST_ASSERT(pages[0] == 0);
  for (std::uint32_t i = 0; i < needed.count && !HOLDFAST_MUTANT(kTailRowsNotHeld); ++i) {
    pages[i] = table(sequence)[entry_of_page(needed.first + i)];
    pages_.retain(pages[i]);
    pages_.set_shared_lap(pages[i], window_.lap((needed.first + i) * page_rows_));
  }
  known.sealed = std::max(known.sealed, known.length);
}

/// The sequence, which has no page, gets those that the snapshot or entry holds for `length`.
template <Window W>
void WindowedPlane<W>::take_held(std::uint32_t snapshot,
                                 Owner owner,
                                 std::uint32_t length,
                                 StepWork& step) noexcept {
  HOLDFAST_VERIFY_THAT(length <= lengths_[snapshot]);
  NeededPages const needed = needed_pages(length);
  NeededPages const all = needed_pages(lengths_[snapshot]);
  State& known = sequences_[owner.index];
  std::uint32_t* const device = device_table(owner.index);
  if constexpr (!W::kWraps) {
    for (std::uint32_t entry = known.lo / page_rows_; entry < needed.first; ++entry) {
      step.patch(device + entry, 0);
    }
  }
  for (std::uint32_t i = 0; i < needed.count; ++i) {
    std::uint32_t const at = needed.first + i - all.first;
    std::uint32_t const page = at < all.count ? held(snapshot)[at] : 0;
    if (page != 0) {
      std::uint32_t const entry = entry_of_page(needed.first + i);
      table(owner.index)[entry] = page;
      pages_.retain(page);
      step.patch(device + entry, page);
    }
  }
  known.pages = entries_for(length);
  known.lo = window_.first_needed(length);
  known.length = length;
  HOLDFAST_VERIFY_THAT(has_needed(owner.index));
}

template <Window W>
void WindowedPlane<W>::load(std::uint32_t snapshot,
                            Owner owner,
                            LoadKind kind,
                            StepWork& step) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  std::uint32_t entry = 0;
  for (std::uint32_t& page : used(owner.index, entry)) {
    if (page != 0) {
      if (page == page_at({HolderKind::kSnapshot, snapshot}, entry)) {
        pages_.release(page);  // it stays, and so does the writer's mark
      } else {
        give_up(owner, page);
      }
      page = 0;
    }
    ++entry;
  }
  std::uint32_t const length = lengths_[snapshot];
  take_held(snapshot, owner, length, step);
  std::uint32_t& sealed = sequences_[owner.index].sealed;
  sealed = kind == LoadKind::kFork ? length : std::max(sealed, length);
}

template <Window W>
void WindowedPlane<W>::drop(std::uint32_t snapshot) noexcept {
  for (std::uint32_t& page : held(snapshot)) {
    if (page != 0) {
      pages_.release(page);
    }
    page = 0;
  }
  lengths_[snapshot] = 0;
}

template <Window W>
void WindowedPlane<W>::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  HOLDFAST_ASSERT(snapshot != entry);
  HOLDFAST_ASSERT(held(entry)[0] == 0);
  // The pages are in the lap in which the snapshot shared them: whoever writes one later was kept off.
  lengths_[entry] = lengths_[snapshot];
  for (std::uint32_t i = 0; i < held_limit_; ++i) {
    held(entry)[i] = held(snapshot)[i];
    if (held(entry)[i] != 0) {
      pages_.retain(held(entry)[i]);
    }
  }
}

template <Window W>
Status WindowedPlane<W>::can_restore(std::uint32_t entry, std::uint32_t length) const noexcept {
  HOLDFAST_ASSERT(entry != 0);
  auto const is_usable = [&](std::uint32_t rows) {
    std::uint32_t const needed = window_.first_needed(rows);
    return needed == rows || needed >= window_.first_needed(lengths_[entry]);
  };
  if (is_usable(length) || HOLDFAST_MUTANT(kRestoreInsideAnyPool)) {
    return {};
  }
  // A length between would need rows below those that this one needs, which are not held either.
  std::uint32_t shorter = length;
  do {
    shorter = window_.first_needed(shorter);
  } while (!is_usable(shorter));
  return Error{.code = ErrorCode::kRefused,
               .text = "the rows that it needs are not held",
               .subject = name_,
               .got = length,
               .limit = shorter};
}

template <Window W>
void WindowedPlane<W>::restore(std::uint32_t entry,
                               Owner owner,
                               std::uint32_t length,
                               StepWork& step) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  HOLDFAST_SOMETIMES(kRingPageRestored, needed_pages(length).count != 0);
  sequences_[owner.index] = {};
  take_held(entry, owner, length, step);
  sequences_[owner.index].sealed = length;
}

template <Window W>
void WindowedPlane<W>::serialize(std::uint32_t entry,
                                 std::uint32_t layer_index,
                                 PieceSink& sink) const noexcept {
  std::uint32_t const length = lengths_[entry];
  NeededPages const needed = needed_pages(length);
  for (Strip const& strip : strips_) {
    std::uint64_t const offset = layer_index * strips_.layer_bytes + strip.offset;
    std::uint32_t row = window_.first_needed(length);
    for (std::uint32_t i = 0; i < needed.count; ++i) {
      HOLDFAST_ASSERT(held(entry)[i] != 0);
      std::uint32_t const end = std::min(length, (needed.first + i + 1) * page_rows_);
      sink.piece(pages_.address(held(entry)[i]) + offset +
                     std::uint64_t{row % page_rows_} * strip.row_bytes,
                 std::uint64_t{strip.row_bytes} * (end - row));
      row = end;
    }
  }
}

template <Window W>
void WindowedPlane<W>::deserialize(std::uint32_t entry, std::uint32_t length) noexcept {
  constexpr storage::WriterMark kNobody = 0;
  HOLDFAST_ASSERT(held(entry)[0] == 0);
  HOLDFAST_ASSERT(needed_pages(length).count <= held_limit_);
  lengths_[entry] = length;
  for (std::uint32_t& page : held(entry).first(needed_pages(length).count)) {
    page = pages_.take(kNobody);
  }
}

template <Window W>
void WindowedPlane<W>::release(Owner owner) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(sequences_[owner.index].base_page == 0);
  std::uint32_t first = 0;
  for (std::uint32_t& page : used(owner.index, first)) {
    if (page != 0) {
      give_up(owner, page);
      page = 0;
    }
  }
  sequences_[owner.index] = {};
}

template <Window W>
bool WindowedPlane<W>::has_needed(std::uint32_t sequence) const noexcept {
  State const& known = sequences_[sequence];
  NeededPages const needed = needed_pages(known.length);
  bool has_all = needed.count == 0 || known.lo <= window_.first_needed(known.length);
  for (std::uint32_t i = 0; i < needed.count; ++i) {
    has_all = has_all && table(sequence)[entry_of_page(needed.first + i)] != 0;
  }
  return has_all;
}

template <Window W>
bool WindowedPlane<W>::is_sealed(std::uint32_t snapshot) const noexcept {
  auto const pages = held(snapshot);
  return std::all_of(pages.begin(), pages.end(), [&](std::uint32_t page) {
    storage::WriterMark const mark = page == 0 ? 0 : pages_.writer(page);
    return mark == 0 || lengths_[snapshot] <= sequences_[static_cast<std::uint32_t>(mark)].sealed;
  });
}

template <Window W>
bool WindowedPlane<W>::audit() const noexcept {
  base::Tally holders;
  bool is_sound = true;
  auto const count = [&](std::uint32_t page) {
    if (page != 0) {
      holders.add(page);
    }
  };
  for (std::uint32_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    State const& known = sequences_[sequence];
    is_sound = is_sound && known.lo <= known.length && has_needed(sequence);
    count(known.base_page);
    std::for_each(table(sequence).begin(), table(sequence).end(), count);
  }
  for (std::uint32_t snapshot = 0; snapshot < lengths_.size(); ++snapshot) {
    std::for_each(held(snapshot).begin(), held(snapshot).end(), count);
    is_sound = is_sound && is_sealed(snapshot);
  }
  return is_sound && pages_.audit(holders);
}

}  // namespace holdfast::internal::planes
