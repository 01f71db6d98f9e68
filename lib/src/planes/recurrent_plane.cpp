// SPDX-License-Identifier: Apache-2.0
// Movements of the state slots.
#include "planes/recurrent_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"

namespace holdfast::internal::planes {

Status RecurrentPlane::check(RowsDescription const& rows, LayerRules const& rules) noexcept {
  return rules.refuse(name_of(rows.kind), "has rows, though its rule keeps states");
}

Status RecurrentPlane::check(StateDescription const& /*state*/,
                             LayerRules const& /*rules*/) noexcept {
  return {};
}

ClassSize RecurrentPlane::size(ClassPlan const& /*known*/, Capacity const& capacity) noexcept {
  std::uint64_t const holders =
      std::uint64_t{capacity.sequences} + capacity.snapshots + capacity.entries;
  std::uint64_t const columns =
      std::uint64_t{capacity.sequences} * std::max(1U, capacity.largest_round);
  return {.pages = capacity.slots != 0 ? capacity.slots : holders + columns};
}

EntryShape RecurrentPlane::entry_shape(ClassPlan const& known, std::uint32_t /*length*/) noexcept {
  HOLDFAST_ASSERT(known.page_bytes != 0);
  return {.rows = 1, .row_bytes = known.page_bytes, .pages = 1};
}

bool RecurrentPlane::create(Plan const& plan,
                            std::uint32_t plane,
                            PlaneMemory const& memory) noexcept {
  HOLDFAST_ASSERT(plan.classes[plane].traits->is_slot);
  HOLDFAST_ASSERT(plan.classes[plane].layer_count != 0);
  plane_ = plane;
  name_ = name_of(plan.classes[plane].kind);
  states_ = plan.states.span(plan.classes[plane].first_state, plan.classes[plane].layer_count);
  column_limit_ = std::max(1U, plan.largest_round);
  return slots_.create(memory.pages, plan.classes[plane].page_bytes, plan.classes[plane].pages) &&
         sequences_.create(plan.sequence_limit) && snapshots_.create(plan.snapshot_limit) &&
         columns_.create(std::uint64_t{plan.sequence_limit} * column_limit_);
}

PlaneState RecurrentPlane::state(Holder holder) const noexcept {
  if (holder.kind == HolderKind::kSequence) {
    State const& known = sequences_[holder.index];
    return {.length = known.length, .slot = known.slot, .read_slot = read_slot(holder.index)};
  }
  State const& held = snapshots_[holder.index];
  return {.length = held.length, .slot = held.slot, .read_slot = held.slot};
}

std::uint32_t RecurrentPlane::read_slot(std::uint32_t sequence) const noexcept {
  State const& known = sequences_[sequence];
  HOLDFAST_ASSERT(!known.in_place || known.columns == 1);
  return known.in_place && !HOLDFAST_MUTANT(kReadSlotOfBase) ? open_pages(sequence).front()
                                                             : known.slot;
}

void RecurrentPlane::start(Owner owner, StepWork& step) noexcept {
  HOLDFAST_ASSERT(owner.index != 0);
  HOLDFAST_ASSERT(sequences_[owner.index].slot == 0);
  std::uint32_t const slot = slots_.take(owner.mark);
  sequences_[owner.index] = {.slot = slot};
  if (!HOLDFAST_MUTANT(kBirthNotZeroed)) {
    step.zero(plane_, slot);
  }
}

std::uint32_t RecurrentPlane::need(Owner owner, Opening const& opening) const noexcept {
  HOLDFAST_ASSERT(!opening.round || opening.rows <= column_limit_);
  HOLDFAST_ASSERT(opening.round || opening.mode != StateMode::kRescan);
  switch (opening.mode) {
    case StateMode::kFresh:
      return opening.round ? opening.rows : 1;
    case StateMode::kInPlace: {
      bool const shared = slots_.references(sequences_[owner.index].slot) > 1;
      return (opening.round ? opening.rows != 0 : shared) ? 1 : 0;
    }
    case StateMode::kRescan:
      return std::min(opening.rows, 1U);
  }
  return 0;
}

void RecurrentPlane::open_in_place(Owner owner, Opening const& opening, StepWork& step) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(opening.mode == StateMode::kInPlace);
  HOLDFAST_ASSERT(!known.in_place);
  std::uint32_t written = known.slot;
  if (need(owner, opening) != 0 && !(!opening.round && HOLDFAST_MUTANT(kSharedStateInPlace))) {
    HOLDFAST_SOMETIMES(kStateCopiedForAppend, !opening.round);
    written = slots_.take(owner.mark);
    columns_[std::uint64_t{owner.index} * column_limit_] = written;
    known.columns = 1;
    known.in_place = true;
    auto const rows = static_cast<std::uint32_t>(slots_.page_bytes() / kSlotRowBytes);
    step.copy_rows({.plane = plane_,
                    .destination = written,
                    .source = known.slot,
                    .first_row = 0,
                    .rows = HOLDFAST_MUTANT(kFlatCopyShort) ? rows / 2 : rows});
  } else {
    HOLDFAST_SOMETIMES(kStateWrittenDirectly, !opening.round);
    known.direct = !opening.round && !HOLDFAST_MUTANT(kDropSaidExact);
  }
  HOLDFAST_VERIFY_THAT(opening.rows == 0 || slots_.references(written) == 1);
  for (std::uint32_t i = opening.round ? opening.rows : 1; i-- > 0;) {
    step.write_slot(written);
  }
}

