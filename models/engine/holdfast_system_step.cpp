// SPDX-License-Identifier: Apache-2.0
// Operations over several sequences onto the library's steps.
#include <algorithm>
#include <numeric>

#include "models/engine/holdfast_system.hpp"
#include "models/engine/library_answers.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {

Observation HoldfastSystem::open_step(OpenStep& step, StepParts const& items) {
  StepItem list[kStepItemLimit];
  step.items = items;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    StepPart const& part = items.parts[i];
    list[i].rows = part.rows;
    if (part.deed == StepDeed::kPad) {
      continue;
    }
    list[i].kind = part.deed == StepDeed::kVerify ? StepKind::kVerify : StepKind::kAppend;
    list[i].append_mode = append_mode(part.mode);
    list[i].round_kind = round_kind(part.mode);
    list[i].sequence = &kept(part.sequence).sequence;
    if (auto const position = list[i].sequence->position(); position) {
      step.positions[i] = *position;
      step.sequences[i] = list[i].sequence->id().index;
    }
  }
  Status const asked = cache_.can_begin({list, items.count});
  auto begun = cache_.begin({list, items.count}, stream_);
  if (!begun && begun.error().code == ErrorCode::kDeviceFailed) {
    mapped_ = nullptr;  // or still the one before
    return Observation::failure(begun.error());
  }
  if (!agree(asked, begun ? Status{} : Status{begun.error()})) {
    return Observation::failure(kNeverAnswered);
  }
  if (!begun) {
    return Observation::failure(begun.error());
  }
  step.handle.emplace(std::move(*begun));
  step.streams.fill(stream_);
  step.begun_in = stream_;
  mapped_ = &step;
  Observation answer = Observation::success(items.count);
  say_exact(*step.handle, items, answer.says);
  return answer;
}

bool HoldfastSystem::is_there(StepPart const& item) const {
  SequenceInfo const info = inspect().sequence(id(item.sequence).index);
  return info.live && info.generation == id(item.sequence).generation && !info.tainted;
}

bool HoldfastSystem::are_all_there(StepParts const& items) const {
  return std::all_of(items.begin(), items.end(), [&](StepPart const& item) {
    return item.deed == StepDeed::kPad || is_there(item);
  });
}

Status HoldfastSystem::write_items(OpenStep& step, WriteStyle style) {
  style.again = step.is_written;
  bool const replays = style.graph && graph_;
  if (replays) {
    HOLDFAST_TRY(replay(step, style));
  } else if (style.whole) {
    HOLDFAST_TRY(write_whole(step, style));
  }
  // After the writes: the host waits here, and would order what the writes must wait for.
  if (mapped_ == &step) {
    HOLDFAST_TRY(names_rows(step));
  }
  for (std::uint32_t i = 0; i < step.items.count && !style.whole; ++i) {
    if (step.items.parts[i].deed != StepDeed::kPad && is_there(step.items.parts[i])) {
      HOLDFAST_TRY(write_item(step, i, style));
    }
  }
  step.plan = step.is_written ? WritePlan{} : style.plan;
  step.is_written = true;
  return are_all_there(step.items) ? err_step(step, style) : Status{};
}

/// Keeps what a graph is bound to that holds the engine's own launches; where all went through views.
Status HoldfastSystem::capture_graph(OpenStep& step) {
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& part = step.items.parts[i];
    if (part.deed != StepDeed::kPad && !has_views(engine_.shape(), part.rows, step.positions[i])) {
      return {};
    }
  }
  auto const signature = step.handle->signature();
  if (!signature) {
    return Error{.code = kNeverAnswered};
  }
  graph_ = Graph{*signature, step.items};
  return {};
}

Status HoldfastSystem::replay(OpenStep& step, WriteStyle& style) {
  HOLDFAST_TRY(step.handle->replay(graph_->signature, stream_));
  step.streams.fill(stream_);
  style = {.view = true, .again = style.again, .skip = UINT32_MAX, .graph = true};
  return {};
}

