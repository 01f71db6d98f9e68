// SPDX-License-Identifier: Apache-2.0
// Operations over several sequences onto the library's steps.
#include "models/engine/holdfast_system.hpp"
#include "models/engine/library_answers.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {

Observation HoldfastSystem::step(StepParts const& items, WriteStyle style, StepFate fate) {
  StepItem list[kStepItemLimit];
  std::uint32_t positions[kStepItemLimit] = {};
  std::uint32_t keep[kStepItemLimit] = {};
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    keep[i] = part.keep;
    list[i].rows = part.rows;
    if (part.deed == StepDeed::kPad) {
      continue;
    }
    list[i].kind = part.deed == StepDeed::kVerify ? StepKind::kVerify : StepKind::kAppend;
    list[i].append_mode = append_mode(part.mode);
    list[i].round_kind = round_kind(part.mode);
    list[i].sequence = &kept(part.sequence).sequence;
    if (auto const position = list[i].sequence->position(); position) {
      positions[i] = *position;
    }
  }
  Status const asked = cache_.can_begin({list, items.count});
  auto step = cache_.begin({list, items.count}, stream_);
  if (!step && step.error().code == ErrorCode::kDeviceFailed) {
    return Observation::failure(step.error());
  }
  if (!agree(asked, step ? Status{} : Status{step.error()})) {
    return Observation::failure(kNeverAnswered);
  }
  if (!step) {
    return Observation::failure(step.error());
  }
  Observation answer = Observation::success(0);
  say_exact(*step, items, answer.says);
  auto const give_up_all = [&](Status const& status) {
    if (fate.destroyed) {
      static_cast<void>(Step{std::move(*step)});
    } else {
      static_cast<void>(step->drop(stream_));
    }
    for (StepPart const& part : items) {
      if (part.deed != StepDeed::kPad) {
        static_cast<void>(give_up(part.sequence, status));
      }
    }
    return Observation::failure(status.error());
  };
  if (varies_writes_ && (fate.dropped || fate.released < items.count)) {
    Token sum = 0;
    for (StepPart const& part : items) {
      sum += part.token + part.rows;
    }
    style.whole = sum % 2 == 0;
  }
  if (Status const wrote = style.whole ? write_whole(*step, items, positions, style) : Status{};
      !wrote) {
    return give_up_all(wrote);
  }
  // After the writes: the host waits here, and would order what the writes must wait for.
  if (Status const named = names_rows(*step, items); !named) {
    return give_up_all(named);
  }
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    if (part.deed == StepDeed::kPad || style.whole) {
      continue;
    }
    std::vector<Token> const tokens = tokens_of(part.token, part.rows);
    WriteStyle own = style;
    own.mode = part.mode;
    own.stream = stream_;
    own.plan = plan_of_item(engine_.shape(), style.plan, i, items.count);
    StepRows rows{*step, i, part.deed == StepDeed::kVerify};
    if (Status const wrote = engine_.write(
            rows, positions[i], tokens, 0, part.rows, own, kept(part.sequence).history);
        !wrote) {
      return give_up_all(wrote);
    }
  }
  if (Status const refused = err_step(*step, items, style); !refused) {
    return give_up_all(refused);
  }
  if (observer_) {
    observer_();
  }
  if (fate.released < items.count) {
    note_stream(fate.released_in);
    Sequence& sequence = kept(items.parts[fate.released].sequence).sequence;
    if (Status const released = sequence.release(fate.released_in); !released) {
      return give_up_all(released);
    }
  }
  if (fate.dropped && fate.destroyed) {
    last_stream_ = Stream{};
    static_cast<void>(Step{std::move(*step)});
    bool const failed = faults_ != nullptr && faults_->failed() != 0;  // a destructor says nothing
    return failed ? give_up_all(Error{.code = ErrorCode::kDeviceFailed}) : answer;
  }
  if (fate.dropped) {
    Status const dropped = step->drop(stream_);
    return dropped ? answer : give_up_all(dropped);
  }
  Accepted accepted[kStepItemLimit];
  auto const finish = [&] {
    return step->finish({keep, items.count}, {accepted, items.count}, stream_);
  };
  Status done = finish();
  bool lacks = false;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    lacks = lacks || lacks_rows(items, i, style.plan);
  }
  if (lacks && (done || done.error().code == ErrorCode::kIncomplete)) {
    done = done ? Status{Error{.code = kNeverAnswered}} : fill_step(*step, items, positions, style);
    if (observer_) {
      observer_();  // what was written since is looked for while the rows are open
    }
    done = done ? finish() : done;
  }
  if (!done) {
    return give_up_all(done);
  }
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    say(accepted[i], answer.says.item_at(i));
    answer.value += accepted[i].committed + accepted[i].rows_to_append;
    if (part.deed != StepDeed::kPad) {
      note_kept(part.sequence, tokens_of(part.token, accepted[i].committed));
    }
  }
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    if (std::uint32_t const again = accepted[i].rows_to_append; again != 0) {
      if (Status const appended =
              append_again(part.sequence, positions[i], tokens_of(part.token, again));
          !appended) {
        return give_up_all(appended);
      }
    }
  }
  return answer;
}

