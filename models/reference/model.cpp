// SPDX-License-Identifier: Apache-2.0
// The reference model's answers.
#include "models/reference/model.hpp"

#include <algorithm>

namespace holdfast::model {
namespace {

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Model::Model(ModelShape shape)
    : shape_{std::move(shape)},
      sequences_(kNameLimit),
      snapshots_(kNameLimit),
      entries_(kNameLimit) {
  reset();
}

void Model::reset() {
  for (std::uint32_t i = 0; i < next_sequence_; ++i) {
    sequences_[i].created = sequences_[i].live = sequences_[i].tainted = false;
    sequences_[i].open.reset();  // generators look at closed handles too
  }
  for (std::uint32_t i = 0; i < next_snapshot_; ++i) {
    snapshots_[i].created = snapshots_[i].live = false;
  }
  for (std::uint32_t i = 0; i < next_entry_; ++i) {
    entries_[i].created = entries_[i].live = false;
  }
  free_histories_.clear();
  for (std::uint32_t i = 0; i < histories_.size(); ++i) {
    free_histories_.push_back(i);
  }
  live_sequences_.clear();
  live_snapshots_.clear();
  live_entries_.clear();
  log_.clear();
  steps_.clear();
  mapped_step_ = kNoStep;
  captured_.reset();
  next_sequence_ = 0;
  next_snapshot_ = 0;
  next_entry_ = 0;
  next_token_ = 1;
  next_state_ = 1;
  operation_ = 0;
}

std::uint32_t Model::take_history() {
  if (free_histories_.empty()) {
    histories_.emplace_back();
    return static_cast<std::uint32_t>(histories_.size() - 1);
  }
  std::uint32_t const index = free_histories_.back();
  free_histories_.pop_back();
  return index;
}

void Model::copy_history(std::uint32_t from, std::uint32_t to) {
  histories_[to].tokens.assign(histories_[from].tokens.begin(), histories_[from].tokens.end());
  histories_[to].keys.assign(histories_[from].keys.begin(), histories_[from].keys.end());
  histories_[to].state.assign(histories_[from].state.begin(), histories_[from].state.end());
  histories_[to].state_id = histories_[from].state_id;
  histories_[to].lo = histories_[from].lo;
  histories_[to].watermark = histories_[from].watermark;
}

HistoryView Model::view(History const& history, std::uint32_t plane) const noexcept {
  std::uint32_t const window = shape_.window_of_plane[plane];
  return {.tokens = history.tokens,
          .lo = window == kWindowLimit ? 0 : history.lo[window],
          .watermark = history.watermark};
}

TokenRecord const* Model::record_of(Token token) const noexcept {
  return token != 0 && token < log_.size() && log_[token].position != UINT32_MAX ? &log_[token]
                                                                                 : nullptr;
}

void Model::log_written(SequenceName name, Token token, std::uint32_t position) {
  next_token_ = std::max(next_token_, token + 1);
  if (keeps_log_) {
    if (log_.size() <= token) {
      log_.resize(token + 1, TokenRecord{.position = UINT32_MAX});
    }
    log_[token] = {.sequence = name.value, .position = position, .written_by = operation_};
  }
}

void Model::log_removed(std::span<Token const> tokens) {
  if (!keeps_log_) {
    return;
  }
  for (Token const token : tokens) {
    if (token < log_.size() && log_[token].removed_by == UINT32_MAX) {
      log_[token].removed_by = operation_;
    }
  }
}

Observation Model::check_live(SequenceName name) const noexcept {
  return sequences_[name.value].live ? Observation{}
                                     : Observation::failure(ErrorCode::kStale, "sequence");
}

Observation Model::check_at_rest(SequenceName name) const noexcept {
  if (!sequences_[name.value].live) {
    return Observation::failure(ErrorCode::kStale, "sequence");
  }
  if (sequences_[name.value].tainted) {
    return Observation::failure(ErrorCode::kTainted, "sequence");
  }
  return sequences_[name.value].open.open ? Observation::failure(ErrorCode::kBusy, "sequence")
                                          : Observation{};
}

std::uint32_t Model::slots_held() const noexcept {
  auto slots = static_cast<std::uint32_t>(live_snapshots_.size() + live_entries_.size() +
                                          live_sequences_.size());
  for (std::uint32_t const name : live_sequences_) {
    OpenHandle const& open = sequences_[name].open;
    slots += open.open ? open.slots : 0;
    slots += sequences_[name].unknown ? std::max(1U, shape_.capacity.largest_round) : 0;
  }
  return slots;
}

/// State slots that a handle takes.
std::uint32_t Model::slots_of(StepPart const& part) const noexcept {
  bool const round = part.deed == StepDeed::kVerify;
  switch (part.mode) {
    case StateMode::kFresh:
      return round ? part.rows : 1;
    case StateMode::kInPlace: {
      bool const shared = is_state_shared(sequences_[part.sequence.value].history);
      return (round ? part.rows != 0 : shared) ? 1 : 0;
    }
    case StateMode::kRescan:
      return part.rows != 0 ? 1 : 0;
  }
  return 0;
}

Observation Model::create(SequenceName name, bool exhausted) {
  if (live_sequences_.size() >= shape_.capacity.sequences) {
    return Observation::failure(ErrorCode::kExhausted, "sequences", 1, 0);
  }
  bool const fits =
      shape_.states.empty() || shape_.capacity.slots == 0 || slots_held() < shape_.capacity.slots;
  if (exhausted && !fits) {
    return Observation::failure(ErrorCode::kExhausted, name_of(shape_.states.front().kind), 1, 0);
  }
  ModelSequence& fresh = sequences_[name.value];
  fresh.created = fresh.live = true;
  fresh.tainted = fresh.unknown = false;
  fresh.open.reset();
  fresh.step = kNoStep;
  fresh.history = take_history();
  History& history = histories_[fresh.history];
  history.tokens.clear();
  history.keys.clear();
  history.state.assign(shape_.state_elements, 0.0F);
  history.state_id = next_state_++;
  history.lo.fill(0);
  history.watermark = 0;
  live_sequences_.push_back(name.value);
  next_sequence_ = std::max(next_sequence_, name.value + 1);
  return Observation::success(0);
}

/// Whether the begin must succeed: even if nothing at all were shared there would be room.
bool Model::step_fits(std::span<StepPart const> items) const noexcept {
  Capacity const& capacity = shape_.capacity;
  // One page for each page_rows rows of each holder, one more for each copy; pool keys need fewer.
  std::uint32_t slots = slots_held();
  std::uint32_t pages = 0;
  std::array<std::uint32_t, kWindowLimit> window_pages{};
  for (std::uint32_t const live : live_sequences_) {
    ModelSequence const& sequence = sequences_[live];
    auto const length = static_cast<std::uint32_t>(history(sequence).tokens.size());
    std::uint32_t open = sequence.open.open ? sequence.open.rows : 0;
    open = sequence.unknown ? capacity.tokens - length : open;
    pages += sequence.unknown ? 1 : 0;
    for (StepPart const& item : items) {
      if (item.deed != StepDeed::kPad && item.sequence.value == live) {
        open = item.rows;
        slots += slots_of(item);
        ++pages;
      }
    }
    pages += ceil_div(length + open, shape_.page_rows);
    for (std::uint32_t i = 0; i < shape_.windows.size(); ++i) {
      ModelShape::Window const& window = shape_.windows[i];
      window_pages[i] +=
          window.meaning->sequence_pages(window.plane, shape_.page_rows, length + open);
    }
  }
  for (std::uint32_t const live : live_snapshots_) {
    pages += ceil_div(static_cast<std::uint32_t>(history(snapshots_[live]).tokens.size()),
                      shape_.page_rows);
  }
  for (std::uint32_t const live : live_entries_) {
    pages += ceil_div(static_cast<std::uint32_t>(entries_[live].history.tokens.size()),
                      shape_.page_rows);
  }
  auto const held = static_cast<std::uint32_t>(live_snapshots_.size() + live_entries_.size());
  std::uint32_t most_window_pages = 0;
  for (std::uint32_t i = 0; i < shape_.windows.size(); ++i) {
    ModelShape::Window const& window = shape_.windows[i];
    most_window_pages = std::max(
        most_window_pages,
        window_pages[i] + held * window.meaning->held_pages(window.plane, shape_.page_rows));
  }
  return (shape_.states.empty() || capacity.slots == 0 || slots <= capacity.slots) &&
         (capacity.pages == 0 || pages <= capacity.pages) &&
         (capacity.ring_pages == 0 || most_window_pages <= capacity.ring_pages);
}

Observation Model::snapshot(SequenceName name, SnapshotName snapshot) {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (live_snapshots_.size() >= shape_.capacity.snapshots) {
    return Observation::failure(ErrorCode::kExhausted, "snapshots", 1, 0);
  }
  ModelSnapshot& fresh = snapshots_[snapshot.value];
  fresh.created = fresh.live = true;
  fresh.history = take_history();
  copy_history(sequences_[name.value].history, fresh.history);
  History& held = histories_[fresh.history];
  for (std::uint32_t i = 0; i < shape_.windows.size(); ++i) {  // what it needs, no more
    held.lo[i] = shape_.windows[i].first_needed(static_cast<std::uint32_t>(held.tokens.size()));
  }
  live_snapshots_.push_back(snapshot.value);
  next_snapshot_ = std::max(next_snapshot_, snapshot.value + 1);
  return Observation::success(position(name));
}

Observation Model::drop_snapshot(SnapshotName snapshot) {
  ModelSnapshot& held = snapshots_[snapshot.value];
  if (!held.live) {
    return Observation::failure(ErrorCode::kStale, "snapshot");
  }
  held.live = false;
  free_histories_.push_back(held.history);
  std::erase(live_snapshots_, snapshot.value);
  return Observation::success(0);
}

Observation Model::rollback(SequenceName name, SnapshotName snapshot) {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (!snapshots_[snapshot.value].live) {
    return Observation::failure(ErrorCode::kStale, "snapshot");
  }
  if (keeps_log_) {
    auto const& held = history(snapshots_[snapshot.value]).tokens;
    auto const& own = history(sequences_[name.value]).tokens;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i >= held.size() || held[i] != own[i]) {
        log_removed({&own[i], 1});
      }
    }
  }
  copy_history(snapshots_[snapshot.value].history, sequences_[name.value].history);
  return Observation::success(position(name));
}

