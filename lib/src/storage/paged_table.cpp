// SPDX-License-Identifier: Apache-2.0
// The writer and sealed rules, copy-on-write, and chunk sharing.
#include "storage/paged_table.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"

namespace holdfast::internal::storage {

using base::ceil_div;

bool PagedTable::create(Plan const& plan,
                        std::uint32_t plane,
                        std::byte* pages,
                        std::uint32_t* device_table) noexcept {
  HOLDFAST_ASSERT(plane < plan.class_count);
  ClassPlan const& known = plan.classes[plane];
  HOLDFAST_ASSERT(known.pages != 0);
  plane_ = plane;
  page_rows_ = base::Divisor{known.page_rows};
  chunk_pages_ = base::Divisor{plan.chunk_pages};
  entries_ = known.entries;
  chunk_limit_ = ceil_div(known.entries, chunk_pages_);
  device_table_ = device_table;
  // Every reference of every holder to a chunk of its own, and one while a private copy replaces a
  // shared one.
  std::uint64_t const chunks =
      (std::uint64_t{plan.sequence_limit} + plan.snapshot_limit) * chunk_limit_ + 1;
  return pages_.create(pages, known.page_bytes, known.pages) &&
         chunks_.create(static_cast<std::uint32_t>(chunks), plan.chunk_pages) &&
         sequences_.create(plan.sequence_limit) && snapshots_.create(plan.snapshot_limit) &&
         sequence_ids_.create(std::uint64_t{plan.sequence_limit} * chunk_limit_) &&
         snapshot_ids_.create(std::uint64_t{plan.snapshot_limit} * chunk_limit_);
}

bool PagedTable::held_alone(std::uint32_t sequence, std::uint32_t entry) const noexcept {
  HOLDFAST_ASSERT(entry < sequences_[sequence].pages);
  std::uint32_t const chunk = chunk_at({HolderKind::kSequence, sequence}, entry / chunk_pages_);
  return chunks_.references(chunk) == 1 &&
         pages_.references(chunks_.pages(chunk)[entry % chunk_pages_]) == 1;
}

/// Of a page that others may hold too.
bool PagedTable::may_write(Owner owner, std::uint32_t entry, std::uint32_t row) const noexcept {
  HOLDFAST_ASSERT(owner.mark != 0);
  HOLDFAST_ASSERT(row / page_rows_ == entry);
  return (pages_.writer(page_of(owner.index, entry)) == owner.mark &&
          row >= sequences_[owner.index].sealed) ||
         HOLDFAST_MUTANT(kAliasInsteadOfCopy);
}

std::uint32_t PagedTable::pages_needed(Owner owner,
                                       std::uint32_t from,
                                       std::uint32_t to) const noexcept {
  HOLDFAST_ASSERT(from <= to);
  if (from == to) {
    return 0;
  }
  HOLDFAST_ASSERT(to <= entries_ * page_rows_);
  HOLDFAST_ASSERT(pages_of(from) <= sequences_[owner.index].pages);
  std::uint32_t const fresh = ceil_div(to, page_rows_) - ceil_div(from, page_rows_);
  std::uint32_t const entry = from / page_rows_;
  bool const copies =
      from % page_rows_ != 0 && !held_alone(owner.index, entry) && !may_write(owner, entry, from);
  return fresh + (copies || HOLDFAST_MUTANT(kNeedOnePageMore) ? 1 : 0);
}

void PagedTable::copy_on_write(Owner owner,
                               std::uint32_t from,
                               std::uint32_t to,
                               StepWork& step) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(from <= to);
  if (from == to || from % page_rows_ == 0) {
    return;
  }
  std::uint32_t const entry = from / page_rows_;
  if (held_alone(owner.index, entry)) {
    pages_.set_writer(page_of(owner.index, entry), owner.mark);
    std::uint32_t& sealed = sequences_[owner.index].sealed;
    HOLDFAST_SOMETIMES(kSealedLowered, from < sealed);
    sealed = std::min(sealed, from);
  } else if (may_write(owner, entry, from)) {
    HOLDFAST_SOMETIMES(kPageWrittenByWriter, true);
  } else {
    copy_page(owner, from, step);
  }
  HOLDFAST_VERIFY_THAT(held_alone(owner.index, entry) || may_write(owner, entry, from));
}

