// SPDX-License-Identifier: Apache-2.0
#include "models/copying/copying_system.hpp"

#include <algorithm>
#include <utility>

#include "models/copying/mutants.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model::copying {
namespace {

std::uint32_t count_live(auto const& all) {
  return static_cast<std::uint32_t>(
      std::count_if(all.begin(), all.end(), [](auto const& one) { return one.live; }));
}

}  // namespace

CopyingSystem::CopyingSystem(Model const& model)
    : model_{model},
      shape_{model.shape()},
      sequences_(kNameLimit),
      snapshots_(kNameLimit),
      entries_(kNameLimit),
      steps_(kNameLimit) {}

bool CopyingSystem::has_room() const noexcept {
  return count_live(sequences_) < shape_.capacity.sequences;
}

std::uint32_t CopyingSystem::watermark_of(Copy const& copy) const noexcept {
  for (std::uint32_t plane = 0; plane < copy.rows.size(); ++plane) {
    if (is_draft(shape_.planes[plane])) {
      return copy.length(shape_, plane);
    }
  }
  return 0;
}

void CopyingSystem::start(SequenceName name, Copy copy) {
  sequences_[name.value] = Named{.live = true, .copy = std::move(copy)};
}

Observation CopyingSystem::create(SequenceName name) {
  if (!has_room()) {
    return no(ErrorCode::kExhausted);
  }
  Copy empty;
  empty.rows.resize(shape_.planes.size());
  empty.state.assign(shape_.state_elements, 0.0F);
  start(name, std::move(empty));
  return ok();
}

Observation CopyingSystem::check_at_rest(SequenceName name) const noexcept {
  Named const& named = sequences_[name.value];
  if (!named.live) {
    return no(ErrorCode::kStale);
  }
  return named.open ? no(ErrorCode::kBusy) : ok();
}

Observation CopyingSystem::check_begin(SequenceName name,
                                       bool round,
                                       std::uint32_t rows,
                                       StateMode mode) const noexcept {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (round ? rows > shape_.capacity.largest_round : rows == 0) {
    return no(ErrorCode::kInvalidArgument);
  }
  if (sequences_[name.value].copy.position() + rows > shape_.capacity.tokens) {
    return no(ErrorCode::kTooLong);
  }
  bool const can = mode != StateMode::kRescan || shape_.can_rescan();
  return can ? ok(rows) : no(ErrorCode::kInvalidArgument);
}

Observation CopyingSystem::begin(SequenceName name,
                                 bool round,
                                 std::uint32_t rows,
                                 std::uint32_t written,
                                 Token token,
                                 WriteStyle style) {
  if (Observation const checked = check_begin(name, round, rows, style.mode); !checked.ok) {
    return checked;
  }
  Named& named = sequences_[name.value];
  std::uint32_t const behind = named.copy.position() - watermark_of(named.copy);
  Handle& open = named.open.emplace(Handle{.round = round, .rows = rows, .work = named.copy});
  open.columns.push_back(named.copy.state);
  open.draft_rows = rows == 0 ? 0 : rows + std::min(behind, shape_.draft_lag());
  open.token = token;
  write_first(named, written, style);
  return ok(rows);
}

void CopyingSystem::write_first(Named& named, std::uint32_t rows, WriteStyle const& style) {
  Handle& open = *named.open;
  std::uint32_t const behind = named.copy.position() - watermark_of(named.copy);
  std::uint32_t const most = rows == 0 ? 0 : std::min(open.draft_rows, behind + rows);
  open.drafted = most - std::min(most, style.skip);
  open.complete = complete_rows(shape_, style.plan, style.mode, rows);
  open.lacks_state = lacks_state(shape_, style.plan);
  write(named, 0, rows, open.token);
}

void CopyingSystem::write(Named& named, std::uint32_t first, std::uint32_t count, Token token) {
  Handle& open = *named.open;
  Copy& work = open.work;
  std::uint32_t const base = named.copy.position();
  bool const again = first < open.written;
  open.written = std::max(open.written, first + count);
  work.tokens.resize(std::size_t{base} + open.written);
  bool const late = again && is_on(Mutant::kRewriteOffByOne);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::size_t const at = std::size_t{base} + first + i + (late ? 1 : 0);
    if (at < work.tokens.size()) {
      work.tokens[at] = token + i;
    }
  }
  for (std::uint32_t plane = 0; plane < shape_.planes.size(); ++plane) {
    PlaneShape const& own = shape_.planes[plane];
    if (is_draft(own)) {
      std::uint32_t const watermark = named.copy.length(shape_, plane);
      work.write(shape_, plane, watermark, watermark + open.drafted);
      continue;
    }
    if (again && own.derived && is_on(Mutant::kRewriteLeavesKeys)) {
      continue;
    }
    work.write(shape_, plane, rows_for(own, base + first), rows_for(own, base + open.written));
  }
  open.columns.resize(std::size_t{open.written} + 1);
  for (std::uint32_t row = first; row < open.written; ++row) {
    open.columns[row + 1].resize(shape_.state_elements);
    for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
      StateShape const& state = shape_.states[i];
      state.advance(state,
                    std::span{work.tokens}.subspan(std::size_t{base} + row, 1),
                    open.columns[row].data() + shape_.state_offsets[i],
                    open.columns[row + 1].data() + shape_.state_offsets[i]);
    }
  }
}

