// SPDX-License-Identifier: Apache-2.0
// Operations onto the library's calls.
#include "models/engine/holdfast_system.hpp"

#include <algorithm>

#include "models/engine/library_answers.hpp"
#include "models/input_error.hpp"

namespace holdfast::model {
namespace {

/// A destructor says nothing of a device that failed.
constexpr Error kDestructorFailed{.code = ErrorCode::kDeviceFailed};

/// Whether a round's handle is not used up.
bool is_open(Round const& round) {
  auto const range = round.range(PlaneKind::kAttentionKv, 0);
  return range || range.error().code == ErrorCode::kInvalidArgument;
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
  note_via(style.plan);
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
  named.rows = rows;
  named.token = token;
  named.plan = written != 0 && style.plan.lacks() ? style.plan : WritePlan{};
  named.mode = style.mode;
  named.stream = engine_.stream();
  named.failed_elsewhere = false;
  return wrote ? answer : give_up(name, wrote);
}

Observation HoldfastSystem::rewrite(
    SequenceName name, std::uint32_t first, std::uint32_t count, Token token, WriteStyle style) {
  Named& named = kept(name);
  if (!named.round) {
    return no_handle();
  }
  if (!is_open(*named.round)) {
    return Observation::failure(named.round->range(PlaneKind::kAttentionKv, 0).error());
  }
  std::vector<Token> const before = named.tokens;
  if (named.tokens.size() < std::size_t{first} + count) {
    named.tokens.resize(std::size_t{first} + count);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    named.tokens[first + i] = token + i;
  }
  note_via(style.plan);
  style.mode = named.mode;
  style.stream = named.stream;  // what goes through views has no call that could move it
  Status wrote =
      engine_.write(*named.round, named.position, named.tokens, first, count, style, named.history);
  if (named.failed_elsewhere) {
    Status const waited =
        wait_for(style.stream);  // the next call may wait for the other stream alone
    wrote = wrote ? waited : wrote;
  }
  named.stream = engine_.stream();
  if (!wrote) {
    named.tokens = before;
    return give_up(name, wrote);
  }
  return Observation::success(count);
}

Observation HoldfastSystem::fill(SequenceName name, bool view) {
  Named& named = kept(name);
  if (!named.append) {
    return no_handle();
  }
  if (auto const open = named.append->drop_is_exact(); !open) {
    return Observation::failure(open.error());
  }
  auto const written = static_cast<std::uint32_t>(named.tokens.size());
  named.tokens = tokens_of(named.token, named.rows);
  Status wrote =
      engine_.fill(*named.append,
                   named.position,
                   named.tokens,
                   written,
                   {.view = view, .mode = named.mode, .stream = named.stream, .plan = named.plan});
  if (named.failed_elsewhere) {
    Status const waited = wait_for(named.stream);
    wrote = wrote ? waited : wrote;
  }
  named.plan = {};
  return wrote ? Observation::success(named.rows) : give_up(name, wrote);
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
    let_go(name, stream_);  // work that the call enqueued may be under way
  } else if (status.error().code == ErrorCode::kDeviceFailed && !(stream_ == named.stream)) {
    named.failed_elsewhere = true;
  }
  return Observation::failure(status.error());
}

Observation HoldfastSystem::give_up(SequenceName name, Status const& status) {
  if (status.error().code == ErrorCode::kDeviceFailed) {
    let_go(name, kept(name).stream);  // where its own work may be under way
  }
  return Observation::failure(status.error());
}

void HoldfastSystem::let_go(SequenceName name, Stream stream) {
  Named& named = kept(name);
  if (named.append) {
    static_cast<void>(named.append->drop(stream));
  }
  if (named.round) {
    static_cast<void>(named.round->drop(stream));
  }
  named.append.reset();
  named.round.reset();
  given_up_.push_back(name);
}

void HoldfastSystem::note_kept(SequenceName name, std::span<Token const> tokens) {
  std::vector<Token>& history = kept(name).history;
  history.insert(history.end(), tokens.begin(), tokens.end());
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

Observation HoldfastSystem::drop(SequenceName name, HandleEnd how) {
  Named& named = kept(name);
  bool const is_called = how == HandleEnd::kCalled;
  if (named.round && (is_called || !is_open(*named.round))) {
    Status const dropped = named.round->drop(stream_);
    return dropped ? Observation::success(0) : fail(name, dropped);
  }
  if (named.round) {
    last_stream_ = Stream{};
    let_end(named.round, how);
    return was_destroyed() ? Observation::success(0) : give_up(name, kDestructorFailed);
  }
  if (!named.append) {
    return no_handle();
  }
  auto const exact = named.append->drop_is_exact();
  if (is_called || !exact) {
    if (Status const dropped = named.append->drop(stream_); !dropped) {
      return fail(name, dropped);
    }
  } else {
    last_stream_ = Stream{};
    let_end(named.append, how);
    if (!was_destroyed()) {
      return give_up(name, kDestructorFailed);
    }
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

Observation HoldfastSystem::release(SequenceName name, HandleEnd how) {
  Sequence& sequence = kept(name).sequence;
  if (how == HandleEnd::kCalled || !sequence.position()) {
    return observe(sequence.release(stream_));
  }
  if (how == HandleEnd::kReplaced) {
    sequence = Sequence{};
  } else {
    static_cast<void>(Sequence{std::move(sequence)});
  }
  return was_destroyed() ? Observation::success(0) : Observation::failure(kDestructorFailed);
}

bool HoldfastSystem::was_destroyed() const {
  return faults_ == nullptr || faults_->failed() == 0;
}

Observation HoldfastSystem::move(SequenceName name) {
  Named& named = kept(name);
  auto const position = named.sequence.position();
  if (!position) {
    return Observation::failure(position.error());
  }
  auto const is_stale = [](Status const& answer) {
    return !answer && answer.error().code == ErrorCode::kStale;
  };
  bool are_left_stale = true;
  Sequence elsewhere{std::move(named.sequence)};
  are_left_stale = are_left_stale && is_stale(named.sequence.release(stream_));
  named.sequence = std::move(elsewhere);
  Sequence& itself = named.sequence;
  named.sequence = std::move(itself);
  auto const move_handle = [&](auto& handle) {
    if (handle) {
      auto moved = std::move(*handle);
      are_left_stale = are_left_stale && is_stale(handle->drop(stream_));
      *handle = std::move(moved);
      auto& same = *handle;
      *handle = std::move(same);
    }
  };
  move_handle(named.append);
  move_handle(named.round);
  if (named.step) {
    move_handle(named.step->handle);
  }
  auto const after = named.sequence.position();
  return are_left_stale && after && *after == *position ? Observation::success(0)
                                                        : Observation::failure(kNeverAnswered);
}

Observation HoldfastSystem::use_stream(Stream stream) {
  stream_ = stream;
  note_stream(stream);
  return Observation::success(0);
}

void HoldfastSystem::note_via(WritePlan const& plan) {
  if (plan.via != kStreamNames) {
    note_stream(Stream{plan.via});
  }
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