Observation Model::fork(SnapshotName snapshot, SequenceName name) {
  if (!snapshots_[snapshot.value].live) {
    return Observation::failure(ErrorCode::kStale, "snapshot");
  }
  if (live_sequences_.size() >= shape_.capacity.sequences) {
    return Observation::failure(ErrorCode::kExhausted, "sequences", 1, 0);
  }
  ModelSequence& fresh = sequences_[name.value];
  fresh.created = fresh.live = true;
  fresh.tainted = fresh.unknown = false;
  fresh.open.reset();
  fresh.step = kNoStep;
  fresh.history = take_history();
  copy_history(snapshots_[snapshot.value].history, fresh.history);
  live_sequences_.push_back(name.value);
  next_sequence_ = std::max(next_sequence_, name.value + 1);
  return Observation::success(position(name));
}

Observation Model::truncate(SequenceName name, std::uint32_t length) {
  Observation const answer = can_truncate(name, length);
  if (!answer.ok || length == position(name)) {
    return answer;
  }
  History& own = histories_[sequences_[name.value].history];
  log_removed(std::span{own.tokens}.subspan(length));
  own.tokens.resize(length);
  own.keys.resize(length);
  own.watermark = std::min(own.watermark, length);
  for (std::uint32_t& lo : own.lo) {
    lo = std::min(lo, length);
  }
  return answer;
}