void PagedTable::extend(Owner owner, std::uint32_t rows, StepWork& step) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(rows <= entries_ * page_rows_);
  while (sequences_[owner.index].pages < ceil_div(rows, page_rows_)) {
    append_page(owner, step);
  }
}

void PagedTable::make_private(std::uint32_t sequence, std::uint32_t chunk_entry) noexcept {
  HOLDFAST_ASSERT(chunk_entry < sequences_[sequence].chunks);
  std::uint32_t& id = sequence_ids(sequence)[chunk_entry];
  HOLDFAST_ASSERT(chunks_.references(id) != 0);
  if (chunks_.references(id) == 1 || HOLDFAST_MUTANT(kSharedChunkWritten)) {
    return;
  }
  HOLDFAST_SOMETIMES(kChunkMadePrivate, true);
  std::uint32_t const fresh = chunks_.take();
  for (std::uint32_t const page : chunks_.pages(id)) {
    pages_.retain(page);
    chunks_.push(fresh, page);
  }
  HOLDFAST_ASSERT(chunks_.used(fresh) == chunks_.used(id));
  release_chunk(id);
  id = fresh;
  HOLDFAST_ASSERT(chunks_.references(id) == 1);
}

void PagedTable::append_page(Owner owner, StepWork& step) noexcept {
  Table& table = sequences_[owner.index];
  std::uint32_t const entry = table.pages;
  HOLDFAST_ASSERT(entry < entries_);
  if (entry % chunk_pages_ == 0) {
    sequence_ids(owner.index)[table.chunks++] = chunks_.take();
  } else {
    make_private(owner.index, entry / chunk_pages_);
  }
  HOLDFAST_ASSERT(static_cast<std::uint32_t>(owner.mark) == owner.index);
  std::uint32_t const page = pages_.take(owner.mark);
  chunks_.push(sequence_ids(owner.index)[entry / chunk_pages_], page);
  ++table.pages;
  HOLDFAST_VERIFY_THAT(page_of(owner.index, entry) == page);
  if (entry % chunk_pages_ != 0 || !HOLDFAST_MUTANT(kFreshPageNotPublished)) {
    step.patch(device_table(owner.index) + entry, page);
  }
}

void PagedTable::copy_page(Owner owner, std::uint32_t row, StepWork& step) noexcept {
  std::uint32_t const entry = row / page_rows_;
  HOLDFAST_ASSERT(row % page_rows_ != 0);
  HOLDFAST_SOMETIMES(kPageCopied, true);
  make_private(owner.index, entry / chunk_pages_);
  std::uint32_t const old = page_of(owner.index, entry);
  std::uint32_t const fresh = pages_.take(owner.mark);
  HOLDFAST_ASSERT(fresh != old);
  // Only the rows that this sequence may see; the rest of the old page may be another holder's.
  std::uint32_t rows = row % page_rows_;
  if (HOLDFAST_MUTANT(kCopyOneRowShort)) {
    --rows;
  } else if (HOLDFAST_MUTANT(kCopyRowsAbove)) {
    rows = page_rows_;
  }
  step.copy_rows(
      {.plane = plane_, .destination = fresh, .source = old, .first_row = 0, .rows = rows});
  chunks_.replace(sequence_ids(owner.index)[entry / chunk_pages_], entry % chunk_pages_, fresh);
  pages_.clear_writer(old, owner.mark);
  pages_.release(old);
  sequences_[owner.index].sealed = row;
  HOLDFAST_VERIFY_THAT(page_of(owner.index, entry) == fresh);
  if (!HOLDFAST_MUTANT(kStaleTableAfterCopy)) {
    step.patch(device_table(owner.index) + entry, fresh);
  }
}

