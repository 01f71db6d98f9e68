// SPDX-License-Identifier: Apache-2.0
// Begin, views and finish of open handles.
#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {

using planes::Opening;
using planes::StateMode;
using storage::Owner;
using storage::StatePart;

Status Core::check_rows(SequenceRecord const& record,
                        OpenKind kind,
                        std::uint32_t rows) const noexcept {
  if (kind == OpenKind::kAppend && rows == 0) {
    return invalid("rows", "an append needs at least one row");
  }
  if (kind == OpenKind::kRound && rows > plan_.largest_round) {
    return invalid("rows", "is more than the layout's largest round", rows, plan_.largest_round);
  }
  if (rows > plan_.tokens - record.position) {
    return Error{.code = ErrorCode::kTooLong,
                 .text = "is more than the layout's tokens",
                 .subject = "rows",
                 .got = std::int64_t{record.position} + rows,
                 .limit = plan_.tokens};
  }
  return {};
}

planes::Opening Core::opening_of(ItemRequest const& item) const noexcept {
  std::uint32_t const position = sequences_[item.id.index].position;
  return {.base = position,
          .rows = item.rows,
          .round = item.kind == OpenKind::kRound,
          .mode = item.mode};
}

planes::Opening Core::opening_of(SequenceRecord const& record) noexcept {
  return {.base = record.position,
          .rows = record.rows,
          .round = record.open == OpenKind::kRound,
          .mode = record.mode};
}

/// Everything that can be wrong with a begin, storage apart; names the item.
Status Core::check_items(std::span<ItemRequest const> items, bool is_step) noexcept {
  std::uint64_t rows = 0;
  [[maybe_unused]] std::uint32_t padding = 0;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    ItemRequest const& item = items[i];
    rows += item.rows;
    if (item.id.index == 0 && item.kind == OpenKind::kNone) {
      ++padding;
      continue;
    }
    Status answer = check_at_rest(item.id);
    if (answer) {
      answer = check_rows(sequences_[item.id.index], item.kind, item.rows);
    }
    if (answer) {
      answer = check_mode(item.mode);
    }
    if (answer && is_step && sequences_[item.id.index].ticket == next_ticket_ &&
        !HOLDFAST_MUTANT(kTwiceInStep)) {
      answer = invalid("sequence", "is in the step twice");
    }
    if (!answer) {
      std::uint32_t const named = i - (HOLDFAST_MUTANT(kItemsWithoutPadding) ? padding : 0);
      return is_step ? of_item(answer.error(), named) : answer.error();
    }
    sequences_[item.id.index].ticket =
        next_ticket_;  // marks it as seen; nothing is open under it yet
  }
  if (rows > plan_.step_rows) {
    return Error{.code = ErrorCode::kTooLong,
                 .text = "is more than the layout's step_rows",
                 .subject = "rows",
                 .got = static_cast<std::int64_t>(rows),
                 .limit = plan_.step_rows};
  }
  return {};
}

/// Whether all items fit together; names the first that does not.
Status Core::check_storage(std::span<ItemRequest const> items, bool is_step) const noexcept {
  Status answer;
  for_each_plane([&](std::uint32_t plane_index, auto const& plane) {
    std::uint64_t need = 0;
    for (std::uint32_t i = 0; i < items.size() && answer; ++i) {
      if (items[i].id.index == 0) {
        continue;
      }
      std::uint64_t const own = plane.need(owner_of(items[i].id.index), opening_of(items[i]));
      need += own;
      if (need > plane.available()) {
        storage::ClassPlan const& known = plan_.classes[plane_index];
        HOLDFAST_SOMETIMES(kSlotsExhausted, known.page_rows == 0);
        HOLDFAST_SOMETIMES(kRingPagesExhausted, known.ring_rows != 0);
        HOLDFAST_SOMETIMES(kPagesExhausted, known.page_rows != 0 && known.ring_rows == 0);
        answer =
            Error{.code = ErrorCode::kExhausted,
                  .text = "not enough free pages or slots",
                  .subject = name_of(known.kind),
                  .item = is_step ? static_cast<std::int32_t>(i) : -1,
                  .got = static_cast<std::int64_t>(HOLDFAST_MUTANT(kLackingOfOneItem) ? own : need),
                  .limit = HOLDFAST_MUTANT(kLackingOfAll) ? known.pages - 1 : plane.available()};
      }
    }
  });
  return answer;
}

