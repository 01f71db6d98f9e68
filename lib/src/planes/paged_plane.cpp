// SPDX-License-Identifier: Apache-2.0
// Movements of the addressed planes.
#include "planes/paged_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"

namespace holdfast::internal::planes {

bool PagedPlane::create(Plan const& plan, std::uint32_t plane, PlaneMemory const& memory) noexcept {
  plane_ = plane;
  kind_ = plan.classes[plane].kind;
  unit_tokens_ = plan.classes[plane].unit_tokens;
  return lengths_.create(plan.sequence_limit) &&
         table_.create(plan, plane, memory.pages, memory.device_table);
}

PlaneInfo PagedPlane::describe(Plan const& plan) const noexcept {
  storage::ClassPlan const& known = plan.classes[plane_];
  return {.kind = known.kind,
          .name = name_of(known.kind),
          .layers = plan.layers_of(known),
          .unit_tokens = known.unit_tokens,
          .row_elements = known.row_elements,
          .parts = known.parts,
          .row_bytes = known.row_bytes,
          .format = known.format,
          .page_rows = known.page_rows,
          .chunk_pages = plan.chunk_pages,
          .entries = known.entries,
          .page_bytes = known.page_bytes,
          .pages = known.pages,
          .base = table_.pages().base(),
          .stage = known.stage,
          .split = known.split};
}

PlaneState PagedPlane::state(Holder holder) const noexcept {
  bool const is_sequence = holder.kind == HolderKind::kSequence;
  return {.length = is_sequence ? lengths_[holder.index] : table_.snapshot_rows(holder.index),
          .sealed = is_sequence ? table_.sealed(holder.index) : 0,
          .pages = table_.page_count(holder),
          .chunks = table_.chunk_count(holder)};
}

void PagedPlane::start(Owner owner, StepWork& /*step*/) noexcept {
  lengths_[owner.index] = 0;
}

std::uint32_t PagedPlane::need(Owner owner, Opening const& opening) const noexcept {
  return table_.pages_needed(owner, units(opening.base), units(opening.base + opening.rows));
}

void PagedPlane::copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept {
  table_.copy_on_write(owner, units(opening.base), units(opening.base + opening.rows), step);
}

void PagedPlane::reserve(Owner owner, Opening const& opening, StepWork& step) noexcept {
  std::uint32_t const tokens = opening.base + opening.rows;
  if (kind_ == PlaneKind::kPoolKeys && HOLDFAST_MUTANT(kKeysCountTokens)) {
    table_.extend(owner, std::min(tokens, table_.entries() * table_.page_rows()), step);
    return;
  }
  table_.extend(owner, units(tokens), step);
}

void PagedPlane::set_length(std::uint32_t sequence, std::uint32_t tokens) noexcept {
  if (kind_ == PlaneKind::kPoolKeys) {
    if (HOLDFAST_MUTANT(kReadyRoundedUp)) {
      lengths_[sequence] = units(tokens + unit_tokens_ - 1);
      return;
    }
    if (HOLDFAST_MUTANT(kReadyNotClamped)) {
      lengths_[sequence] = std::max(lengths_[sequence], units(tokens));
      return;
    }
  }
  lengths_[sequence] = units(tokens);
}

void PagedPlane::commit(Owner owner,
                        Opening const& opening,
                        std::uint32_t keep,
                        StepWork& /*step*/) noexcept {
  set_length(owner.index, opening.base + keep);
  if (keep == 0 && HOLDFAST_MUTANT(kDropKeepsPages)) {
    return;
  }
  table_.cut(owner, units(opening.base + keep));
}

Status PagedPlane::can_truncate(std::uint32_t /*sequence*/,
                                std::uint32_t /*length*/) const noexcept {
  return {};
}

void PagedPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  if (kind_ == PlaneKind::kAttentionKv && HOLDFAST_MUTANT(kTruncateSkipsKv)) {
    return;
  }
  set_length(owner.index, length);
  if (!HOLDFAST_MUTANT(kPagesKept)) {
    table_.cut(owner, units(length));
  }
}

void PagedPlane::hold(std::uint32_t sequence, std::uint32_t snapshot) noexcept {
  table_.hold(sequence, snapshot, lengths_[sequence]);
}

void PagedPlane::load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept {
  table_.load(snapshot, owner, kind == LoadKind::kFork, step);
  if (kind == LoadKind::kRollback && kind_ == PlaneKind::kLatent &&
      HOLDFAST_MUTANT(kRollbackLeavesLatentLength)) {
    return;
  }
  set_length(owner.index, table_.snapshot_rows(snapshot) * unit_tokens_);
}

void PagedPlane::release(Owner owner) noexcept {
  table_.release_sequence(owner);
  lengths_[owner.index] = 0;
}

bool PagedPlane::audit() const noexcept {
  return table_.audit();
}

}  // namespace holdfast::internal::planes