void PagedTable::cut(Owner owner, std::uint32_t rows) noexcept {
  Table& table = sequences_[owner.index];
  HOLDFAST_ASSERT(table.chunks == ceil_div(table.pages, chunk_pages_));
  std::uint32_t const want =
      HOLDFAST_MUTANT(kBoundaryPageKept) ? rows / page_rows_ + 1 : ceil_div(rows, page_rows_);
  if (want >= table.pages) {
    return;
  }
  for (std::uint32_t entry = want; entry < table.pages; ++entry) {
    pages_.clear_writer(page_of(owner.index, entry), owner.mark);
  }
  std::uint32_t const keep_chunks = ceil_div(want, chunk_pages_);
  while (table.chunks > keep_chunks) {
    release_chunk(sequence_ids(owner.index)[--table.chunks]);
  }
  std::uint32_t const in_last = want - (keep_chunks == 0 ? 0 : (keep_chunks - 1) * chunk_pages_);
  if (keep_chunks != 0 && chunks_.used(sequence_ids(owner.index)[keep_chunks - 1]) > in_last) {
    HOLDFAST_SOMETIMES(kSharedChunkCut,
                       chunks_.references(sequence_ids(owner.index)[keep_chunks - 1]) > 1);
    make_private(owner.index, keep_chunks - 1);
    std::uint32_t const last = sequence_ids(owner.index)[keep_chunks - 1];
    while (chunks_.used(last) > in_last) {
      pages_.release(chunks_.pop(last));
    }
  }
  table.pages = want;
  HOLDFAST_ASSERT(table.chunks == keep_chunks);
}

void PagedTable::release_chunk(std::uint32_t chunk) noexcept {
  HOLDFAST_ASSERT(chunks_.references(chunk) != 0);
  if (chunks_.references(chunk) == 1) {
    for (std::uint32_t const page : chunks_.pages(chunk)) {
      pages_.release(page);
    }
  }
  static_cast<void>(chunks_.release(chunk));
}

void PagedTable::hold(std::uint32_t sequence, std::uint32_t snapshot, std::uint32_t rows) noexcept {
  Table& source = sequences_[sequence];
  Table& target = snapshots_[snapshot];
  HOLDFAST_ASSERT(target.chunks == 0);
  HOLDFAST_ASSERT(source.pages == pages_of(rows));  // every page below, and none above
  target = {.rows = rows, .sealed = 0, .pages = source.pages, .chunks = source.chunks};
  auto const to = snapshot_ids_.span(std::uint64_t{snapshot} * chunk_limit_, chunk_limit_);
  auto const from = sequence_ids(sequence);
  for (std::uint32_t entry = 0; entry < source.chunks; ++entry) {
    to[entry] = from[entry];
    chunks_.retain(from[entry]);
  }
  if (!HOLDFAST_MUTANT(kSealedNotRaised)) {
    source.sealed = std::max(source.sealed, rows);
  }
  HOLDFAST_VERIFY_THAT(rows <= source.sealed);
}

void PagedTable::load(std::uint32_t snapshot, Owner owner, bool fresh, StepWork& step) noexcept {
  Table const& source = snapshots_[snapshot];
  Table& target = sequences_[owner.index];
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(!fresh || target.chunks == 0);
  auto const from = snapshot_ids_.span(std::uint64_t{snapshot} * chunk_limit_, chunk_limit_);
  auto const to = sequence_ids(owner.index);
  std::uint32_t const chunks = std::max(source.chunks, target.chunks);
  for (std::uint32_t entry = 0; entry < chunks; ++entry) {
    bool const had = entry < target.chunks;
    bool const has = entry < source.chunks;
    if (had && has && to[entry] == from[entry]) {
      HOLDFAST_SOMETIMES(kRollbackKeptChunk, true);
      continue;  // the same chunk names the same pages, on the device too
    }
    if (has) {
      chunks_.retain(from[entry]);
    }
    auto const pages = has ? chunks_.pages(from[entry]) : std::span<std::uint32_t const>{};
    auto const old = had ? chunks_.pages(to[entry]) : std::span<std::uint32_t const>{};
    for (std::uint32_t i = 0; i < old.size(); ++i) {
      if (i >= pages.size() || pages[i] != old[i]) {
        pages_.clear_writer(old[i], owner.mark);
      }
    }
    bool const is_run = !pages.empty() && old.empty() && chunks_.is_run(from[entry]) &&
                        !HOLDFAST_MUTANT(kStaleTableAfterRollback);
    if (is_run) {
      step.patch(device_table(owner.index) + std::uint64_t{entry} * chunk_pages_,
                 pages[0],
                 static_cast<std::uint32_t>(pages.size()));
    }
    for (std::uint32_t i = 0; i < pages.size() && !is_run; ++i) {
      if ((i >= old.size() || pages[i] != old[i]) && !HOLDFAST_MUTANT(kStaleTableAfterRollback)) {
        step.patch(device_table(owner.index) + std::uint64_t{entry} * chunk_pages_ + i, pages[i]);
      }
    }
    if (had) {
      release_chunk(to[entry]);
    }
    if (has) {
      to[entry] = from[entry];
    }
  }
  target.chunks = source.chunks;
  target.pages = source.pages;
  HOLDFAST_ASSERT(target.chunks == ceil_div(target.pages, chunk_pages_));
  target.sealed = fresh || HOLDFAST_MUTANT(kRollbackLowersSealed)
                      ? source.rows
                      : std::max(target.sealed, source.rows);
  HOLDFAST_ASSERT(source.rows <= target.sealed);
}