/// Writes an item for the first time; later what it lacks, and a round again.
Status HoldfastSystem::write_item(OpenStep& step, std::uint32_t item, WriteStyle style) {
  StepPart const& part = step.items.parts[item];
  StepRows rows{*step.handle, item, part.deed == StepDeed::kVerify, !(style.graph && graph_)};
  std::vector<Token> const tokens = tokens_of(part.token, part.rows);
  style.mode = part.mode;
  style.stream = step.streams[item];  // what goes through views has no call that could move it
  bool const is_round = part.deed == StepDeed::kVerify;
  if (step.is_written && !is_round && !lacks_rows(step, item, part.rows)) {
    return {};
  }
  style.plan = plan_of_item(
      engine_.shape(), step.is_written ? step.plan : style.plan, item, step.items.count);
  Status wrote;
  if (step.is_written && !is_round) {
    style.view = false;
    wrote = engine_.fill(rows, step.positions[item], tokens, part.rows, style);
  } else {
    style.plan = step.is_written ? WritePlan{} : style.plan;
    wrote = engine_.write(
        rows, step.positions[item], tokens, 0, part.rows, style, kept(part.sequence).history);
  }
  step.streams[item] = engine_.stream();
  return wrote;
}

/// Writes all items of a step at once. What no such write takes follows in the same stream.
Status HoldfastSystem::write_whole(OpenStep& step, WriteStyle style) {
  Stream const all = style.via.value_or(stream_);
  note_stream(all);
  note_via(style.plan);
  style.stream = all;
  std::vector<ItemRows> rows;
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& part = step.items.parts[i];
    bool const is_padding = part.deed == StepDeed::kPad;
    rows.push_back(
        {.is_padding = is_padding,
         .round = part.deed == StepDeed::kVerify,
         .mode = part.mode,
         .position = step.positions[i],
         .rows = part.rows,
         .tokens = tokens_of(part.token, part.rows),
         .history = is_padding ? std::span<Token const>{} : kept(part.sequence).history});
  }
  Status wrote = engine_.write_step(*step.handle, rows, style);
  if (wrote) {
    step.streams.fill(all);
    bool const is_elsewhere = style.plan.via != kStreamNames;
    wrote = is_elsewhere ? wait_for(Stream{style.plan.via}) : wrote;  // where one part went
  }
  return wrote;
}

/// Whether so many rows of an item are not written everywhere.
bool HoldfastSystem::lacks_rows(OpenStep const& step,
                                std::uint32_t item,
                                std::uint32_t rows) const {
  StepPart const& part = step.items.parts[item];
  WritePlan const own = plan_of_item(engine_.shape(), step.plan, item, step.items.count);
  return part.deed != StepDeed::kPad &&
         complete_rows(engine_.shape(), own, part.mode, part.rows) < rows;
}

Status HoldfastSystem::fill_step(OpenStep& step, WriteStyle style) {
  style.view = false;
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& part = step.items.parts[i];
    if (lacks_rows(step, i, part.keep)) {
      StepRows rows{*step.handle, i, part.deed == StepDeed::kVerify};
      style.mode = part.mode;
      style.stream = step.streams[i];
      style.plan = plan_of_item(engine_.shape(), step.plan, i, step.items.count);
      HOLDFAST_TRY(engine_.fill(
          rows, step.positions[i], tokens_of(part.token, part.rows), part.rows, style));
      step.streams[i] = engine_.stream();
    }
  }
  return {};
}

Status HoldfastSystem::err_step(OpenStep& step, WriteStyle const& style) {
  if (style.plan.mistake == Mistake::kNone) {
    return {};
  }
  auto const is = [](Status const& answer, ErrorCode code) {
    return !answer && answer.error().code == code;
  };
  StepParts const& items = step.items;
  Step& handle = *step.handle;
  std::uint32_t keep[kStepItemLimit] = {};
  bool are_refused =
      is(handle.finish({keep, items.count - 1U}, {}, stream_), ErrorCode::kInvalidArgument);
  keep[style.plan.part % items.count] = UINT32_MAX;
  are_refused = are_refused &&
                is(handle.finish({keep, items.count}, {}, stream_), ErrorCode::kInvalidArgument);
  for (std::uint32_t i = 0; i <= items.count; ++i) {
    bool const is_past = i == items.count;
    if (is_past || items.parts[i].deed == StepDeed::kPad) {
      Status const wrote = handle.write(i, PlaneKind::kAttentionKv, 0, nullptr, 0, 1, stream_);
      are_refused =
          are_refused && is(wrote, is_past ? ErrorCode::kInvalidArgument : ErrorCode::kStale);
    }
  }
  return are_refused ? Status{} : Status{Error{.code = kNeverAnswered}};
}

