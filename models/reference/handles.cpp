// SPDX-License-Identifier: Apache-2.0
// The reference model's open handles: what is opened, written, kept and dropped.
#include <algorithm>

#include "models/reference/model.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {

Observation Model::check_begin(SequenceName name,
                               bool round,
                               std::uint32_t rows,
                               StateMode mode) const noexcept {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  if (round && rows > shape_.capacity.largest_round) {
    return Observation::failure(
        ErrorCode::kInvalidArgument, "rows", rows, shape_.capacity.largest_round);
  }
  if (!round && rows == 0) {
    return Observation::failure(ErrorCode::kInvalidArgument, "rows");
  }
  if (position(name) + rows > shape_.capacity.tokens) {
    return Observation::failure(
        ErrorCode::kTooLong, "rows", position(name) + rows, shape_.capacity.tokens);
  }
  if (mode == StateMode::kRescan && !shape_.can_rescan()) {
    return Observation::failure(ErrorCode::kInvalidArgument, "recurrent.stash_row_bytes");
  }
  return Observation::success(rows);
}

bool Model::is_open_alone(SequenceName name) const noexcept {
  ModelSequence const& sequence = sequences_[name.value];
  return sequence.live && sequence.open.open && !sequence.open.in_step;
}

Observation Model::begin(SequenceName name,
                         bool round,
                         std::uint32_t rows,
                         std::uint32_t written,
                         Token token,
                         bool exhausted,
                         WriteStyle const& style) {
  StateMode const mode = style.mode;
  next_token_ = std::max(next_token_, token + rows);
  if (Observation const checked = check_begin(name, round, rows, mode); !checked.ok) {
    return checked;
  }
  StepPart const item{.deed = round ? StepDeed::kVerify : StepDeed::kAppend,
                      .sequence = name,
                      .rows = rows,
                      .mode = mode};
  if (exhausted && !step_fits({&item, 1})) {
    return Observation::failure(ErrorCode::kExhausted);
  }
  OpenHandle& open = sequences_[name.value].open;
  open.open = true;
  open.in_step = false;
  open.round = round;
  open.rows = rows;
  open.written = open.complete = 0;
  open.is_uneven = false;
  open.lacking = {};
  open.reached.fill(0);
  std::uint32_t const behind = position(name) - history(sequences_[name.value]).watermark;
  open.draft_rows = rows == 0 ? 0 : rows + std::min(behind, shape_.draft_lag());
  open.drafted = 0;
  open.mode = mode;
  write_first(name, written, style);
  open.slots = slots_of(item);
  open.drop_is_exact = shape_.keeps_all || round || mode != StateMode::kInPlace ||
                       shape_.states.empty() || open.slots != 0;
  open.tokens.resize(rows);
  open.keys.resize(rows);
  for (std::uint32_t i = 0; i < rows; ++i) {
    open.tokens[i] = token + i;
    open.keys[i] = style.keys.key_of(token + i, position(name) + i);
    log_written(name, token + i, position(name) + i);
  }
  Observation answer = Observation::success(rows);
  say_opened(name, answer.says);
  return answer;
}

/// The first rows of an open handle are written, draft rows with them.
void Model::write_first(SequenceName name, std::uint32_t rows, WriteStyle const& style) {
  OpenHandle& open = sequences_[name.value].open;
  std::uint32_t const behind = position(name) - history(sequences_[name.value]).watermark;
  std::uint32_t const most = rows == 0 ? 0 : std::min(open.draft_rows, behind + rows);
  open.drafted = most - std::min(most, style.skip);
  note_written(name, 0, rows, style);
}

void Model::note_written(SequenceName name,
                         std::uint32_t first,
                         std::uint32_t end,
                         WriteStyle const& style) {
  OpenHandle& open = sequences_[name.value].open;
  if (first == end) {
    return;
  }
  WritePlan const& plan = style.plan;
  open.is_uneven = open.is_uneven || !plan.is_plain();
  open.written = std::max(open.written, end);
  open.complete = std::max(open.complete, complete_rows(shape_, plan, open.mode, end));
  if (lacks_state(shape_, open.lacking)) {
    open.complete = open.written;  // who writes again makes all states anew
  }
  open.lacking = plan.lacks() ? plan : open.lacking;
  auto const special = plan.liberty == Liberty::kNone ? std::nullopt : part_of(shape_, plan);
  for (std::uint32_t const index : shape_.written_planes) {
    std::uint32_t const window = shape_.window_of_plane[index];
    if (window == kWindowLimit) {
      continue;
    }
    auto const& [meaning, plane] = shape_.windows[window];
    // Through a view any open row may be written; there may be one only for few rows.
    bool const has_view = open.rows <= meaning->view_limit(plane, position(name));
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
      bool const is_special = special == Part{.rank = rank, .plane = index};
      std::uint32_t const rows = is_special ? plan.rows_of(end) : end;
      bool const is_looked_at = is_special && plan.liberty == Liberty::kLook;
      bool const is_viewed = style.view != (is_special && plan.liberty == Liberty::kOther);
      bool const any_row = has_view && (is_looked_at || (is_viewed && rows > first));
      open.reached[window] = std::max(open.reached[window], any_row ? open.rows : rows);
    }
  }
}