Observation Model::release(SequenceName name) {
  ModelSequence& sequence = sequences_[name.value];
  if (!sequence.live) {
    return Observation::failure(ErrorCode::kStale, "sequence");
  }
  if (sequence.open.open) {
    log_removed(sequence.open.tokens);
  }
  log_removed(history(sequence).tokens);
  sequence.live = sequence.tainted = sequence.open.open = false;
  free_histories_.push_back(sequence.history);
  std::erase(live_sequences_, name.value);
  return Observation::success(0);
}

void Model::taint(SequenceName name, bool has_state) {
  ModelSequence& sequence = sequences_[name.value];
  if (sequence.open.open) {
    log_removed(sequence.open.tokens);
  }
  sequence.tainted = sequence.unknown = true;
  sequence.open.open = false;
  if (!has_state) {
    histories_[sequence.history].state_id = next_state_++;  // others do not share it any more
  }
}

void Model::taint_loaded(SequenceName name, SnapshotName snapshot) {
  taint(name, true);
  histories_[sequences_[name.value].history].state_id =
      history(snapshots_[snapshot.value]).state_id;
}

Observation Model::close() const {
  std::size_t const live = live_sequences_.size() + live_snapshots_.size();
  if (live == 0) {
    return Observation::success(0);
  }
  Observation answer = Observation::failure(ErrorCode::kBusy, "cache");
  answer.says.got = static_cast<std::int64_t>(live);
  return answer;
}

}  // namespace holdfast::model