void Core::open_item(ItemRequest const& item) noexcept {
  SequenceRecord& record = sequences_[item.id.index];
  planes::Opening const opening = opening_of(item);
  work_.open_mirror();
  Owner const owner = owner_of(item.id.index);
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    plane.open(owner, opening, step_of(plane_index));
  });
  record.open = item.kind;
  record.mode = item.mode;
  record.rows = item.rows;
  record.ticket = next_ticket_;
  writes_.open(item.id.index, item.rows);
  describe(item.id.index);
}

Status Core::enter_begin(std::span<ItemRequest const> items, bool is_step, Stream stream) noexcept {
  HOLDFAST_TRY(enter_to_take(stream));
  if (is_step && !HOLDFAST_MUTANT(kMapReusedEarly)) {
    HOLDFAST_TRY(fences_.wait_for(row_map_));
  }
  for (ItemRequest const& item : items) {
    if (item.id.index != 0) {
      HOLDFAST_TRY(enter(sequences_[item.id.index], stream));
    }
  }
  row_map_ = is_step && !HOLDFAST_MUTANT(kMapNotMarked) ? fences_.here() : row_map_;
  return {};
}

Result<std::uint64_t> Core::begin(std::span<ItemRequest const> items,
                                  bool is_step,
                                  Stream stream) noexcept {
  Status answer = check_items(items, is_step);
  if (answer) {
    answer = check_storage(items, is_step);
  }
  std::uint64_t const ticket = next_ticket_;
  if (!answer) {
    ++next_ticket_;  // what was marked as seen is not any more
    HOLDFAST_SOMETIMES(
        kRefusedAtLastItem,
        items.size() > 1 && answer.error().item + 1 == static_cast<std::int32_t>(items.size()));
    if (HOLDFAST_MUTANT(kHalfStep) && answer.error().item > 0 && items[0].id.index != 0 &&
        answer.error().code == ErrorCode::kExhausted && check_storage(items.first(1), is_step)) {
      static_cast<void>(work_.begin());
      open_item(items[0]);
    }
    return answer.error();
  }
  Status ready = enter_begin(items, is_step, stream);
  if (ready) {
    ready = work_.begin();
  }
  if (!ready) {
    ++next_ticket_;
    return ready.error();
  }
  std::uint32_t row = 0;
  for (ItemRequest const& item : items) {
    if (item.id.index != 0) {
      open_item(item);
      for (storage::StepWork& stage : work_.all()) {
        stage.mirror().first_row = row;
      }
    } else if (items.size() < plan_.sequence_limit && HOLDFAST_MUTANT(kPadPublished)) {
      work_.open_mirror();
      work_.of(0).mirror().open = item.rows;
    }
    if (is_step) {
      work_.run({.sequence = item.id.index, .rows = item.rows});
      row += item.rows;
    }
  }
  ++next_ticket_;
  map_ticket_ = is_step || HOLDFAST_MUTANT(kAppendTakesMap) ? ticket : map_ticket_;
  Status const launched = launch(stream);
  if (!launched) {
    for (ItemRequest const& item :
         items.first(HOLDFAST_MUTANT(kBeginNotTainted) ? 0 : items.size())) {
      // Copies may have half run; release gives the reservation back.
      sequences_[item.id.index].tainted = item.id.index != 0;
    }
    return launched.error();
  }
  return ticket;
}

OpenRange Core::open_range(std::uint32_t index, std::uint32_t plane) const noexcept {
  SequenceRecord const& record = sequences_[index];
  Opening const opening = opening_of(record);
  return std::visit([&](auto const& held) { return held.open_range(index, opening); },
                    planes_[plane]);
}

Result<OpenRange> Core::range(HandleId id,
                              std::uint64_t ticket,
                              PlaneKind kind,
                              std::uint32_t layer) const noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr || !known->takes_rows()) {
    return invalid("plane", "the layer has no rows of this kind to write", layer);
  }
  return open_range(id.index, plane);
}

/// Whether a view takes all open rows of a sequence.
Status Core::check_view(SequenceRecord const& record, std::uint32_t plane) const noexcept {
  std::uint32_t const most = std::visit(
      [&](auto const& held) { return held.view_limit(record.position); }, planes_[plane]);
  return record.rows <= most ? Status{}
                             : invalid("plane",
                                       "a view on a ring cannot take this many rows; use write()",
                                       record.rows,
                                       most);
}

Result<RowsView> Core::rows_view(HandleId id,
                                 std::uint64_t ticket,
                                 PlaneKind kind,
                                 std::uint32_t layer,
                                 std::uint32_t written,
                                 std::uint32_t rank) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  HOLDFAST_TRY(check_rank(rank));
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr || !known->takes_rows()) {
    return invalid("plane", "the layer has no rows of this kind to write", layer);
  }
  HOLDFAST_TRY(check_view(sequences_[id.index], plane));
  std::uint32_t const open = open_range(id.index, plane).count;
  if (written == 0 && HOLDFAST_MUTANT(kLookTakenForWrite)) {
    written = open;
  }
  writes_.raise(id.index, plane, layer_index, rank, std::min(written, open));
  writes_.view(id.index, plane, layer_index, rank);
  return make_view(id.index, plane, layer_index, rank);
}

