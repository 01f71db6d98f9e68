// SPDX-License-Identifier: Apache-2.0
// Movements of the addressed planes.
#include "planes/paged_plane.hpp"

#include <algorithm>

#include "base/mutants.hpp"

namespace holdfast::internal::planes {

bool PagedPlane::create(Plan const& plan, std::uint32_t plane, PlaneMemory const& memory) noexcept {
  plane_ = plane;
  kind_ = plan.classes[plane].kind;
  unit_tokens_ = base::Divisor{plan.classes[plane].unit_tokens};
  strip_bytes_ = plan.classes[plane].strip_bytes;
  row_bytes_ = plan.classes[plane].row_bytes;
  parts_ = plan.classes[plane].parts;
  layer_count_ = plan.classes[plane].layer_count;
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

void PagedPlane::capture(std::uint32_t snapshot, std::uint32_t entry) noexcept {
  table_.capture(snapshot, entry);
}

Status PagedPlane::can_restore(std::uint32_t entry, std::uint32_t length) const noexcept {
  std::uint32_t const edge = units(length) * unit_tokens_;
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
  table_.restore(entry, owner, units(length), step);
  set_length(owner.index, length);
}

EntryShape PagedPlane::entry_shape(std::uint32_t length) const noexcept {
  return {.rows = units(length),
          .row_bytes = std::uint64_t{row_bytes_} * parts_ * layer_count_,
          .pages = table_.pages_of(units(length))};
}

void PagedPlane::serialize(std::uint32_t entry,
                           std::uint32_t layer_index,
                           PieceSink& sink) const noexcept {
  Holder const holder{HolderKind::kSnapshot, entry};
  std::uint32_t const rows = table_.snapshot_rows(entry);
  for (std::uint32_t part = 0; part < parts_; ++part) {
    std::uint64_t const strip = (std::uint64_t{layer_index} * parts_ + part) * strip_bytes_;
    for (std::uint32_t first = 0; first < rows; first += table_.page_rows()) {
      bool const forgets = kind_ == PlaneKind::kPoolKeys && HOLDFAST_MUTANT(kKeysNotSerialized);
      std::uint32_t const page = forgets ? 0 : table_.page_at(holder, first / table_.page_rows());
      sink.piece(arena().address(page) + strip,
                 std::uint64_t{row_bytes_} * std::min(table_.page_rows(), rows - first));
    }
  }
}

void PagedPlane::deserialize(std::uint32_t entry, std::uint32_t length) noexcept {
  table_.take_entry(entry, units(length));
}

bool PagedPlane::audit() const noexcept {
  return table_.audit();
}

}  // namespace holdfast::internal::planes
