// SPDX-License-Identifier: Apache-2.0
// Operations onto the library's calls.
#include "models/engine/holdfast_system.hpp"

#include <algorithm>
#include <numeric>

#include "models/engine/library_answers.hpp"
#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

AppendMode append_mode(StateMode mode) {
  return mode == StateMode::kInPlace ? AppendMode::kInPlace : AppendMode::kOutOfPlace;
}

RoundKind round_kind(StateMode mode) {
  switch (mode) {
    case StateMode::kFresh:
      return RoundKind::kColumns;
    case StateMode::kInPlace:
      return RoundKind::kInPlace;
    case StateMode::kRescan:
      return RoundKind::kRescan;
  }
  return RoundKind::kColumns;
}

std::vector<Token> tokens_of(Token first, std::uint32_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

}  // namespace

HoldfastSystem::HoldfastSystem(Layout const& layout,
                               std::span<Device* const> devices,
                               ToyEngine& engine)
    : layout_{layout},
      entries_(kNameLimit),
      first_names_(kNameLimit),
      devices_(devices.begin(), devices.end()),
      engine_{engine} {
  sequences_.reserve(kNameLimit);
  snapshots_.reserve(kNameLimit);
  auto cache = Cache::create(layout, devices);
  if (!cache) {
    throw InputError("layout: " + describe(cache.error()));
  }
  cache_ = std::move(*cache);
  if (Status const set = cache_.set_rescan(&ToyEngine::rescan, &engine_); !set) {
    throw InputError("rescan: " + describe(set.error()));
  }
}

Observation HoldfastSystem::create(SequenceName name) {
  auto sequence = cache_.create_sequence(stream_);
  if (!sequence) {
    return Observation::failure(sequence.error());
  }
  kept(name).sequence = std::move(*sequence);
  kept(name).history.clear();
  return Observation::success(0);
}

Observation HoldfastSystem::begin(SequenceName name,
                                  bool round,
                                  std::uint32_t rows,
                                  std::uint32_t written,
                                  Token token,
                                  WriteStyle style) {
  style.stream = stream_;
  Named& named = kept(name);
  auto const position = named.sequence.position();
  if (!position) {
    return Observation::failure(position.error());
  }
  Status wrote;
  Observation answer = Observation::success(rows);
  std::vector<Token> tokens = tokens_of(token, written);
  if (round) {
    auto handle = named.sequence.verify(rows, stream_, round_kind(style.mode));
    if (!handle) {
      return Observation::failure(handle.error());
    }
    say_draft(*handle, engine_.shape(), answer.says);
    named.append.reset();
    named.round.emplace(std::move(*handle));
    wrote = engine_.write(*named.round, *position, tokens, 0, written, style, named.history);
  } else {
    auto handle = named.sequence.append(rows, stream_, append_mode(style.mode));
    if (!handle) {
      return Observation::failure(handle.error());
    }
    say_draft(*handle, engine_.shape(), answer.says);
    if (auto const exact = handle->drop_is_exact()) {
      answer.says.item_at(0).exact = *exact ? 1 : 0;
    }
    named.round.reset();
    named.append.emplace(std::move(*handle));
    wrote = engine_.write(*named.append, *position, tokens, 0, written, style, named.history);
  }
  named.position = *position;
  named.tokens = std::move(tokens);
  named.mode = style.mode;
  named.stream = stream_;
  named.failed_elsewhere = false;
  return wrote ? answer : give_up(name, wrote);
}

