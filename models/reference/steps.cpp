// SPDX-License-Identifier: Apache-2.0
// The reference model's steps: handles of several sequences that begin and end as one.
#include <algorithm>

#include "models/reference/model.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {
namespace {

Observation of_item(Observation answer, std::uint32_t item) {
  answer.says.item = item;
  return answer;
}

}  // namespace

Observation Model::check_step(StepParts const& items) const noexcept {
  if (items.count == 0) {
    return Observation::failure(ErrorCode::kInvalidArgument, "items");
  }
  // The first item that is wrong decides, as the items stand.
  std::uint64_t rows = 0;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& item = items.parts[i];
    rows += item.rows;
    if (item.deed == StepDeed::kPad) {
      continue;
    }
    Observation checked =
        check_begin(item.sequence, item.deed == StepDeed::kVerify, item.rows, item.mode);
    for (StepPart const* other = items.begin(); checked.ok && other != &item; ++other) {
      if (other->deed != StepDeed::kPad && other->sequence == item.sequence) {
        checked = Observation::failure(ErrorCode::kInvalidArgument, "sequence");
      }
    }
    if (!checked.ok) {
      return of_item(checked, i);
    }
  }
  Capacity const& capacity = shape_.capacity;
  std::uint64_t const most = capacity.step_rows != 0
                                 ? capacity.step_rows
                                 : capacity.tokens + std::uint64_t{capacity.sequences} *
                                                         std::max(1U, capacity.largest_round);
  return rows <= most ? Observation{}
                      : Observation::failure(ErrorCode::kTooLong,
                                             "rows",
                                             static_cast<std::int64_t>(rows),
                                             static_cast<std::int64_t>(most));
}

Observation Model::begin_step(StepParts const& items, bool exhausted) {
  if (!shape_.keeps_all && open_steps() >= std::size_t{2} * shape_.capacity.sequences) {
    return Observation::failure(ErrorCode::kExhausted, "steps");
  }
  Observation const checked = check_step(items);
  for (std::uint32_t i = 0; i < items.count; ++i) {
    bool const is_seen = checked.says.item < 0 || i <= checked.says.item;
    if (is_seen && items.parts[i].deed != StepDeed::kPad) {
      next_token_ = std::max(next_token_, items.parts[i].token + items.parts[i].rows);
    }
  }
  if (!checked.ok) {
    return checked;
  }
  if (exhausted && !step_fits({items.begin(), items.count})) {
    return Observation::failure(ErrorCode::kExhausted);
  }
  auto const index = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back({.items = items, .open = true});
  mapped_step_ = index;
  Observation answer = Observation::success(items.count);
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& item = items.parts[i];
    Details::Item& says = answer.says.item_at(i);
    says = {.committed = 0, .to_append = 0};
    if (item.deed != StepDeed::kPad) {
      bool const round = item.deed == StepDeed::kVerify;
      static_cast<void>(begin(item.sequence,
                              round,
                              item.rows,
                              0,
                              item.token,
                              false,
                              {.mode = item.mode, .keys = item.keys}));
      ModelSequence& sequence = sequences_[item.sequence.value];
      sequence.open.in_step = true;
      sequence.step = index;
      says.exact = sequence.open.drop_is_exact ? 1 : 0;
    }
  }
  return answer;
}

std::size_t Model::open_steps() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(steps_.begin(), steps_.end(), [](ModelStep const& step) { return step.open; }));
}

bool Model::is_in_step(StepPart const& item, std::uint32_t step) const noexcept {
  if (item.deed == StepDeed::kPad) {
    return false;
  }
  ModelSequence const& sequence = sequences_[item.sequence.value];
  return sequence.live && sequence.step == step && sequence.open.open && sequence.open.in_step;
}

ModelStep const* Model::step_of(SequenceName name) const noexcept {
  ModelStep const* const step = last_step_of(name);
  return step != nullptr && step->open ? step : nullptr;
}