void RecurrentPlane::open(Owner owner, Opening const& opening, StepWork& step) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(known.columns == 0);
  HOLDFAST_ASSERT(known.slot != 0);
  if (opening.mode == StateMode::kInPlace) {
    open_in_place(owner, opening, step);
    return;
  }
  auto const columns = columns_.span(std::uint64_t{owner.index} * column_limit_, column_limit_);
  for (std::uint32_t i = need(owner, opening); i-- > 0;) {
    std::uint32_t const slot = slots_.take(owner.mark);
    columns[known.columns++] = slot;
    step.write_slot(slot);
  }
  if (opening.mode == StateMode::kRescan && known.columns != 0) {
    for (StateInfo const& state : states_) {
      copy_part(columns[0], known.slot, state.held_offset, state.held_elements, step);
    }
  }
}

void RecurrentPlane::close(Owner owner, Closing const& closing, StepWork& step) noexcept {
  Opening const& opening = closing.opening;
  std::uint32_t const keep = closing.keep;
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(keep <= opening.rows);
  HOLDFAST_VERIFY_THAT(known.length == opening.base);
  auto const columns = columns_.span(std::uint64_t{owner.index} * column_limit_, known.columns);
  bool const has_columns = opening.round && opening.mode == StateMode::kFresh;
  std::uint32_t kept = !has_columns ? 0 : keep - 1;  // column of the state after the last kept row
  if (has_columns && HOLDFAST_MUTANT(kColumnOffByOne) && keep > 1) {
    kept = keep - 2;
  }
  HOLDFAST_SOMETIMES(kInPlaceKeptWhole, known.in_place && opening.round && keep == opening.rows);
  HOLDFAST_SOMETIMES(kInPlaceBackToBase, known.in_place && opening.round && keep == 0);
  bool const whole_ignored =
      opening.round && keep == opening.rows &&
      (known.in_place ? HOLDFAST_MUTANT(kInPlaceKeepsBase) : HOLDFAST_MUTANT(kWholeRoundIgnored));
  bool const takes = (keep != 0 && !whole_ignored) ||
                     (known.in_place && opening.round && HOLDFAST_MUTANT(kBaseNotRestored));
  if (takes && has_columns && keep < opening.rows && HOLDFAST_MUTANT(kConvNotRolledBack)) {
    for (StateInfo const& state : states_) {
      copy_part(
          columns[kept], columns[opening.rows - 1], state.conv_offset, state.conv_elements, step);
    }
  }
  if (takes && has_columns && HOLDFAST_MUTANT(kHeldLeftAtBase)) {
    for (StateInfo const& state : states_) {
      copy_part(columns[kept], known.slot, state.held_offset, state.held_elements, step);
    }
  }
  for (std::uint32_t column = 0; column < columns.size(); ++column) {
    if (takes && column == kept) {
      release_slot(known.slot);
      known.slot = columns[column];
    } else if (!(keep == 0 && HOLDFAST_MUTANT(kLeakOnDrop))) {
      release_slot(columns[column]);
    }
  }
  bool const stays_open = opening.round && keep == 0 && HOLDFAST_MUTANT(kColumnsStayOpen);
  known = {
      .length = opening.base + keep, .slot = known.slot, .columns = stays_open ? known.columns : 0};
  HOLDFAST_VERIFY_THAT(slots_.references(known.slot) != 0);
}