Observation CopyingSystem::rewrite(SequenceName name,
                                   std::uint32_t first,
                                   std::uint32_t count,
                                   Token token,
                                   WriteStyle /*style*/) {
  Named& named = sequences_[name.value];
  if (!is_open_alone(named) || !named.open->round) {
    return no(ErrorCode::kStale);
  }
  Handle& open = *named.open;
  if (first > open.complete || count > open.rows - first) {
    return no(ErrorCode::kInvalidArgument);
  }
  std::uint32_t const behind = named.copy.position() - watermark_of(named.copy);
  open.drafted = std::max(open.drafted, std::min(open.draft_rows, behind + first + count));
  write(named, first, count, token);
  // Who writes again makes all states anew.
  open.complete = open.lacks_state ? open.written : std::max(open.complete, first + count);
  return ok(count);
}

Observation CopyingSystem::fill(SequenceName name, bool /*view*/) {
  Named& named = sequences_[name.value];
  if (!is_open_alone(named) || named.open->round) {
    return no(ErrorCode::kStale);
  }
  Handle& open = *named.open;
  write(named, open.written, open.rows - open.written, open.token + open.written);
  open.complete = open.rows;
  return ok(open.rows);
}

/// Keeps the first `keep` rows.
void CopyingSystem::close_handle(Named& named, std::uint32_t keep) {
  Handle& open = *named.open;
  Copy work = std::move(open.work);
  std::uint32_t const position = named.copy.position() + keep;
  std::vector<float> rejected;
  if (!work.rows.empty() && keep < open.written && is_on(Mutant::kAcceptKeepsRejected)) {
    rejected = work.rows.back();
  }
  if (keep == 0) {
    if (!work.rows.empty() && open.written != 0 && !open.round && is_on(Mutant::kDropKeepsRows)) {
      named.copy.rows.front() = work.rows.front();
    }
    work = named.copy;
  } else {
    bool const is_off = open.round && is_on(Mutant::kAcceptColumnOff);
    work.shorten(shape_, position);
    work.state = open.columns[keep - (is_off ? 1 : 0)];
    work.state_at = position;
  }
  if (!rejected.empty()) {
    work.rows.back() = std::move(rejected);
  }
  named.copy = std::move(work);
  named.open.reset();
  if (named.shares && snapshots_[named.shares->value].live) {
    snapshots_[named.shares->value].copy.rows = named.copy.rows;
  }
}

Observation CopyingSystem::commit(SequenceName name) {
  Named& named = sequences_[name.value];
  if (!is_open_alone(named) || named.open->round) {
    return no(ErrorCode::kStale);
  }
  if (named.open->complete < named.open->rows) {
    return no(ErrorCode::kIncomplete);
  }
  close_handle(named, named.open->rows);
  return ok();
}

Observation CopyingSystem::drop(SequenceName name, HandleEnd /*how*/) {
  Named& named = sequences_[name.value];
  if (!is_open_alone(named)) {
    return no(ErrorCode::kStale);
  }
  close_handle(named, 0);
  return ok();
}

Observation CopyingSystem::accept(SequenceName name, std::uint32_t keep) {
  Named& named = sequences_[name.value];
  if (!is_open_alone(named) || !named.open->round) {
    return no(ErrorCode::kStale);
  }
  if (keep > named.open->rows) {
    return no(ErrorCode::kInvalidArgument);
  }
  if (keep > named.open->complete) {
    return no(ErrorCode::kIncomplete);
  }
  close_handle(named, keep);
  return ok(keep);
}