/// Writes all items of a step at once.
Status HoldfastSystem::write_whole(Step& step,
                                   StepParts const& items,
                                   std::uint32_t const* positions,
                                   WriteStyle style) {
  note_stream(style.via.value_or(stream_));
  note_via(style.plan);
  std::vector<ItemRows> rows;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    bool const is_padding = part.deed == StepDeed::kPad;
    rows.push_back(
        {.is_padding = is_padding,
         .round = part.deed == StepDeed::kVerify,
         .mode = part.mode,
         .position = positions[i],
         .rows = part.rows,
         .tokens = tokens_of(part.token, part.rows),
         .history = is_padding ? std::span<Token const>{} : kept(part.sequence).history});
  }
  style.stream = stream_;
  return engine_.write_step(step, rows, style);
}

/// Whether an item has fewer rows than are kept of it.
bool HoldfastSystem::lacks_rows(StepParts const& items,
                                std::uint32_t item,
                                WritePlan const& plan) const {
  StepPart const& part = items.parts[item];
  WritePlan const own = plan_of_item(engine_.shape(), plan, item, items.count);
  return part.deed != StepDeed::kPad &&
         complete_rows(engine_.shape(), own, part.mode, part.rows) < part.keep;
}

Status HoldfastSystem::fill_step(Step& step,
                                 StepParts const& items,
                                 std::uint32_t const* positions,
                                 WriteStyle style) {
  WritePlan const plan = style.plan;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    if (lacks_rows(items, i, plan)) {
      StepRows rows{step, i, part.deed == StepDeed::kVerify};
      style.mode = part.mode;
      style.stream = stream_;  // by calls, which wait for the part's own stream
      style.view = false;
      style.plan = plan_of_item(engine_.shape(), plan, i, items.count);
      HOLDFAST_TRY(
          engine_.fill(rows, positions[i], tokens_of(part.token, part.rows), part.rows, style));
    }
  }
  return {};
}

Status HoldfastSystem::err_step(Step& step, StepParts const& items, WriteStyle const& style) {
  if (style.plan.mistake == Mistake::kNone) {
    return {};
  }
  auto const is = [](Status const& answer, ErrorCode code) {
    return !answer && answer.error().code == code;
  };
  std::uint32_t keep[kStepItemLimit] = {};
  bool are_refused =
      is(step.finish({keep, items.count - 1U}, {}, stream_), ErrorCode::kInvalidArgument);
  keep[style.plan.part % items.count] = UINT32_MAX;
  are_refused =
      are_refused && is(step.finish({keep, items.count}, {}, stream_), ErrorCode::kInvalidArgument);
  for (std::uint32_t i = 0; i <= items.count; ++i) {
    bool const is_past = i == items.count;
    if (is_past || items.parts[i].deed == StepDeed::kPad) {
      Status const wrote = step.write(i, PlaneKind::kAttentionKv, 0, nullptr, 0, 1, stream_);
      are_refused =
          are_refused && is(wrote, is_past ? ErrorCode::kInvalidArgument : ErrorCode::kStale);
    }
  }
  return are_refused ? Status{} : Status{Error{.code = kNeverAnswered}};
}

Status HoldfastSystem::names_rows(Step const& step, StepParts const& items) const {
  for (std::uint32_t device = 0; device < devices_.size(); ++device) {
    HOLDFAST_TRY(names_rows(step, items, device));
  }
  return {};
}

Status HoldfastSystem::names_rows(Step const& step,
                                  StepParts const& items,
                                  std::uint32_t device) const {
  auto const array = step.row_sequences(device);
  HOLDFAST_TRY(array);
  std::size_t row = 0;
  for (StepPart const& part : items) {
    std::uint32_t const index = part.deed == StepDeed::kPad ? 0 : id(part.sequence).index;
    for (std::uint32_t i = 0; i < part.rows; ++i, ++row) {
      std::uint32_t named = UINT32_MAX;
      HOLDFAST_TRY(devices_[device]->host_read(
          &named, reinterpret_cast<std::byte const*>(*array + row), sizeof named, stream_));
      if (named != index) {
        return Error{.code = kNeverAnswered};
      }
    }
  }
  return {};
}

}  // namespace holdfast::model