void PagedTable::drop_snapshot(std::uint32_t snapshot) noexcept {
  Table& table = snapshots_[snapshot];
  auto const ids = snapshot_ids_.span(std::uint64_t{snapshot} * chunk_limit_, chunk_limit_);
  for (std::uint32_t entry = 0; entry < table.chunks; ++entry) {
    if (entry + 1 == table.chunks && HOLDFAST_MUTANT(kSnapshotLeaksChunk)) {
      break;
    }
    release_chunk(ids[entry]);
  }
  HOLDFAST_ASSERT(table.pages <= entries_);
  table = {};
}

void PagedTable::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  Table& target = snapshots_[entry];
  HOLDFAST_ASSERT(snapshot != entry);
  HOLDFAST_ASSERT(target.chunks == 0);
  target = snapshots_[snapshot];
  auto const from = snapshot_ids_.span(std::uint64_t{snapshot} * chunk_limit_, chunk_limit_);
  auto const to = snapshot_ids_.span(std::uint64_t{entry} * chunk_limit_, chunk_limit_);
  for (std::uint32_t chunk = 0; chunk < target.chunks; ++chunk) {
    to[chunk] = from[chunk];
    chunks_.retain(from[chunk]);
  }
}

void PagedTable::restore(std::uint32_t entry,
                         Owner owner,
                         std::uint32_t rows,
                         StepWork& step) noexcept {
  Table const& source = snapshots_[entry];
  Table& target = sequences_[owner.index];
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(target.chunks == 0);
  auto const from = snapshot_ids_.span(std::uint64_t{entry} * chunk_limit_, chunk_limit_);
  auto const to = sequence_ids(owner.index);
  std::uint32_t const want = pages_of(rows);
  while (target.pages < want && target.chunks < source.chunks) {
    std::uint32_t const shared = from[target.chunks];
    auto const pages = chunks_.pages(shared);
    auto const used = std::min(static_cast<std::uint32_t>(pages.size()), want - target.pages);
    // Every holder of a chunk uses every page in it.
    if (used == pages.size() || HOLDFAST_MUTANT(kRestoreSharesLastChunk)) {
      chunks_.retain(shared);
      to[target.chunks] = shared;
    } else {
      HOLDFAST_SOMETIMES(kRestorePrivateChunk, true);
      std::uint32_t const fresh = chunks_.take();
      for (std::uint32_t const page : pages.first(used)) {
        pages_.retain(page);
        chunks_.push(fresh, page);
      }
      to[target.chunks] = fresh;
    }
    for (std::uint32_t i = 0; i < used; ++i) {
      step.patch(device_table(owner.index) + target.pages + i, pages[i]);
    }
    target.pages += used;
    ++target.chunks;
  }
  target.sealed = rows;
  HOLDFAST_ASSERT(target.chunks <= chunk_limit_);
  HOLDFAST_VERIFY_THAT(target.pages == want);
}

std::uint32_t PagedTable::pages_of(std::uint32_t rows) const noexcept {
  HOLDFAST_ASSERT(rows <= entries_ * page_rows_);
  return ceil_div(rows, page_rows_);
}