Observation HoldfastSystem::rewrite(
    SequenceName name, std::uint32_t first, std::uint32_t count, Token token, WriteStyle style) {
  Named& named = kept(name);
  if (!named.round) {
    return no_handle();
  }
  std::vector<Token> const before = named.tokens;
  if (named.tokens.size() < std::size_t{first} + count) {
    named.tokens.resize(std::size_t{first} + count);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    named.tokens[first + i] = token + i;
  }
  style.mode = named.mode;
  style.stream = named.stream;  // what goes through views has no call that could move it
  Status wrote =
      engine_.write(*named.round, named.position, named.tokens, first, count, style, named.history);
  if (wrote && named.failed_elsewhere) {
    wrote = wait_for(style.stream);  // the next call may wait for the other stream alone
  }
  if (!wrote) {
    named.tokens = before;
    return give_up(name, wrote);
  }
  return Observation::success(count);
}

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
    style.mode = part.mode;
    style.stream = stream_;
    StepRows rows{*step, i, part.deed == StepDeed::kVerify};
    if (Status const wrote = engine_.write(
            rows, positions[i], tokens, 0, part.rows, style, kept(part.sequence).history);
        !wrote) {
      return give_up_all(wrote);
    }
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
    static_cast<void>(Step{std::move(*step)});
    bool const failed = faults_ != nullptr && faults_->failed() != 0;  // a destructor says nothing
    return failed ? give_up_all(Error{.code = ErrorCode::kDeviceFailed}) : answer;
  }
  if (fate.dropped) {
    Status const dropped = step->drop(stream_);
    return dropped ? answer : give_up_all(dropped);
  }
  Accepted accepted[kStepItemLimit];
  if (Status const done = step->finish({keep, items.count}, {accepted, items.count}, stream_);
      !done) {
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

/// Appends rows that an in-place round kept but did not commit.
Status HoldfastSystem::append_again(SequenceName name,
                                    std::uint32_t position,
                                    std::span<Token const> tokens) {
  Named& named = kept(name);
  auto const rows = static_cast<std::uint32_t>(tokens.size());
  auto handle = named.sequence.append(rows, stream_);
  HOLDFAST_TRY(handle);
  Status done =
      engine_.write(*handle, position, tokens, 0, rows, {.stream = stream_}, named.history);
  if (done) {
    done = handle->commit(stream_);
  }
  if (!done) {
    static_cast<void>(handle->drop(stream_));
    return done;
  }
  note_kept(name, tokens);
  return {};
}

Observation HoldfastSystem::fail(SequenceName name, Status const& status) {
  Named& named = kept(name);
  if (status.error().code == ErrorCode::kDeviceFailed && is_tainted(name)) {
    named.append.reset();
    named.round.reset();
  } else if (status.error().code == ErrorCode::kDeviceFailed && !wait_for(stream_)) {
    let_go(name);  // work that the call enqueued may be under way
  } else if (status.error().code == ErrorCode::kDeviceFailed && !(stream_ == named.stream)) {
    named.failed_elsewhere = true;
  }
  return Observation::failure(status.error());
}

Observation HoldfastSystem::give_up(SequenceName name, Status const& status) {
  if (status.error().code == ErrorCode::kDeviceFailed) {
    let_go(name);
  }
  return Observation::failure(status.error());
}

void HoldfastSystem::let_go(SequenceName name) {
  Named& named = kept(name);
  if (named.append) {
    static_cast<void>(named.append->drop(stream_));
  }
  if (named.round) {
    static_cast<void>(named.round->drop(stream_));
  }
  named.append.reset();
  named.round.reset();
  given_up_.push_back(name);
}

void HoldfastSystem::note_kept(SequenceName name, std::span<Token const> tokens) {
  std::vector<Token>& history = kept(name).history;
  history.insert(history.end(), tokens.begin(), tokens.end());
}

/// Whether the step's arrays on all devices name the sequence of every row, and 0 for padding.
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

Observation HoldfastSystem::commit(SequenceName name) {
  Named& named = kept(name);
  if (!named.append) {
    return no_handle();
  }
  Status const committed = named.append->commit(stream_);
  if (!committed) {
    return fail(name, committed);
  }
  note_kept(name, named.tokens);
  return Observation::success(0);
}

Observation HoldfastSystem::drop(SequenceName name) {
  Named& named = kept(name);
  if (named.round) {
    Status const dropped = named.round->drop(stream_);
    return dropped ? Observation::success(0) : fail(name, dropped);
  }
  if (!named.append) {
    return no_handle();
  }
  auto const exact = named.append->drop_is_exact();
  if (Status const dropped = named.append->drop(stream_); !dropped) {
    return fail(name, dropped);
  }
  bool const tainted = is_tainted(name);
  if (!exact || tainted == *exact) {
    return Observation::failure(kNeverAnswered);
  }
  return Observation::success(tainted ? 1 : 0);
}

Observation HoldfastSystem::accept(SequenceName name, std::uint32_t keep) {
  Named& named = kept(name);
  if (!named.round) {
    return no_handle();
  }
  auto const accepted = named.round->accept(keep, stream_);
  if (!accepted) {
    return fail(name, accepted.error());
  }
  std::uint32_t const again = accepted->rows_to_append;
  note_kept(name, std::span{named.tokens}.first(accepted->committed));
  if (again != 0) {
    if (Status const appended =
            append_again(name, named.position, std::span{named.tokens}.first(again));
        !appended) {
      return give_up(name, appended);
    }
  }
  Observation answer = Observation::success(accepted->committed + again);
  say(*accepted, answer.says.item_at(0));
  return answer;
}

Observation HoldfastSystem::snapshot(SequenceName name, SnapshotName snapshot) {
  auto held = kept(name).sequence.snapshot();
  if (!held) {
    return Observation::failure(held.error());
  }
  kept(snapshot).snapshot = std::move(*held);
  kept(snapshot).history = kept(name).history;
  auto const position = kept(snapshot).snapshot.position();
  return position ? Observation::success(*position) : Observation::failure(position.error());
}

Observation HoldfastSystem::drop_snapshot(SnapshotName snapshot) {
  return observe(kept(snapshot).snapshot.drop());
}

Observation HoldfastSystem::rollback(SequenceName name, SnapshotName snapshot) {
  Sequence& sequence = kept(name).sequence;
  if (Status const done = sequence.rollback(kept(snapshot).snapshot, stream_); !done) {
    return Observation::failure(done.error());
  }
  kept(name).history = kept(snapshot).history;
  auto const position = sequence.position();
  return position ? Observation::success(*position) : Observation::failure(position.error());
}

Observation HoldfastSystem::fork(SnapshotName snapshot, SequenceName name) {
  auto sequence = kept(snapshot).snapshot.fork(stream_);
  if (!sequence) {
    return Observation::failure(sequence.error());
  }
  kept(name).sequence = std::move(*sequence);
  kept(name).history = kept(snapshot).history;
  auto const position = kept(name).sequence.position();
  return position ? Observation::success(*position) : Observation::failure(position.error());
}

Observation HoldfastSystem::can_truncate(SequenceName name, std::uint32_t length) {
  return observe(kept(name).sequence.can_truncate(length), length);
}

Observation HoldfastSystem::truncate(SequenceName name, std::uint32_t length) {
  Status const shortened = kept(name).sequence.truncate(length, stream_);
  if (shortened) {
    kept(name).history.resize(length);
  }
  return observe(shortened, length);
}

Observation HoldfastSystem::release(SequenceName name) {
  return observe(kept(name).sequence.release(stream_));
}

Observation HoldfastSystem::use_stream(Stream stream) {
  stream_ = stream;
  note_stream(stream);
  return Observation::success(0);
}

void HoldfastSystem::note_stream(Stream stream) {
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) {
    streams_.push_back(stream);
  }
}