/// The items that are still there are written as the style says, each for the first time or as far as
/// something is lacking.
void Model::write_items(std::uint32_t index, WriteStyle const& style) {
  ModelStep& step = steps_[index];
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& item = step.items.parts[i];
    if (!is_in_step(item, index)) {
      continue;
    }
    if (step.is_written) {
      rewrite_item(item, style);
      continue;
    }
    WriteStyle own = style;
    own.mode = item.mode;
    own.plan = plan_of_item(shape_, style.plan, i, step.items.count);
    write_first(item.sequence, item.rows, own);
  }
  step.is_written = true;
  step.is_uneven = step.is_uneven || !style.plan.is_plain();
}

/// What lacks is written, and all of a round again, draft rows with it.
void Model::rewrite_item(StepPart const& item, WriteStyle const& style) {
  complete(item.sequence);
  if (item.deed == StepDeed::kVerify && item.rows != 0 && style.skip != UINT32_MAX) {
    OpenHandle& open = sequences_[item.sequence.value].open;
    std::uint32_t const behind =
        position(item.sequence) - history(sequences_[item.sequence.value]).watermark;
    open.drafted = std::max(open.drafted, std::min(open.draft_rows, behind + item.rows));
  }
}

/// Whether all rows of all items may be written at once.
Observation Model::check_whole(std::uint32_t index) const noexcept {
  if (mapped_step_ != index) {
    return Observation::failure(ErrorCode::kInvalidArgument, "step");
  }
  StepParts const& items = steps_[index].items;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    SequenceName const name = items.parts[i].sequence;
    if (items.parts[i].deed == StepDeed::kPad || is_in_step(items.parts[i], index)) {
      continue;
    }
    return of_item(sequences_[name.value].live && sequences_[name.value].tainted
                       ? Observation::failure(ErrorCode::kTainted, "sequence")
                       : stale_handle(name),
                   i);
  }
  return {};
}

/// Whether nothing of an append is written yet; its rows are written once.
Observation Model::check_unwritten(std::uint32_t index) const noexcept {
  StepParts const& items = steps_[index].items;
  for (std::uint32_t i = 0; i < items.count && steps_[index].is_written; ++i) {
    if (items.parts[i].deed == StepDeed::kAppend && !shape_.written_planes.empty()) {
      return of_item(Observation::failure(ErrorCode::kInvalidArgument, "item"), i);
    }
  }
  return {};
}

Observation Model::check_graph(std::uint32_t index) const noexcept {
  StepParts const& items = steps_[index].items;
  if (!are_captured_alike(*captured_, items)) {
    return Observation::failure(ErrorCode::kInvalidArgument, "signature");
  }
  if (Observation const unwritten = check_unwritten(index); !unwritten.ok) {
    return unwritten;
  }
  for (StepPart const& item : items) {
    if (item.deed != StepDeed::kPad && !has_views(shape_, item.rows, position(item.sequence))) {
      return Observation::failure(ErrorCode::kInvalidArgument);
    }
  }
  return {};
}

bool Model::has_graph_for(SequenceName name) const noexcept {
  ModelStep const* const step = step_of(name);
  return step != nullptr && captured_ && are_captured_alike(*captured_, step->items);
}

/// What was written by views alone, and of all items, a graph captures.
void Model::note_captured(std::uint32_t index, WriteStyle const& style) {
  ModelStep const& step = steps_[index];
  bool const is_all = std::all_of(step.items.begin(), step.items.end(), [&](StepPart const& item) {
    return item.deed == StepDeed::kPad ||
           (is_in_step(item, index) && has_views(shape_, item.rows, position(item.sequence)));
  });
  if (can_capture(style) && !step.is_written && is_all && mapped_step_ == index) {
    captured_ = step.items;
  }
}

