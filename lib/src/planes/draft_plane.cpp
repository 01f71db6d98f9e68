// SPDX-License-Identifier: Apache-2.0
// Movements of the draft planes, where they differ from other addressed planes.
#include "planes/draft_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"

namespace holdfast::internal::planes {

bool DraftPlane::create(Plan const& plan, std::uint32_t plane, PlaneMemory const& memory) noexcept {
  lag_ = plan.draft_lag();
  return PagedPlane::create(plan, plane, memory);
}

OpenRange DraftPlane::open_range(std::uint32_t sequence, Opening const& opening) const noexcept {
  std::uint32_t const first = length(sequence);
  std::uint32_t const most = opening.base + opening.rows - first;
  HOLDFAST_SOMETIMES(kDraftLagLimited, opening.rows != 0 && most > opening.rows + lag_);
  return {first, opening.rows == 0 ? 0 : std::min(most, opening.rows + lag_)};
}

std::uint32_t DraftPlane::need(Owner owner, Opening const& opening) const noexcept {
  OpenRange const open = open_range(owner.index, opening);
  return table().pages_needed(owner, open.first, open.first + open.count);
}

void DraftPlane::copy_on_write(Owner owner, Opening const& opening, StepWork& step) noexcept {
  OpenRange const open = open_range(owner.index, opening);
  own_table().copy_on_write(owner, open.first, open.first + open.count, step);
}

void DraftPlane::reserve(Owner owner, Opening const& opening, StepWork& step) noexcept {
  OpenRange const open = open_range(owner.index, opening);
  own_table().extend(owner, open.first + open.count, step);
}

void DraftPlane::commit(Owner owner,
                        Opening const& opening,
                        std::uint32_t keep,
                        StepWork& /*step*/) noexcept {
  std::uint32_t watermark = length(owner.index);
  if (keep != 0) {
    std::uint32_t const right =
        HOLDFAST_MUTANT(kDraftSkippedTrusted) ? opening.base + keep : watermark + opening.written;
    std::uint32_t const committed =
        HOLDFAST_MUTANT(kDraftRejectedKept) ? opening.base + opening.rows : opening.base + keep;
    watermark = std::max(watermark, std::min(right, committed));
    HOLDFAST_SOMETIMES(kDraftLeftBehind, watermark < opening.base + keep);
    HOLDFAST_SOMETIMES(kDraftRowsRejected, right > committed);
  }
  set_length(owner.index, watermark);
  own_table().cut(owner, watermark);
}

void DraftPlane::truncate(Owner owner, std::uint32_t length, StepWork& /*step*/) noexcept {
  std::uint32_t const watermark = HOLDFAST_MUTANT(kDraftNotClamped)
                                      ? this->length(owner.index)
                                      : std::min(this->length(owner.index), length);
  set_length(owner.index, watermark);
  own_table().cut(owner, watermark);
}

void DraftPlane::load(std::uint32_t snapshot, Owner owner, LoadKind kind, StepWork& step) noexcept {
  std::uint32_t const before = length(owner.index);
  PagedPlane::load(snapshot, owner, kind, step);
  if (kind == LoadKind::kRollback && HOLDFAST_MUTANT(kDraftNotRolledBack)) {
    set_length(owner.index, before);
  }
}

void DraftPlane::restore(std::uint32_t entry,
                         Owner owner,
                         std::uint32_t length,
                         StepWork& step) noexcept {
  HOLDFAST_SOMETIMES(kDraftRestoredShort, table().snapshot_rows(entry) < length);
  PagedPlane::restore(entry, owner, std::min(table().snapshot_rows(entry), length), step);
}

}  // namespace holdfast::internal::planes