Status HoldfastSystem::names_rows(OpenStep const& step) const {
  for (std::uint32_t device = 0; device < devices_.size(); ++device) {
    HOLDFAST_TRY(names_rows(step, device));
  }
  return {};
}

Status HoldfastSystem::names_rows(OpenStep const& step, std::uint32_t device) const {
  auto const array = step.handle->row_sequences(device);
  HOLDFAST_TRY(array);
  std::size_t row = 0;
  for (StepPart const& part : step.items) {
    std::uint32_t const index =
        step.sequences[static_cast<std::size_t>(&part - step.items.begin())];
    for (std::uint32_t i = 0; i < part.rows; ++i, ++row) {
      std::uint32_t named = UINT32_MAX;
      HOLDFAST_TRY(devices_[device]->host_read(
          &named, reinterpret_cast<std::byte const*>(*array + row), sizeof named, step.begun_in));
      if (named != index) {
        return Error{.code = kNeverAnswered};
      }
    }
  }
  return {};
}

Status HoldfastSystem::finish(OpenStep& step, std::span<Accepted> accepted) {
  std::uint32_t keep[kStepItemLimit] = {};
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    keep[i] = step.items.parts[i].keep;
  }
  return step.handle->finish({keep, step.items.count}, accepted, stream_);
}

Observation HoldfastSystem::keep_items(OpenStep& step,
                                       std::span<Accepted const> accepted,
                                       Observation answer) {
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& part = step.items.parts[i];
    say(accepted[i], answer.says.item_at(i));
    answer.value += accepted[i].committed + accepted[i].rows_to_append;
    if (part.deed != StepDeed::kPad) {
      note_kept(part.sequence, tokens_of(part.token, accepted[i].committed));
    }
  }
  for (std::uint32_t i = 0; i < step.items.count; ++i) {
    StepPart const& part = step.items.parts[i];
    if (std::uint32_t const again = accepted[i].rows_to_append; again != 0) {
      Status const appended =
          append_again(part.sequence, step.positions[i], tokens_of(part.token, again));
      if (!appended) {
        return give_up(step, appended);
      }
    }
  }
  return answer;
}

/// Lets go of the step, and of its sequences when a device failed.
Observation HoldfastSystem::give_up(OpenStep& step, Status const& status) {
  if (step.handle) {
    static_cast<void>(step.handle->drop(stream_));
  }
  step.handle.reset();
  for (StepPart const& part : step.items) {
    if (part.deed != StepDeed::kPad) {
      static_cast<void>(give_up(part.sequence, status));
    }
  }
  return Observation::failure(status.error());
}

Observation HoldfastSystem::drop(OpenStep& step, HandleEnd how, Observation const& answer) {
  if (how == HandleEnd::kCalled) {
    Status const dropped = step.handle->drop(stream_);
    return dropped ? answer : give_up(step, dropped);
  }
  last_stream_ = Stream{};
  let_end(step.handle, how);
  return was_destroyed() ? answer : give_up(step, Error{.code = ErrorCode::kDeviceFailed});
}