Result<Core::SlotPart> Core::slot_part(HandleId id,
                                       storage::StatePart state_part,
                                       std::uint32_t layer,
                                       std::uint32_t written,
                                       std::uint32_t rank) noexcept {
  HOLDFAST_TRY(check_rank(rank));
  std::uint32_t index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find_state(state_part, layer, &index, &plane);
  if (known == nullptr) {
    return invalid("layer", "has no state of this kind", layer);
  }
  if (written != 0 && sequences_[id.index].mode == StateMode::kRescan) {
    return invalid("written", "must be 0 in a rescan round: its rows are written through stash()");
  }
  writes_.raise(id.index, plane, index, rank, std::min(written, sequences_[id.index].rows));
  std::byte* const slots =
      std::visit([](auto const& held) { return held.arena().base(); }, planes_[plane]);
  PlaneState const state = std::visit(
      [&](auto const& held) {
        return held.state({HolderKind::kSequence, id.index});
      },
      planes_[plane]);
  return SlotPart{.state = known->first_state + index,
                  .base_slot = state.slot,
                  .slots = at_rank(slots, plane, rank),
                  .sequence = mirror(id.index, device_of(plane, rank)),
                  .slot_bytes = known->page_bytes};
}

Result<StateView> Core::state_view(HandleId id,
                                   std::uint64_t ticket,
                                   std::uint32_t layer,
                                   std::uint32_t written,
                                   std::uint32_t rank) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  auto const part = slot_part(id, StatePart::kRecurrence, layer, written, rank);
  HOLDFAST_TRY(part);
  StateView view = plan_.state_views[part->state];
  view.slots = part->slots;
  view.base_slot = part->base_slot;
  view.sequence = part->sequence;
  view.slot_bytes = part->slot_bytes;
  view.record_bytes = plan_.mirror_bytes;
  return view;
}

Result<HeldView> Core::held_view(HandleId id,
                                 std::uint64_t ticket,
                                 std::uint32_t layer,
                                 std::uint32_t written,
                                 std::uint32_t rank) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  auto const part = slot_part(id, StatePart::kHeld, layer, written, rank);
  HOLDFAST_TRY(part);
  StateInfo const& known = plan_.states[part->state];
  return HeldView{.slots = part->slots,
                  .sequence = part->sequence,
                  .slot_bytes = part->slot_bytes,
                  .offset = known.held_offset,
                  .elements = known.held_elements,
                  .base_slot = part->base_slot,
                  .record_bytes = plan_.mirror_bytes};
}

Result<std::uint32_t> Core::open_rows(HandleId id, std::uint64_t ticket) const noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  return sequences_[id.index].rows;
}

Result<bool> Core::drop_is_exact(HandleId id, std::uint64_t ticket) const noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  return can_forget(id.index);
}

/// Whether every plane can forget the open rows of a sequence.
bool Core::can_forget(std::uint32_t index) const noexcept {
  bool exact = true;
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    exact = exact && plane.drop_is_exact(index);
  });
  return exact;
}

/// What becomes of an open handle of which `keep` rows are kept: in place there is the state after
/// all rows and the base, nothing between.
Accepted Core::accepted_of(SequenceRecord const& record, std::uint32_t keep) const noexcept {
  bool const goes_back = record.open == OpenKind::kRound && record.mode == StateMode::kInPlace &&
                         plan_.state_count != 0 && keep < record.rows;
  return goes_back ? Accepted{.committed = 0, .rows_to_append = keep} : Accepted{.committed = keep};
}