void PagedTable::take_entry(std::uint32_t entry, std::uint32_t rows) noexcept {
  constexpr WriterMark kNobody = 0;
  Table& table = snapshots_[entry];
  HOLDFAST_ASSERT(table.chunks == 0);
  auto const ids = snapshot_ids_.span(std::uint64_t{entry} * chunk_limit_, chunk_limit_);
  table = {.rows = rows, .sealed = 0, .pages = pages_of(rows), .chunks = 0};
  for (std::uint32_t page = 0; page < table.pages; ++page) {
    if (page % chunk_pages_ == 0) {
      ids[table.chunks++] = chunks_.take();
    }
    chunks_.push(ids[table.chunks - 1], pages_.take(kNobody));
  }
  HOLDFAST_ASSERT(table.chunks == ceil_div(table.pages, chunk_pages_));
}

void PagedTable::release_sequence(Owner owner) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  cut(owner, 0);
  HOLDFAST_VERIFY_THAT(sequences_[owner.index].chunks == 0);
  sequences_[owner.index] = {};
}

bool PagedTable::audit_table(Holder holder, base::Tally& chunks) const noexcept {
  Table const& known = table(holder);
  bool is_sound = known.pages <= entries_ && known.chunks == ceil_div(known.pages, chunk_pages_) &&
                  known.sealed <= entries_ * page_rows_ &&
                  (holder.kind == HolderKind::kSequence || known.pages == pages_of(known.rows));
  std::uint32_t pages = 0;
  for (std::uint32_t entry = 0; entry < known.chunks && is_sound; ++entry) {
    std::uint32_t const chunk = chunk_at(holder, entry);
    // Every holder of a chunk uses every page in it.
    is_sound = chunk < chunks_.count() && chunks_.references(chunk) != 0 &&
               (entry + 1 == known.chunks || chunks_.used(chunk) == chunk_pages_);
    pages += is_sound ? chunks_.used(chunk) : 0;
    chunks.add(chunk);
  }
  return is_sound && pages == known.pages;
}

bool PagedTable::audit_writers() const noexcept {
  // A mark is a sequence's that holds the page, and each sequence has a page once.
  std::uint64_t held = 0;
  for (std::uint32_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    for (std::uint32_t entry = 0; entry < sequences_[sequence].pages; ++entry) {
      WriterMark const mark = pages_.writer(page_of(sequence, entry));
      held += mark != 0 && static_cast<std::uint32_t>(mark) == sequence ? 1U : 0U;
    }
  }
  std::uint64_t marked = 0;
  for (std::uint32_t page = 1; page < pages_.count(); ++page) {
    marked += pages_.references(page) != 0 && pages_.writer(page) != 0 ? 1U : 0U;
  }
  // What a snapshot or entry sees of a page is sealed against its writer.
  bool is_sealed = true;
  for (std::uint32_t snapshot = 0; snapshot < snapshots_.size(); ++snapshot) {
    Table const& known = snapshots_[snapshot];
    for (std::uint32_t entry = 0; entry < known.pages; ++entry) {
      WriterMark const mark = pages_.writer(page_at({HolderKind::kSnapshot, snapshot}, entry));
      std::uint32_t const seen = std::min(known.rows, (entry + 1) * page_rows_);
      is_sealed = is_sealed && (mark == 0 || seen <= sealed(static_cast<std::uint32_t>(mark)));
    }
  }
  return held == marked && is_sealed;
}

bool PagedTable::audit() const noexcept {
  base::Tally chunks;
  bool is_sound = true;
  for (std::uint32_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    is_sound = audit_table({HolderKind::kSequence, sequence}, chunks) && is_sound;
  }
  for (std::uint32_t snapshot = 0; snapshot < snapshots_.size(); ++snapshot) {
    is_sound = audit_table({HolderKind::kSnapshot, snapshot}, chunks) && is_sound;
  }
  base::Tally pages;
  return is_sound && chunks_.audit(chunks, pages) && pages_.audit(pages) && audit_writers();
}

}  // namespace holdfast::internal::storage
