// SPDX-License-Identifier: Apache-2.0
// Movements of the draft planes, where they differ from other addressed planes.
#include "planes/draft_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"

namespace holdfast::internal::planes {

Status DraftPlane::check(RowsDescription const& rows, LayerRules const& rules) noexcept {
  if (rows.unit_tokens != 1) {
    return rules.refuse(
        name_of(rows.kind), "has rows of several tokens, which cannot lag", rows.unit_tokens, 1);
  }
  if (rows.derived || rows.pooled) {
    return rules.refuse(name_of(rows.kind), "has to do with pool keys, which cannot lag");
  }
  return PagedPlane::check(rows, rules);
}

bool DraftPlane::create(Plan const& plan, std::uint32_t plane, PlaneMemory const& memory) noexcept {
  lag_ = plan.draft_lag();
  HOLDFAST_ASSERT(lag_ != 0);
  return PagedPlane::create(plan, plane, memory);
}

OpenRange DraftPlane::open_range(std::uint32_t sequence, Opening const& opening) const noexcept {
  std::uint32_t const first = length(sequence);
  HOLDFAST_ASSERT(first <= opening.base);
  std::uint32_t const most = opening.base + opening.rows - first;
  HOLDFAST_SOMETIMES(kDraftLagLimited, opening.rows != 0 && most > opening.rows + lag_);
  return {first, opening.rows == 0 ? 0 : std::min(most, opening.rows + lag_)};
}

std::uint32_t DraftPlane::need(Owner owner, Opening const& opening) const noexcept {
  OpenRange const open = open_range(owner.index, opening);
  HOLDFAST_ASSERT(open.first <= opening.base);
  return table().pages_needed(owner, open.first, open.first + open.count);
}

void DraftPlane::open(Owner owner, Opening const& opening, StepWork& step) noexcept {
  OpenRange const open = open_range(owner.index, opening);
  HOLDFAST_ASSERT(open.first + open.count <= opening.base + opening.rows);
  own_table().copy_on_write(owner, open.first, open.first + open.count, step);
  own_table().extend(owner, open.first + open.count, step);
}

void DraftPlane::close(Owner owner, Closing const& closing, StepWork& /*step*/) noexcept {
  HOLDFAST_ASSERT(closing.keep <= closing.opening.rows);
  HOLDFAST_ASSERT(closing.written <= open_range(owner.index, closing.opening).count);
  std::uint32_t const base = closing.opening.base;
  std::uint32_t watermark = length(owner.index);
  if (closing.keep != 0) {
    std::uint32_t const committed =
        base + (HOLDFAST_MUTANT(kDraftRejectedKept) ? closing.opening.rows : closing.keep);
    std::uint32_t const right =
        HOLDFAST_MUTANT(kDraftSkippedTrusted) ? base + closing.keep : watermark + closing.written;
    watermark = std::max(watermark, std::min(right, committed));
    HOLDFAST_SOMETIMES(kDraftLeftBehind, watermark < base + closing.keep);
    HOLDFAST_SOMETIMES(kDraftRowsRejected, right > committed);
  }
  HOLDFAST_VERIFY_THAT(watermark <= base + closing.keep);
  set_length(owner.index, watermark);
  own_table().cut(owner, watermark);
}

void DraftPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  std::uint32_t const watermark = HOLDFAST_MUTANT(kDraftNotClamped)
                                      ? this->length(owner.index)
                                      : std::min(this->length(owner.index), length);
  HOLDFAST_VERIFY_THAT(watermark <= length);
  set_length(owner.index, watermark);
  own_table().cut(owner, watermark);
}

void DraftPlane::load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept {
  std::uint32_t const before = length(owner.index);
  PagedPlane::load(snapshot, owner, kind, step);
  if (kind == LoadKind::kRollback && HOLDFAST_MUTANT(kDraftNotRolledBack)) {
    set_length(owner.index, before);
  }
  HOLDFAST_VERIFY_THAT(length(owner.index) == table().snapshot_rows(snapshot));
}

void DraftPlane::restore(std::uint32_t entry,
                         Owner owner,
                         std::uint32_t length,
                         StepWork& step) noexcept {
  HOLDFAST_ASSERT(entry != 0);
  HOLDFAST_SOMETIMES(kDraftRestoredShort, table().snapshot_rows(entry) < length);
  PagedPlane::restore(entry, owner, std::min(table().snapshot_rows(entry), length), step);
}

}  // namespace holdfast::internal::planes
