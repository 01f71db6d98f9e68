// SPDX-License-Identifier: Apache-2.0
// The copying system's steps.
#include <algorithm>

#include "models/copying/copying_system.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model::copying {
Observation CopyingSystem::check_step(StepParts const& items) const noexcept {
  if (items.count == 0) {
    return no(ErrorCode::kInvalidArgument);
  }
  std::uint64_t rows = 0;
  for (StepPart const& item : items) {
    rows += item.rows;
    if (item.deed == StepDeed::kPad) {
      continue;
    }
    if (Observation const checked =
            check_begin(item.sequence, item.deed == StepDeed::kVerify, item.rows, item.mode);
        !checked.ok) {
      return checked;
    }
    for (StepPart const* other = items.begin(); other != &item; ++other) {
      if (other->deed != StepDeed::kPad && other->sequence == item.sequence) {
        return no(ErrorCode::kInvalidArgument);
      }
    }
  }
  Capacity const& capacity = shape_.capacity;
  std::uint64_t const most = capacity.step_rows != 0
                                 ? capacity.step_rows
                                 : capacity.tokens + std::uint64_t{capacity.sequences} *
                                                         std::max(1U, capacity.largest_round);
  return rows > most ? no(ErrorCode::kTooLong) : ok();
}

Observation CopyingSystem::open_items(OpenStep& step) {
  if (Observation const checked = check_step(step.items); !checked.ok) {
    return checked;
  }
  for (StepPart const& item : step.items) {
    if (item.deed != StepDeed::kPad) {
      bool const round = item.deed == StepDeed::kVerify;
      static_cast<void>(begin(item.sequence, round, item.rows, 0, item.token, {.mode = item.mode}));
      sequences_[item.sequence.value].open->in_step = true;
    }
  }
  step.open = true;
  return ok(step.items.count);
}

/// Whether an item is still open in its step.
bool CopyingSystem::is_there(StepPart const& item) const noexcept {
  Named const& named = sequences_[item.sequence.value];
  return item.deed != StepDeed::kPad && named.live && named.open && named.open->in_step;
}

void CopyingSystem::write_items(OpenStep& step, WriteStyle const& style) {
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& item = step.items.parts[i];
    if (!is_there(item)) {
      continue;
    }
    Named& named = sequences_[item.sequence.value];
    WriteStyle own = style;
    own.mode = item.mode;
    own.plan =
        step.is_written ? WritePlan{} : plan_of_item(shape_, style.plan, i, step.items.count);
    if (!step.is_written) {
      write_first(named, item.rows, own);
    } else if (item.deed == StepDeed::kVerify && style.skip != UINT32_MAX) {
      std::uint32_t const behind = named.copy.position() - watermark_of(named.copy);
      std::uint32_t const most = item.rows == 0 ? 0 : behind + item.rows;
      named.open->drafted = std::max(named.open->drafted, std::min(named.open->draft_rows, most));
    }
    if (step.is_written) {
      write(named, 0, item.rows, item.token);  // the same rows
    }
    named.open->complete = step.is_written ? item.rows : named.open->complete;
  }
  step.is_written = true;
}

Observation CopyingSystem::end_items(OpenStep& step, bool dropped) {
  std::uint32_t kept = 0;
  for (StepPart const& item : step.items) {
    if (is_there(item)) {
      std::uint32_t const keep = dropped ? 0 : item.keep;
      close_handle(sequences_[item.sequence.value], keep);
      kept += keep;
    }
  }
  step.open = false;
  return ok(kept);
}

Observation CopyingSystem::step(StepParts const& items, WriteStyle style, StepFate fate) {
  OpenStep step{.items = items};
  if (Observation const opened = open_items(step); !opened.ok) {
    return opened;
  }
  mapped_ = nullptr;
  style.plan = {};  // what lacks is written when the end was refused
  write_items(step, style);
  if (fate.released < items.count) {
    static_cast<void>(release(items.parts[fate.released].sequence, HandleEnd::kCalled));
  }
  return end_items(step, fate.dropped);
}

Observation CopyingSystem::begin_step(StepParts const& items) {
  auto const step = std::make_shared<OpenStep>(OpenStep{.items = items});
  Observation const answer = open_items(*step);
  for (StepPart const& item : items) {
    if (answer.ok && item.deed != StepDeed::kPad) {
      steps_[item.sequence.value] = step;
    }
  }
  mapped_ = answer.ok ? step : mapped_;
  return answer;
}

/// Nothing when no step of this name is open.
CopyingSystem::OpenStep* CopyingSystem::step_of(SequenceName name) const noexcept {
  OpenStep* const step = steps_[name.value].get();
  return step != nullptr && step->open ? step : nullptr;
}

Observation CopyingSystem::write_step(SequenceName name, WriteStyle style) {
  OpenStep* const step = step_of(name);
  if (step == nullptr) {
    return no(ErrorCode::kStale);
  }
  bool const replays = style.graph && captured_;
  bool const at_once = style.whole || replays;
  if (at_once && mapped_.get() != step) {
    return no(ErrorCode::kInvalidArgument);
  }
  for (StepPart const& item : step->items) {
    if (at_once && item.deed != StepDeed::kPad && !is_there(item)) {
      return no(ErrorCode::kStale);
    }
  }
  bool const has_append =
      std::any_of(step->items.begin(), step->items.end(), [](StepPart const& item) {
        return item.deed == StepDeed::kAppend;
      });
  if (at_once && step->is_written && has_append && !shape_.written_planes.empty()) {
    return no(ErrorCode::kInvalidArgument);
  }
  bool const takes_views =
      std::all_of(step->items.begin(), step->items.end(), [&](StepPart const& item) {
        return !is_there(item) ||
               has_views(shape_, item.rows, sequences_[item.sequence.value].copy.position());
      });
  if (replays && (!are_captured_alike(*captured_, step->items) || !takes_views)) {
    return no(ErrorCode::kInvalidArgument);
  }
  bool const is_all =
      std::all_of(step->items.begin(), step->items.end(), [&](StepPart const& item) {
        return item.deed == StepDeed::kPad || is_there(item);
      });
  if (!replays && can_capture(style) && !step->is_written && is_all && takes_views &&
      mapped_.get() == step) {
    captured_ = step->items;
  }
  style.skip = replays ? UINT32_MAX : style.skip;
  write_items(*step, style);
  return ok();
}

Observation CopyingSystem::finish_step(SequenceName name) {
  OpenStep* const step = step_of(name);
  if (step == nullptr) {
    return no(ErrorCode::kStale);
  }
  for (StepPart const& item : step->items) {
    if (item.keep != 0 && !is_there(item)) {
      return no(ErrorCode::kStale);
    }
  }
  for (StepPart const& item : step->items) {
    if (is_there(item) && item.keep > sequences_[item.sequence.value].open->complete) {
      return no(ErrorCode::kIncomplete);
    }
  }
  return end_items(*step, false);
}

Observation CopyingSystem::drop_step(SequenceName name, HandleEnd /*how*/) {
  OpenStep* const step = step_of(name);
  return step == nullptr ? no(ErrorCode::kStale) : end_items(*step, true);
}

}  // namespace holdfast::model::copying