Observation CopyingSystem::snapshot(SequenceName name, SnapshotName snapshot) {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (count_live(snapshots_) >= shape_.capacity.snapshots) {
    return no(ErrorCode::kExhausted);
  }
  Held& held = snapshots_[snapshot.value];
  held = {.live = true, .copy = sequences_[name.value].copy};
  if (!held.copy.rows.empty() && is_on(Mutant::kSnapshotForgetsPlane)) {
    held.copy.rows.back().clear();
  }
  if (is_on(Mutant::kSnapshotForgetsState)) {
    std::fill(held.copy.state.begin(), held.copy.state.end(), 0.0F);
  }
  return ok(held.copy.position());
}

Observation CopyingSystem::drop_snapshot(SnapshotName snapshot) {
  if (!snapshots_[snapshot.value].live) {
    return no(ErrorCode::kStale);
  }
  snapshots_[snapshot.value] = {};
  return ok();
}

Observation CopyingSystem::rollback(SequenceName name, SnapshotName snapshot) {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (!snapshots_[snapshot.value].live) {
    return no(ErrorCode::kStale);
  }
  Copy& copy = sequences_[name.value].copy;
  std::vector<float> const before = copy.state;
  copy = snapshots_[snapshot.value].copy;
  if (!shape_.states.empty() && is_on(Mutant::kRollbackLeavesWindow)) {
    std::copy_n(before.begin(), shape_.states.front().conv_elements(), copy.state.begin());
  }
  return ok(copy.position());
}

Observation CopyingSystem::fork(SnapshotName snapshot, SequenceName name) {
  if (!snapshots_[snapshot.value].live) {
    return no(ErrorCode::kStale);
  }
  if (!has_room()) {
    return no(ErrorCode::kExhausted);
  }
  start(name, snapshots_[snapshot.value].copy);
  if (is_on(Mutant::kForkShares)) {
    sequences_[name.value].shares = snapshot;
  }
  return ok(sequences_[name.value].copy.position());
}

Observation CopyingSystem::can_truncate(SequenceName name, std::uint32_t length) {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  std::uint32_t const position = sequences_[name.value].copy.position();
  if (length > position) {
    return no(ErrorCode::kInvalidArgument);
  }
  if (length != position && !shape_.states.empty()) {
    return no(ErrorCode::kRefused);  // a state has no positions but its own
  }
  for (PlaneShape const& plane : shape_.planes) {
    if (plane.derived && length % plane.pool != 0 && length / plane.pool != position / plane.pool &&
        is_on(Mutant::kWindowRefused)) {
      return no(ErrorCode::kRefused);
    }
  }
  return ok(length);
}

Observation CopyingSystem::truncate(SequenceName name, std::uint32_t length) {
  Copy& copy = sequences_[name.value].copy;
  Observation const answer = can_truncate(name, length);
  if (answer.is(ErrorCode::kRefused) && !copy.rows.empty() && is_on(Mutant::kRefusedShortens)) {
    copy.set_length(shape_, 0, rows_for(shape_.planes[0], length));
  }
  if (!answer.ok) {
    return answer;
  }
  Copy const before = copy;
  copy.shorten(shape_, length);
  copy.state_at = length;
  for (std::uint32_t plane = 0; plane < copy.rows.size(); ++plane) {
    PlaneShape const& own = shape_.planes[plane];
    if ((own.kind == PlaneKind::kLatent && is_on(Mutant::kTruncateLeavesLatent)) ||
        (own.kind == PlaneKind::kPoolKeys && is_on(Mutant::kTruncateLeavesKeys)) ||
        (is_draft(own) && is_on(Mutant::kTruncateLeavesDraft))) {
      copy.rows[plane] = before.rows[plane];
    }
  }
  return answer;
}

Observation CopyingSystem::move(SequenceName name) {
  return sequences_[name.value].live ? ok() : no(ErrorCode::kStale);
}

Observation CopyingSystem::release(SequenceName name, HandleEnd /*how*/) {
  if (!sequences_[name.value].live) {
    return no(ErrorCode::kStale);
  }
  if (!is_on(Mutant::kReleaseKeepsName)) {
    sequences_[name.value] = {};
  }
  return ok();
}

Observation CopyingSystem::close() {
  return count_live(sequences_) + count_live(snapshots_) == 0 ? ok() : no(ErrorCode::kBusy);
}

void CopyingSystem::drop_all() {
  std::fill(sequences_.begin(), sequences_.end(), Named{});
  std::fill(snapshots_.begin(), snapshots_.end(), Held{});
  std::fill(entries_.begin(), entries_.end(), Entry{});
  std::fill(steps_.begin(), steps_.end(), nullptr);
  captured_.reset();
  order_.clear();
}

}  // namespace holdfast::model::copying