Status Core::check_written(std::uint32_t index, std::uint32_t keep) const noexcept {
  if (writes_.has_all(index, keep)) {
    return {};
  }
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    if (!known.is_required()) {
      continue;
    }
    if (writes_.of(index, plane).least >= keep) {
      continue;
    }
    for (std::uint32_t i = 0; i < plan_.ranks * known.layer_count; ++i) {
      std::uint32_t const layer = i / plan_.ranks;
      std::uint32_t const written = writes_.rows(index, plane, layer, i % plan_.ranks);
      // What a rescan makes without a stash of its own is not written.
      bool const is_made = sequences_[index].mode == StateMode::kRescan && known.traits->is_slot &&
                           (plan_.stash_views[known.first_state + layer].row_bytes == 0 ||
                            HOLDFAST_MUTANT(kStashTakenForMade));
      bool const is_unseen = (layer != 0 && HOLDFAST_MUTANT(kFirstLayerDecides)) ||
                             (i % plan_.ranks != 0 && HOLDFAST_MUTANT(kFirstRankWrites));
      if (written < keep && !is_made && !is_unseen) {
        return Error{.code = ErrorCode::kIncomplete,
                     .text = "rows are missing",
                     .subject = name_of(plan_.kind_of(known, layer)),
                     .layer = static_cast<std::int32_t>(
                         HOLDFAST_MUTANT(kMissingByIndex) ? layer : plan_.layers_of(known)[layer]),
                     .got = written,
                     .limit = keep};
      }
    }
  }
  return {};
}

void Core::close_planes(std::uint32_t index, std::uint32_t keep) noexcept {
  SequenceRecord& record = sequences_[index];
  Opening const opening = opening_of(record);
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    PlaneWrites const written = writes_.of(index, plane_index);
    // Through a view the engine may have written any open row.
    bool const any_row = written.is_viewed && !HOLDFAST_MUTANT(kViewNotCounted);
    std::uint32_t const reached = any_row                             ? record.rows
                                  : HOLDFAST_MUTANT(kReachOfTheLeast) ? written.least
                                                                      : written.most;
    plane.close(owner_of(index),
                {.opening = opening,
                 .keep = keep,
                 .reached = record.position + reached,
                 .written = written.least},
                step_of(plane_index));
  });
  record.position += keep;
  record.rows = 0;
  record.open = OpenKind::kNone;
}

void Core::taint(std::span<ItemKeep const> items) noexcept {
  items = items.first(HOLDFAST_MUTANT(kFinishTaintsFirst) ? 1 : items.size());
  for (ItemKeep const& item : items) {
    sequences_[item.id.index].tainted = true;
  }
}

Status Core::finish(std::span<ItemKeep> items, std::uint64_t ticket, Stream stream) noexcept {
  for (ItemKeep& item : items) {
    Status answer = check_open(item.id, ticket);
    if (answer) {
      SequenceRecord const& record = sequences_[item.id.index];
      bool const halves =
          record.open == OpenKind::kAppend && item.keep != 0 && item.keep != record.rows;
      if (item.keep > record.rows || halves) {
        answer =
            invalid("keep",
                    halves ? "of an append must be its rows or 0" : "is more than the round's rows",
                    item.keep,
                    record.rows);
      } else {
        answer = check_written(item.id.index, item.keep);
      }
    }
    if (!answer) {
      return of_item(answer.error(), item.item);
    }
    item.accepted = accepted_of(sequences_[item.id.index], item.keep);
  }
  for (ItemKeep const& item : items) {
    SequenceRecord& record = sequences_[item.id.index];
    if (&item != items.data() && HOLDFAST_MUTANT(kFinishEntersFirst)) {
      record.mark = fences_.here();
      continue;
    }
    HOLDFAST_TRY(enter(record, stream));
  }
  HOLDFAST_TRY(work_.begin());
  if (Status const made = rescan(items, stream); !made && !HOLDFAST_MUTANT(kRescanErrorIgnored)) {
    return made;
  }
  for (ItemKeep const& item : items) {
    if (Status const built = build_viewed_keys(item.id.index, item.accepted.committed, stream);
        !built && !HOLDFAST_MUTANT(kKeysErrorIgnored)) {
      taint(items);
      return built;
    }
  }
  for (ItemKeep const& item : items) {
    bool const lost = item.accepted.committed == 0 && !can_forget(item.id.index);
    HOLDFAST_SOMETIMES(kStateLost, lost);
    work_.open_mirror();
    close_planes(item.id.index, item.accepted.committed);
    describe(item.id.index);
    sequences_[item.id.index].tainted = lost;
  }
  Status const launched = launch(stream);
  if (!launched && !HOLDFAST_MUTANT(kFinishNotTainted)) {
    taint(items);
  }
  return launched;
}

Status Core::drop(std::span<ItemKeep> items, std::uint64_t ticket, Stream stream) noexcept {
  Status const dropped = finish(items, ticket, stream);
  // Whose handle is let go of cannot stay open: a device failure before anything was done taints too.
  for (ItemKeep const& item : items) {
    if (!dropped && dropped.error().code == ErrorCode::kDeviceFailed &&
        check_open(item.id, ticket) && !HOLDFAST_MUTANT(kDropNotTainted)) {
      sequences_[item.id.index].tainted = true;
    }
  }
  return dropped;
}

}  // namespace holdfast::internal::cache