Status RecurrentPlane::can_truncate(std::uint32_t sequence, std::uint32_t length) const noexcept {
  if (length == sequences_[sequence].length || HOLDFAST_MUTANT(kTruncateKeepsState)) {
    return {};
  }
  HOLDFAST_SOMETIMES(kStateRefusesTruncate, true);
  return Error{.code = ErrorCode::kRefused,
               .text = "a state cannot be shortened; roll back to a snapshot",
               .subject = name_,
               .got = length,
               .limit = sequences_[sequence].length};
}

void RecurrentPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(length <= sequences_[owner.index].length);
  sequences_[owner.index].length = length;
}

void RecurrentPlane::hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept {
  State const& known = sequences_[sequence];
  HOLDFAST_ASSERT(known.columns == 0);
  HOLDFAST_ASSERT(snapshots_[snapshot].slot == 0);
  snapshots_[snapshot] = {.length = known.length, .slot = known.slot};
  if (!HOLDFAST_MUTANT(kHeldSlotReused)) {
    slots_.retain(known.slot);
  }
}

void RecurrentPlane::load(std::uint32_t snapshot,
                          Owner owner,
                          LoadKind kind,
                          [[maybe_unused]] StepWork& step) noexcept {
  State& held = snapshots_[snapshot];
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(known.columns == 0);
  HOLDFAST_ASSERT((kind == LoadKind::kFork) == (known.slot == 0));
  if (kind == LoadKind::kRollback && slots_.free_count() != 0 &&
      HOLDFAST_MUTANT(kHeldNotRolledBack)) {
    std::uint32_t const mixed = slots_.take(owner.mark);
    for (StateInfo const& state : states_) {
      copy_part(mixed, held.slot, state.conv_offset, state.conv_elements, step);
      copy_part(mixed, held.slot, state.ssm_offset, state.ssm_elements, step);
      copy_part(mixed, known.slot, state.held_offset, state.held_elements, step);
    }
    release_slot(known.slot);
    known = {.length = held.length, .slot = mixed};
    return;
  }
  HOLDFAST_SOMETIMES(kSameStateLoaded, known.slot == held.slot);
  slots_.retain(held.slot);
  if (known.slot != 0) {
    release_slot(known.slot);
  }
  known = {.length = held.length, .slot = held.slot};
  if (kind == LoadKind::kRollback && slots_.free_count() != 0 && HOLDFAST_MUTANT(kSecondRollback)) {
    // The first rollback takes the snapshot's state with it: a second one finds the slot that came
    // after.
    std::uint32_t const next = slots_.take(owner.mark);
    slots_.release(held.slot);
    held.slot = next;
  }
}

void RecurrentPlane::drop(std::uint32_t snapshot) noexcept {
  HOLDFAST_ASSERT(snapshots_[snapshot].slot != 0);
  release_slot(snapshots_[snapshot].slot);
  snapshots_[snapshot] = {};
}

