// SPDX-License-Identifier: Apache-2.0
// Rescan rounds: inputs are stashed, and the engine makes the state of the kept ones at the end.
#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {

using planes::StateMode;

Status Core::set_rescan(Rescan function, void* context) noexcept {
  if (!open_) {
    return stale("cache");
  }
  auto const sequences = sequences_.span(0, sequences_.size());
  bool const is_needed =
      std::any_of(sequences.begin(), sequences.end(), [](SequenceRecord const& record) {
        return record.live && record.open == OpenKind::kRound && record.mode == StateMode::kRescan;
      });
  if (is_needed) {
    return Error{.code = ErrorCode::kBusy, .text = "a rescan round is open", .subject = "rescan"};
  }
  rescan_ = function;
  rescan_context_ = context;
  return {};
}

/// Whether this cache can open a handle of this mode.
Status Core::check_mode(StateMode mode) const noexcept {
  if (mode != StateMode::kRescan || plan_.state_count == 0) {
    return {};
  }
  if (!plan_.has_stash()) {
    return invalid("recurrent.stash_row_bytes", "is 0: there is no stash for a rescan round");
  }
  return rescan_ != nullptr ? Status{}
                            : invalid("rescan", "no function is set that makes the states");
}

Result<StashView> Core::stash_view(HandleId id,
                                   std::uint64_t ticket,
                                   std::uint32_t layer,
                                   std::uint32_t written,
                                   std::uint32_t rank) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  HOLDFAST_TRY(check_rank(rank));
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known =
      plan_.find_state(storage::StatePart::kRecurrence, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("layer", "has no recurrent state", layer);
  }
  if (sequences_[id.index].mode != StateMode::kRescan) {
    return invalid("handle", "is no rescan round: its states are written through state()");
  }
  writes_.raise(id.index, plane, layer_index, rank, std::min(written, sequences_[id.index].rows));
  StashView view = plan_.stash_views[known->first_state + layer_index];
  view.areas = stash_areas(plane, rank);
  view.sequence = mirror(id.index, device_of(plane, rank));
  view.area = id.index;
  view.area_bytes = plan_.stash_bytes(*known);
  view.row_stride = known->stash_row_bytes;
  return view;
}

RescanItem Core::rescan_item(ItemKeep const& item,
                             std::uint32_t plane,
                             std::uint32_t rank) const noexcept {
  storage::ClassPlan const& known = plan_.classes[plane];
  std::uint32_t const index = item.id.index;
  return std::visit(
      [&](auto const& held) {
        std::byte* const slots = at_rank(held.arena().base(), plane, rank);
        std::uint32_t const base = held.state({HolderKind::kSequence, index}).slot;
        std::uint32_t const fresh = held.open_pages(index).front();
        std::uint32_t const area = HOLDFAST_MUTANT(kStashOfOther) ? index - 1 : index;
        return RescanItem{
            .base = slots + (HOLDFAST_MUTANT(kRescanFromFresh) ? fresh : base) * known.page_bytes,
            .fresh = slots + fresh * known.page_bytes,
            .stash = stash_areas(plane, rank) + area * plan_.stash_bytes(known),
            .keep = item.keep > 1 && HOLDFAST_MUTANT(kRescanOneShort) ? item.keep - 1 : item.keep};
      },
      planes_[plane]);
}

Status Core::rescan(std::span<ItemKeep const> items, Stream stream) noexcept {
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    if (!plan_.classes[plane].traits->is_slot) {
      continue;
    }
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      std::uint32_t count = 0;
      for (ItemKeep const& item : items) {
        if (item.keep != 0 && sequences_[item.id.index].mode == StateMode::kRescan) {
          rescan_items_[count++] = rescan_item(item, plane, rank);
        }
      }
      HOLDFAST_SOMETIMES(kRescanOfSeveral, count > 1);
      if (count != 0) {
        HOLDFAST_TRY(rescan_(rescan_context_,
                             {.device = device(device_of(plane, rank)),
                              .stage = plan_.classes[plane].stage,
                              .rank = rank,
                              .items = rescan_items_.span(0, count),
                              .stream = stream}));
      }
    }
  }
  return {};
}

}  // namespace holdfast::internal::cache