/// Everything that an open handle lacks is written.
void Model::complete(SequenceName name) {
  OpenHandle& open = sequences_[name.value].open;
  open.written = open.complete = open.rows;
  for (std::uint32_t& reached : open.reached) {
    reached = std::max(reached, open.rows);
  }
}

Observation Model::fill(SequenceName name, bool /*view*/) {
  OpenHandle const& open = sequences_[name.value].open;
  if (!is_open_alone(name) || open.round) {
    return stale_handle(name);
  }
  complete(name);
  return Observation::success(open.rows);
}

Observation Model::rewrite(SequenceName name,
                           std::uint32_t first,
                           std::uint32_t count,
                           Token token,
                           WriteStyle const& style) {
  next_token_ = std::max(next_token_, token + count);
  OpenHandle& open = sequences_[name.value].open;
  if (!is_open_alone(name) || !open.round) {
    return stale_handle(name);
  }
  if (first > open.complete || count > open.rows - first) {
    return Observation::failure(ErrorCode::kInvalidArgument);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    log_removed({&open.tokens[first + i], 1});
    open.tokens[first + i] = token + i;
    open.keys[first + i] = style.keys.key_of(token + i, position(name) + first + i);
    log_written(name, token + i, position(name) + first + i);
  }
  note_written(name, first, first + count, style);
  std::uint32_t const behind = position(name) - history(sequences_[name.value]).watermark;
  open.drafted = std::max(open.drafted, std::min(open.draft_rows, behind + first + count));
  return Observation::success(count);
}

/// Ends a handle as the engine does: rows of which an in-place round kept some but not all are
/// appended again.
void Model::close_round(SequenceName name, std::uint32_t keep, Details::Item& says) {
  OpenHandle& open = sequences_[name.value].open;
  bool const goes_back = !shape_.keeps_all && open.round && open.mode == StateMode::kInPlace &&
                         !shape_.states.empty() && keep != 0 && keep < open.rows;
  says.committed = static_cast<std::int32_t>(goes_back ? 0 : keep);
  says.to_append = static_cast<std::int32_t>(goes_back ? keep : 0);
  if (!goes_back) {
    close_handle(name, keep);
    return;
  }
  std::vector<Token> const again{open.tokens.begin(), open.tokens.begin() + keep};
  std::vector<TokenKey> const keys{open.keys.begin(), open.keys.begin() + keep};
  close_handle(name, 0);
  open.reset();
  open.rows = keep;
  complete(name);
  std::uint32_t const behind = position(name) - history(sequences_[name.value]).watermark;
  open.draft_rows = open.drafted = keep + std::min(behind, shape_.draft_lag());
  open.tokens = again;
  open.keys = keys;
  for (std::uint32_t i = 0; i < keep; ++i) {
    log_written(name, again[i], position(name) + i);
  }
  close_handle(name, keep);
}

void Model::close_handle(SequenceName name, std::uint32_t keep) {
  ModelSequence& sequence = sequences_[name.value];
  OpenHandle& open = sequence.open;
  History& history = histories_[sequence.history];
  auto const base = static_cast<std::uint32_t>(history.tokens.size());
  std::span<Token const> const kept = std::span{open.tokens}.first(keep);
  history.tokens.insert(history.tokens.end(), kept.begin(), kept.end());
  history.keys.insert(history.keys.end(), open.keys.begin(), open.keys.begin() + keep);
  if (keep != 0) {
    history.state_id = next_state_++;
    history.watermark = std::min(history.watermark + open.drafted, base + keep);
  }
  for (std::uint32_t s = 0; s < shape_.states.size(); ++s) {
    float* const state = history.state.data() + shape_.state_offsets[s];
    recall_state(shape_.states[s], kept, state, state);
  }
  log_removed(std::span{open.tokens}.subspan(keep));
  for (std::uint32_t i = 0; i < shape_.windows.size(); ++i) {
    auto const& [meaning, plane] = shape_.windows[i];
    ClosedHandle const handle{.base = base,
                              .rows = open.rows,
                              .written = open.reached[i],
                              .keep = keep,
                              .round = open.round};
    history.lo[i] = std::max(history.lo[i], meaning->first_left(plane, handle));
  }
  open.open = false;
}

Observation Model::commit(SequenceName name) {
  OpenHandle const& open = sequences_[name.value].open;
  if (!is_open_alone(name) || open.round) {
    return stale_handle(name);
  }
  if (open.complete < open.rows) {
    return missing_rows(open, open.rows);
  }
  close_handle(name, open.rows);
  return Observation::success(0);
}

Observation Model::drop(SequenceName name) {
  ModelSequence& sequence = sequences_[name.value];
  if (!is_open_alone(name)) {
    return stale_handle(name);
  }
  sequence.tainted = !sequence.open.drop_is_exact;
  close_handle(name, 0);
  return Observation::success(sequence.tainted ? 1 : 0);
}

Observation Model::accept(SequenceName name, std::uint32_t keep) {
  OpenHandle const& open = sequences_[name.value].open;
  if (!is_open_alone(name) || !open.round) {
    return stale_handle(name);
  }
  if (keep > open.rows) {
    return Observation::failure(ErrorCode::kInvalidArgument, "keep", keep, open.rows);
  }
  if (keep > open.complete) {
    return missing_rows(open, keep);
  }
  Observation answer = Observation::success(keep);
  close_round(name, keep, answer.says.item_at(0));
  return answer;
}

}  // namespace holdfast::model