Observation HoldfastSystem::step(StepParts const& items, WriteStyle style, StepFate fate) {
  OpenStep step;
  Observation answer = open_step(step, items);
  if (!answer.ok) {
    return answer;
  }
  answer.value = 0;
  if (varies_writes_ && (fate.dropped || fate.released < items.count)) {
    style.whole = std::accumulate(items.begin(),
                                  items.end(),
                                  Token{0},
                                  [](Token sum, StepPart const& part) {
                                    return sum + part.token + part.rows;
                                  }) %
                      2 ==
                  0;
  }
  if (Status const wrote = write_items(step, style); !wrote) {
    return give_up(step, wrote);
  }
  observe_middle();
  if (fate.released < items.count) {
    note_stream(fate.released_in);
    Sequence& sequence = kept(items.parts[fate.released].sequence).sequence;
    if (Status const released = sequence.release(fate.released_in); !released) {
      return give_up(step, released);
    }
  }
  if (fate.dropped) {
    return drop(step, fate.destroyed ? HandleEnd::kDestroyed : HandleEnd::kCalled, answer);
  }
  Accepted accepted[kStepItemLimit];
  std::span<Accepted> const all{accepted, items.count};
  Status done = finish(step, all);
  bool lacks = false;
  for (std::uint32_t i = 0; i < items.count; ++i) {
    lacks = lacks || lacks_rows(step, i, items.parts[i].keep);
  }
  if (lacks && (done || done.error().code == ErrorCode::kIncomplete)) {
    done = done ? Status{Error{.code = kNeverAnswered}} : fill_step(step, style);
    observe_middle();  // what was written since is looked for while the rows are open
    done = done ? finish(step, all) : done;
  }
  return done ? keep_items(step, all, answer) : give_up(step, done);
}

void HoldfastSystem::observe_middle() const {
  if (observer_) {
    observer_();
  }
}

Observation HoldfastSystem::begin_step(StepParts const& items) {
  auto const step = std::make_shared<OpenStep>();
  Observation const answer = open_step(*step, items);
  for (StepPart const& part : items) {
    if (answer.ok && part.deed != StepDeed::kPad) {
      kept(part.sequence).step = step;
      kept(part.sequence).stream = stream_;
    }
  }
  return answer;
}

/// The step of a name; nothing when it never was in one, or when the engine let go of it.
HoldfastSystem::OpenStep* HoldfastSystem::step_of(SequenceName name) {
  OpenStep* const step = kept(name).step.get();
  return step != nullptr && step->handle ? step : nullptr;
}

/// What a step answers that is over; success while it is open. All of its calls must say the same.
Status HoldfastSystem::check_open(OpenStep& step) const {
  Step& handle = *step.handle;
  auto const open = handle.row_sequences();
  if (open) {
    return {};
  }
  Status const answer = open.error();
  auto const signature = handle.signature();
  auto const exact = handle.drop_is_exact(0);
  bool const are_alike =
      agree(answer, handle.write(0, PlaneKind::kAttentionKv, 0, nullptr, 0, 1, stream_)) &&
      agree(answer, signature ? Status{} : Status{signature.error()}) &&
      agree(answer, exact ? Status{} : Status{exact.error()}) &&
      agree(answer, handle.drop(stream_));
  return are_alike ? answer : Status{Error{.code = kNeverAnswered}};
}

Observation HoldfastSystem::write_step(SequenceName name, WriteStyle style) {
  OpenStep* const step = step_of(name);
  if (step == nullptr) {
    return no_handle();
  }
  if (Status const open = check_open(*step); !open) {
    return observe(open);
  }
  note_via(style.plan);
  bool const captures = !(style.graph && graph_) && can_capture(style) && !step->is_written &&
                        mapped_ == step && are_all_there(step->items);
  Status wrote = write_items(*step, style);
  if (wrote && captures) {
    wrote = capture_graph(*step);
  }
  if (!wrote && wrote.error().code == ErrorCode::kDeviceFailed) {
    return give_up(*step, wrote);
  }
  return observe(wrote);
}

Observation HoldfastSystem::finish_step(SequenceName name) {
  OpenStep* const step = step_of(name);
  if (step == nullptr) {
    return no_handle();
  }
  Accepted accepted[kStepItemLimit];
  std::span<Accepted> const all{accepted, step->items.count};
  Status const done = finish(*step, all);
  if (!done && done.error().code == ErrorCode::kDeviceFailed) {
    return give_up(*step, done);
  }
  return done ? keep_items(*step, all, Observation::success(0)) : observe(done);
}

Observation HoldfastSystem::drop_step(SequenceName name, HandleEnd how) {
  OpenStep* const step = step_of(name);
  if (step == nullptr) {
    return no_handle();
  }
  if (Status const open = check_open(*step); !open) {
    if (how != HandleEnd::kCalled) {
      step->handle.reset();
    }
    return observe(open);
  }
  return drop(*step, how, Observation::success(0));
}

}  // namespace holdfast::model