Status HoldfastSystem::wait_for(Stream stream) {
  for (Device* const device : devices_) {
    HOLDFAST_TRY(device->synchronize(stream));
  }
  return {};
}

Observation HoldfastSystem::sync() {
  for (Stream const stream : streams_) {
    if (Status const done = wait_for(stream); !done) {
      return Observation::failure(done.error());
    }
  }
  engine_.settle();
  return Observation::success(0);
}

Observation HoldfastSystem::delay(Stream stream, std::uint32_t device) {
  if (delay_) {
    delay_(stream, device);
  }
  return Observation::success(0);
}

Observation HoldfastSystem::fault(FaultPlan const& plan) {
  if (faults_ != nullptr) {
    faults_->plan(plan);
  }
  return Observation::success(0);
}

Observation HoldfastSystem::heal() {
  if (faults_ != nullptr) {
    faults_->heal();
  }
  return Observation::success(0);
}

Observation HoldfastSystem::close() {
  return observe(cache_.close());
}

SequenceLook HoldfastSystem::sequence(SequenceName name) const noexcept {
  HandleId const own = id(name);
  SequenceInfo const info = inspect().sequence(own.index);
  return {.live = info.live && info.generation == own.generation,
          .tainted = info.tainted,
          .open = info.open,
          .round = info.round,
          .position = info.position,
          .open_rows = info.open_rows};
}

PlaneLook HoldfastSystem::plane(Label name, std::uint32_t plane) const noexcept {
  PlaneState const state = inspect().state(holder(name), plane);
  return {.length = state.length, .resident = state.lo};
}

bool HoldfastSystem::read_rows(Label name,
                               RowsWanted const& wanted,
                               std::span<float> out) const noexcept {
  return static_cast<bool>(inspect().read_rows(holder(name),
                                               wanted.plane,
                                               wanted.layer_index,
                                               wanted.first,
                                               wanted.count,
                                               out,
                                               wanted.rank));
}

bool HoldfastSystem::read_state(Label name,
                                std::uint32_t rank,
                                std::span<float> out) const noexcept {
  return static_cast<bool>(inspect().read_state(holder(name), out, rank));
}

void HoldfastSystem::drop_all() {
  for (EntryId const entry : entries_) {
    if (entry == EntryId{}) {
      continue;  // none of that name
    }
    static_cast<void>(cache_.erase(entry));
  }
  sequences_.clear();
  snapshots_.clear();
}

}  // namespace holdfast::model