Observation Model::write_step(SequenceName name, WriteStyle style, Observation const& got) {
  if (step_of(name) == nullptr) {
    return Observation::failure(ErrorCode::kStale, "step");
  }
  std::uint32_t const index = sequences_[name.value].step;
  bool const replays = style.graph && captured_;
  bool const at_once = style.whole || replays;
  if (at_once && mapped_step_ == kUnknownStep) {
    if (got.is(ErrorCode::kInvalidArgument)) {
      return Observation::failure(ErrorCode::kInvalidArgument);
    }
    mapped_step_ = index;
  }
  Observation checked = at_once ? check_whole(index) : Observation{};
  if (checked.ok && at_once) {
    checked = replays ? check_graph(index) : check_unwritten(index);
  }
  if (!checked.ok) {
    return checked;
  }
  if (replays) {
    style = {.view = true, .skip = UINT32_MAX};  // draft planes are no part of a graph
  }
  note_captured(index, style);
  write_items(index, style);
  return Observation::success(0);
}

Observation Model::finish_step(SequenceName name) {
  if (step_of(name) == nullptr) {
    return Observation::failure(ErrorCode::kStale, "step");
  }
  std::uint32_t const index = sequences_[name.value].step;
  StepParts const& items = steps_[index].items;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& item = items.parts[i];
    if (item.deed != StepDeed::kPad && item.keep != 0 && !is_in_step(item, index) &&
        !is_lost(item, index)) {
      return of_item(Observation::failure(ErrorCode::kStale, "sequence"), i);
    }
  }
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& item = items.parts[i];
    if (is_lost(item, index)) {
      return of_item(Observation::failure(ErrorCode::kTainted, "sequence"), i);
    }
    if (is_in_step(item, index) && item.keep > sequences_[item.sequence.value].open.complete) {
      return of_item(missing_rows(sequences_[item.sequence.value].open, item.keep), i);
    }
  }
  return end_step(index, false);
}

Observation Model::drop_step(SequenceName name) {
  if (step_of(name) == nullptr) {
    return Observation::failure(ErrorCode::kStale, "step");
  }
  return end_step(sequences_[name.value].step, true);
}

bool Model::is_lost(StepPart const& item, std::uint32_t step) const noexcept {
  ModelSequence const& sequence = sequences_[item.sequence.value];
  return item.deed != StepDeed::kPad && sequence.live && sequence.tainted && sequence.step == step;
}

Observation Model::end_step(std::uint32_t index, bool dropped) {
  ModelStep& step = steps_[index];
  Observation answer = Observation::success(0);
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& item = step.items.parts[i];
    Details::Item& says = answer.says.item_at(i);
    says = {.committed = 0, .to_append = 0};
    if (is_in_step(item, index)) {
      ModelSequence& sequence = sequences_[item.sequence.value];
      std::uint32_t const keep = dropped ? 0 : item.keep;
      sequence.tainted = keep == 0 && !sequence.open.drop_is_exact;
      close_round(item.sequence, keep, says);
      answer.value += keep;
    }
  }
  step.open = false;
  answer.says.item_count = dropped ? 0 : answer.says.item_count;
  return answer;
}

void Model::forget_step(SequenceName name) noexcept {
  std::uint32_t const index = sequences_[name.value].step;
  if (index < steps_.size()) {
    steps_[index].open = false;
  }
}

Observation Model::step(StepParts const& items, bool exhausted, WriteStyle const& style) {
  Observation answer = begin_step(items, exhausted);
  if (!answer.ok) {
    return answer;
  }
  auto const index = static_cast<std::uint32_t>(steps_.size() - 1);
  write_items(index, style);
  for (StepPart const& item : items) {
    if (item.deed != StepDeed::kPad && item.keep > sequences_[item.sequence.value].open.complete) {
      complete(item.sequence);
    }
  }
  Observation ended = end_step(index, false);
  for (std::uint32_t i = 0; i < items.count; ++i) {
    ended.says.items[i].exact = answer.says.items[i].exact;
  }
  return ended;
}

}  // namespace holdfast::model
