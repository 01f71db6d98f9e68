// SPDX-License-Identifier: Apache-2.0
// Steps: lists of appends, rounds and padding that begin and end as one.
#include <algorithm>

#include "base/mutants.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {
namespace {

OpenKind open_kind(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::kAppend:
      return OpenKind::kAppend;
    case StepKind::kVerify:
      return OpenKind::kRound;
    case StepKind::kPad:
      return OpenKind::kNone;
  }
  return OpenKind::kNone;
}

}  // namespace

Status Core::check_step(HandleId step) const noexcept {
  if (!open_ || step.index >= steps_.size() || !steps_[step.index].live ||
      steps_[step.index].generation != step.generation) {
    return stale("step");
  }
  return {};
}

Result<std::span<ItemRequest>> Core::requests_of(std::span<StepItem const> items) noexcept {
  if (!open_) {
    return stale("cache");
  }
  if (free_step_count_ == 0) {
    // Open steps whose sequences were all released hold on to their records.
    return Error{.code = ErrorCode::kExhausted,
                 .text = "every step is in use",
                 .subject = "steps",
                 .got = 1};
  }
  std::uint32_t const index = free_steps_[free_step_count_ - 1];
  auto const requests = step_items_.span(std::uint64_t{index} * plan_.step_items, items.size());
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    HandleId const id = items[i].sequence == nullptr ? HandleId{} : items[i].sequence->id();
    requests[i] = {.id = id,
                   .kind = open_kind(items[i].kind),
                   .rows = items[i].rows,
                   .mode = items[i].kind == StepKind::kAppend ? state_mode(items[i].append_mode)
                                                              : state_mode(items[i].round_kind)};
  }
  return requests;
}

Status Core::can_begin_step(std::span<StepItem const> items) noexcept {
  auto const requests = requests_of(items);
  HOLDFAST_TRY(requests);
  Status answer = check_items(*requests, true);
  ++next_ticket_;  // what was marked as seen is not any more
  return answer ? check_storage(*requests, true) : answer;
}

Result<HandleId> Core::begin_step(std::span<StepItem const> items, Stream stream) noexcept {
  auto const requests = requests_of(items);
  HOLDFAST_TRY(requests);
  std::uint32_t const index = free_steps_[free_step_count_ - 1];
  auto const ticket = begin(*requests, true, stream);
  if (!ticket) {
    return ticket.error();
  }
  --free_step_count_;
  StepRecord& record = steps_[index];
  record.live = true;
  record.ticket = *ticket;
  record.items = static_cast<std::uint32_t>(items.size());
  return HandleId{index, record.generation};
}

Result<ItemRequest> Core::step_item(HandleId step,
                                    std::uint32_t item,
                                    std::uint64_t* ticket) const noexcept {
  HOLDFAST_TRY(check_step(step));
  StepRecord const& record = steps_[step.index];
  if (item >= record.items) {
    return invalid("item", "is past the step's items", item, record.items);
  }
  *ticket = record.ticket;
  return step_items_[std::uint64_t{step.index} * plan_.step_items + item];
}

Result<std::uint32_t const*> Core::row_sequences(HandleId step,
                                                 std::uint32_t device) const noexcept {
  HOLDFAST_TRY(check_step(step));
  if (device >= plan_.device_count()) {
    return invalid("device", "is past the cache's devices", device, plan_.device_count());
  }
  return work_.of(device / plan_.ranks).row_sequences(device % plan_.ranks);
}

Status Core::finish_step(HandleId step,
                         std::span<std::uint32_t const> keep,
                         std::span<Accepted> accepted,
                         Stream stream) noexcept {
  HOLDFAST_TRY(check_step(step));
  if (HOLDFAST_MUTANT(kFinishesTheNewest)) {
    step.index = free_steps_[free_step_count_];
  }
  StepRecord const& record = steps_[step.index];
  if (keep.size() != record.items || (!accepted.empty() && accepted.size() != record.items)) {
    return invalid(
        "keep", "has not one number an item", static_cast<std::int64_t>(keep.size()), record.items);
  }
  auto const items = step_items_.span(std::uint64_t{step.index} * plan_.step_items, record.items);
  std::uint32_t live = 0;
  for (std::uint32_t i = 0; i < record.items; ++i) {
    bool const padding = items[i].id.index == 0;
    // A tainted sequence is still in the step, and finish refuses it; a released one has left.
    bool const gone =
        !padding && !HOLDFAST_MUTANT(kReleasedItemFinished) &&
        (!check_live(items[i].id) || sequences_[items[i].id.index].ticket != record.ticket);
    if ((padding || gone) && keep[i] != 0) {
      return of_item(padding ? invalid("keep", "of padding must be 0", keep[i]) : stale("sequence"),
                     i);
    }
    if (!padding && !gone) {
      std::uint32_t const kept = keep[HOLDFAST_MUTANT(kPaddingShiftsKeeps) ? live : i];
      keeps_[live++] = {
          .id = items[i].id, .keep = kept, .item = static_cast<std::int32_t>(i), .accepted = {}};
    }
  }
  if (live != 0) {  // of padding alone no device is told
    HOLDFAST_TRY(finish(keeps_.span(0, live), record.ticket, stream));
  }
  std::fill(accepted.begin(), accepted.end(), Accepted{});
  for (std::uint32_t i = 0; i < live && !accepted.empty(); ++i) {
    accepted[static_cast<std::size_t>(keeps_[i].item)] = keeps_[i].accepted;
  }
  close_step(step.index);
  return {};
}

void Core::close_step(std::uint32_t index) noexcept {
  StepRecord& record = steps_[index];
  record.live = false;
  if (!HOLDFAST_MUTANT(kStepGenerationKept) && ++record.generation == 0) {
    record.generation = 1;
  }
  free_steps_[free_step_count_++] = index;
}

Status Core::drop_step(HandleId step, Stream stream, bool is_last) noexcept {
  HOLDFAST_TRY(check_step(step));
  auto const items =
      step_items_.span(std::uint64_t{step.index} * plan_.step_items, steps_[step.index].items);
  // Zeros for every item, from the requests' own memory: nothing is kept.
  std::uint32_t live = 0;
  Status answer;
  for (ItemRequest const& item : items) {
    bool const is_enough = live != 0 && HOLDFAST_MUTANT(kStepDropsFirst);
    if (item.id.index != 0 && !is_enough && check_open(item.id, steps_[step.index].ticket)) {
      keeps_[live++] = {.id = item.id, .keep = 0, .item = -1, .accepted = {}};
    }
  }
  if (live != 0) {
    answer = drop(keeps_.span(0, live), steps_[step.index].ticket, stream);
  }
  // What was refused has changed nothing; after a device's failure every item is over.
  if (answer || answer.error().code == ErrorCode::kDeviceFailed || is_last) {
    close_step(step.index);
  }
  return answer;
}

}  // namespace holdfast::internal::cache
