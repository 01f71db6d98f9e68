// SPDX-License-Identifier: Apache-2.0
// Movements of the addressed planes.
#include "planes/paged_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "storage/kind_names.hpp"

namespace holdfast::internal::planes {

using storage::is_named;

Status PagedPlane::check(RowsDescription const& rows, LayerRules const& rules) noexcept {
  return rows.ring_rows == 0 && rows.window_rows == 0
             ? Status{}
             : rules.refuse(name_of(rows.kind), "has a window, though its rule keeps every row");
}

Status PagedPlane::check(StateDescription const& state, LayerRules const& rules) noexcept {
  return rules.refuse(name_of(state.kind), "is a state, though its rule keeps rows");
}

ClassSize PagedPlane::size(ClassPlan const& known, Capacity const& capacity) noexcept {
  HOLDFAST_ASSERT(known.unit_tokens != 0);
  HOLDFAST_ASSERT(known.page_rows != 0);
  std::uint64_t const holders =
      std::uint64_t{capacity.sequences} + capacity.snapshots + capacity.entries;
  // Fewer tokens than a row stands for make no row, but a table has an entry.
  std::uint32_t const entries = std::max(
      1U, base::ceil_div(capacity.tokens / known.unit_tokens, base::Divisor{known.page_rows}));
  return {.entries = entries, .pages = capacity.pages != 0 ? capacity.pages : holders * entries};
}

EntryShape PagedPlane::entry_shape(ClassPlan const& known, std::uint32_t length) noexcept {
  HOLDFAST_ASSERT(known.unit_tokens != 0);
  std::uint32_t const rows = length / known.unit_tokens;
  return {.rows = rows,
          .row_bytes = known.layer_row_bytes() * known.layer_count,
          .pages = base::ceil_div(rows, base::Divisor{known.page_rows})};
}

bool PagedPlane::create(Plan const& plan, std::uint32_t plane, PlaneMemory const& memory) noexcept {
  HOLDFAST_ASSERT(!plan.classes[plane].traits->is_slot);
  HOLDFAST_ASSERT(memory.device_table != nullptr);
  plane_ = plane;
  kind_ = plan.classes[plane].kind;
  unit_tokens_ = base::Divisor{plan.classes[plane].unit_tokens};
  strips_ = plan.classes[plane].strips;
  return lengths_.create(plan.sequence_limit) &&
         table_.create(plan, plane, memory.pages, memory.device_table);
}

PlaneState PagedPlane::state(Holder holder) const noexcept {
  bool const is_sequence = holder.kind == HolderKind::kSequence;
  HOLDFAST_ASSERT(is_sequence || holder.kind == HolderKind::kSnapshot);
  return {.length = is_sequence ? lengths_[holder.index] : table_.snapshot_rows(holder.index),
          .sealed = is_sequence ? table_.sealed(holder.index) : 0,
          .pages = table_.page_count(holder),
          .chunks = table_.chunk_count(holder)};
}

void PagedPlane::start(Owner owner, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(table_.page_count({HolderKind::kSequence, owner.index}) == 0);
  lengths_[owner.index] = 0;
}

std::uint32_t PagedPlane::need(Owner owner, Opening const& opening) const noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  return table_.pages_needed(owner, units(opening.base), units(opening.base + opening.rows));
}

void PagedPlane::open(Owner owner, Opening const& opening, StepWork& step) noexcept {
  std::uint32_t const tokens = opening.base + opening.rows;
  table_.copy_on_write(owner, units(opening.base), units(tokens), step);
  if (HOLDFAST_MUTANT(kKeysCountTokens) && is_named(kind_, "pool_keys")) {
    table_.extend(owner, std::min(tokens, table_.entries() * table_.page_rows()), step);
    return;
  }
  table_.extend(owner, units(tokens), step);
  HOLDFAST_VERIFY_THAT(has_pages(owner.index, units(tokens)));
}

void PagedPlane::set_length(std::uint32_t sequence, std::uint32_t tokens) noexcept {
  if (HOLDFAST_MUTANT(kReadyRoundedUp) && is_named(kind_, "pool_keys")) {
    lengths_[sequence] = units(tokens + unit_tokens_ - 1);
    return;
  }
  if (HOLDFAST_MUTANT(kReadyNotClamped) && is_named(kind_, "pool_keys")) {
    lengths_[sequence] = std::max(lengths_[sequence], units(tokens));
    return;
  }
  lengths_[sequence] = units(tokens);
}