void RecurrentPlane::release(Owner owner) noexcept {
  State& known = sequences_[owner.index];
  HOLDFAST_ASSERT(known.columns == 0);
  release_slot(known.slot);
  known = {};
}

void RecurrentPlane::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  HOLDFAST_ASSERT(snapshots_[entry].slot == 0);
  snapshots_[entry] = snapshots_[snapshot];
  slots_.retain(snapshots_[entry].slot);
}

Status RecurrentPlane::can_restore(std::uint32_t entry, std::uint32_t length) const noexcept {
  if (length == snapshots_[entry].length) {
    return {};
  }
  return Error{.code = ErrorCode::kRefused,
               .text = "only the state at the entry's own position is held",
               .subject = name_,
               .got = length,
               .limit = 0};
}

void RecurrentPlane::restore(std::uint32_t entry,
                             Owner owner,
                             std::uint32_t length,
                             StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(sequences_[owner.index].slot == 0);
  HOLDFAST_VERIFY_THAT(length == snapshots_[entry].length);
  slots_.retain(snapshots_[entry].slot);
  sequences_[owner.index] = {.length = length, .slot = snapshots_[entry].slot, .columns = 0};
}

void RecurrentPlane::serialize(std::uint32_t entry,
                               std::uint32_t layer_index,
                               PieceSink& sink) const noexcept {
  HOLDFAST_ASSERT(layer_index < states_.size());
  StateInfo const& state = states_[layer_index];
  std::uint32_t const slot = snapshots_[entry].slot;
  std::uint32_t const conv_slot = HOLDFAST_MUTANT(kConvNotSerialized) ? 0 : slot;
  sink.piece(slots_.address(conv_slot) + state.conv_offset,
             std::uint64_t{state.conv_elements} * kSlotRowBytes);
  sink.piece(slots_.address(slot) + state.ssm_offset,
             std::uint64_t{state.ssm_elements} * kSlotRowBytes);
  sink.piece(slots_.address(HOLDFAST_MUTANT(kHeldNotSerialized) ? 0 : slot) + state.held_offset,
             std::uint64_t{state.held_elements} * kSlotRowBytes);
}

void RecurrentPlane::deserialize(std::uint32_t entry, std::uint32_t length) noexcept {
  constexpr storage::WriterMark kNobody = 0;
  HOLDFAST_ASSERT(snapshots_[entry].slot == 0);
  snapshots_[entry] = {.length = length, .slot = slots_.take(kNobody), .columns = 0};
}

void RecurrentPlane::copy_part(std::uint32_t destination,
                               std::uint32_t source,
                               std::uint64_t offset,
                               std::uint32_t elements,
                               StepWork& step) const noexcept {
  HOLDFAST_ASSERT(offset % kSlotRowBytes == 0);
  HOLDFAST_ASSERT(offset + std::uint64_t{elements} * kSlotRowBytes <= slots_.page_bytes());
  if (elements != 0) {
    step.copy_rows({.plane = plane_,
                    .destination = destination,
                    .source = source,
                    .first_row = static_cast<std::uint32_t>(offset / kSlotRowBytes),
                    .rows = elements});
  }
}

void RecurrentPlane::release_slot(std::uint32_t slot) noexcept {
  slots_.release(slot);
}

bool RecurrentPlane::audit() const noexcept {
  base::Tally held;
  for (std::uint32_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    if (sequences_[sequence].slot != 0) {
      held.add(sequences_[sequence].slot);
    }
    for (std::uint32_t const column : open_pages(sequence)) {
      held.add(column);
    }
  }
  for (std::uint32_t snapshot = 0; snapshot < snapshots_.size(); ++snapshot) {
    if (snapshots_[snapshot].slot != 0) {
      held.add(snapshots_[snapshot].slot);
    }
  }
  return slots_.audit(held);
}

}  // namespace holdfast::internal::planes