void PagedPlane::close(Owner owner, Closing const& closing, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(closing.keep <= closing.opening.rows);
  HOLDFAST_VERIFY_THAT(lengths_[owner.index] == units(closing.opening.base));
  std::uint32_t const tokens = closing.opening.base + closing.keep;
  set_length(owner.index, tokens);
  if (closing.keep == 0 && HOLDFAST_MUTANT(kDropKeepsPages)) {
    return;
  }
  table_.cut(owner, units(tokens));
  HOLDFAST_VERIFY_THAT(has_pages(owner.index, lengths_[owner.index]));
}

Status PagedPlane::can_truncate(std::uint32_t /*sequence*/,
                                std::uint32_t /*length*/) const noexcept {
  return {};
}

void PagedPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(units(length) <= lengths_[owner.index]);
  if (HOLDFAST_MUTANT(kTruncateSkipsKv) && is_named(kind_, "attention_kv")) {
    return;
  }
  set_length(owner.index, length);
  if (!HOLDFAST_MUTANT(kPagesKept)) {
    table_.cut(owner, units(length));
  }
}

void PagedPlane::hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept {
  HOLDFAST_ASSERT(sequence != 0);
  HOLDFAST_ASSERT(snapshot != 0);
  table_.hold(sequence, snapshot, lengths_[sequence]);
}

void PagedPlane::load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept {
  table_.load(snapshot, owner, kind == LoadKind::kFork, step);
  if (kind == LoadKind::kRollback && HOLDFAST_MUTANT(kRollbackLeavesLatentLength) &&
      is_named(kind_, "latent")) {
    return;
  }
  set_length(owner.index, table_.snapshot_rows(snapshot) * unit_tokens_);
  HOLDFAST_VERIFY_THAT(has_pages(owner.index, lengths_[owner.index]));
}

void PagedPlane::release(Owner owner) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  table_.release_sequence(owner);
  lengths_[owner.index] = 0;
}

void PagedPlane::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  HOLDFAST_ASSERT(snapshot != 0);
  table_.capture(snapshot, entry);
}

Status PagedPlane::can_restore(std::uint32_t entry, std::uint32_t length) const noexcept {
  HOLDFAST_ASSERT(entry != 0);
  std::uint32_t const edge = units(length) * unit_tokens_;
  HOLDFAST_ASSERT(edge <= length);
  if (edge == length || units(length) == table_.snapshot_rows(entry) ||
      HOLDFAST_MUTANT(kRestoreInsideAnyPool)) {
    return {};
  }
  return Error{.code = ErrorCode::kRefused,
               .text = "the rows of its open pool are not held",
               .subject = name_of(kind_),
               .got = length,
               .limit = edge};
}

void PagedPlane::restore(std::uint32_t entry,
                         Owner owner,
                         std::uint32_t length,
                         StepWork& step) noexcept {
  HOLDFAST_VERIFY_THAT(units(length) <= table_.snapshot_rows(entry));
  table_.restore(entry, owner, units(length), step);
  set_length(owner.index, length);
}

void PagedPlane::serialize(std::uint32_t entry,
                           std::uint32_t layer_index,
                           PieceSink& sink) const noexcept {
  Holder const holder{HolderKind::kSnapshot, entry};
  std::uint32_t const rows = table_.snapshot_rows(entry);
  for (Strip const& strip : strips_) {
    std::uint64_t const offset = layer_index * strips_.layer_bytes + strip.offset;
    for (std::uint32_t first = 0; first < rows; first += table_.page_rows()) {
      bool const forgets = HOLDFAST_MUTANT(kKeysNotSerialized) && is_named(kind_, "pool_keys");
      std::uint32_t const page = forgets ? 0 : table_.page_at(holder, first / table_.page_rows());
      HOLDFAST_VERIFY_THAT(arena().references(page) != 0);
      sink.piece(arena().address(page) + offset,
                 std::uint64_t{strip.row_bytes} * std::min(table_.page_rows(), rows - first));
    }
  }
}

void PagedPlane::deserialize(std::uint32_t entry, std::uint32_t length) noexcept {
  table_.take_entry(entry, units(length));
}

bool PagedPlane::audit() const noexcept {
  bool is_sound = table_.audit();
  for (std::uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
    is_sound = is_sound && has_pages(sequence, lengths_[sequence]);
  }
  return is_sound;
}

}  // namespace holdfast::internal::planes
