// SPDX-License-Identifier: Apache-2.0
// The reference model's prefix entries: every length of every entry is tried, the longest first.
#include <algorithm>

#include "models/reference/model.hpp"

namespace holdfast::model {

std::vector<TokenKey> Model::prompt(PrefixQuery const& query) const {
  std::vector<TokenKey> const& known = entry(query.entry).history.keys;
  auto const first = static_cast<std::uint32_t>(std::min<std::size_t>(query.first, known.size()));
  std::vector<TokenKey> keys(known.begin(), known.begin() + first);
  for (std::uint32_t i = 0; i < query.rest; ++i) {
    keys.push_back(query.keys.key_of(query.token + i, first + i));
  }
  return keys;
}

std::uint64_t Model::payload_bytes(History const& history, std::uint32_t watermark) const noexcept {
  std::uint64_t bytes = shape_.slot_bytes();
  for (std::uint32_t index = 0; index < shape_.planes.size(); ++index) {
    PlaneShape const& plane = shape_.planes[index];
    HistoryView own = view(history, index);
    own.watermark = watermark;
    RowRange const rows = AllReferences::find(plane.kind)->rows(plane, own);
    bytes += std::uint64_t{rows.last - rows.first} * plane.row_bytes();
  }
  return bytes;
}

Observation Model::capture(SnapshotName snapshot,
                           EntryName name,
                           std::uint32_t scope,
                           std::uint32_t extra) {
  if (!snapshots_[snapshot.value].live) {
    return Observation::failure(ErrorCode::kStale, "snapshot");
  }
  History const& held = history(snapshots_[snapshot.value]);
  auto const rows = static_cast<std::int64_t>(held.tokens.size());
  if (extra != 0) {
    return Observation::failure(ErrorCode::kInvalidArgument, "tokens", rows + extra, rows);
  }
  if (held.tokens.empty()) {
    return Observation::failure(ErrorCode::kInvalidArgument, "snapshot");
  }
  ModelEntry& fresh = entries_[name.value];
  for (std::uint32_t const other : live_entries_) {
    if (entries_[other].scope == scope && entries_[other].history.keys == held.keys) {
      fresh.created = true;
      fresh.live = false;
      fresh.first_name = other;
      next_entry_ = std::max(next_entry_, name.value + 1);
      return Observation::success(other);
    }
  }
  if (live_entries_.size() >= shape_.capacity.entries) {
    return Observation::failure(ErrorCode::kExhausted, "entries", 1, 0);
  }
  fresh.created = fresh.live = true;
  fresh.first_name = name.value;
  fresh.pending = is_asynchronous_;
  fresh.scope = scope;
  fresh.history = held;
  live_entries_.push_back(name.value);
  next_entry_ = std::max(next_entry_, name.value + 1);
  return Observation::success(name.value);
}

bool Model::is_usable(ModelEntry const& entry, std::uint32_t length) const noexcept {
  auto const own = static_cast<std::uint32_t>(entry.history.tokens.size());
  if (!shape_.states.empty() && length != own) {
    return false;  // a state has no positions but its own
  }
  return std::all_of(shape_.windows.begin(), shape_.windows.end(), [&](auto const& window) {
    std::uint32_t const first = window.first_needed(length);
    return first == length || first >= window.first_needed(own);
  });
}

std::uint32_t Model::common_rows(ModelEntry const& entry,
                                 std::span<TokenKey const> keys,
                                 std::uint32_t limit) noexcept {
  auto const& own = entry.history.keys;
  std::uint32_t common = 0;
  while (common < own.size() && common < keys.size() && own[common] == keys[common]) {
    ++common;
  }
  return std::min(common, limit);
}

Observation Model::restore(PrefixQuery const& query, SequenceName name, Observation const& got) {
  next_token_ = std::max(next_token_, query.token + query.rest);
  std::vector<TokenKey> const keys = prompt(query);
  struct Candidate {
    std::uint32_t entry;
    std::uint32_t length;
  };
  std::vector<Candidate> candidates;  // oldest first
  for (std::uint32_t const live : live_entries_) {
    ModelEntry const& entry = entries_[live];
    if (entry.scope != query.scope) {
      continue;
    }
    std::uint32_t length = common_rows(entry, keys, query.limit);
    while (length != 0 && !is_usable(entry, length)) {
      --length;
    }
    if (length != 0) {
      candidates.push_back({live, length});
    }
  }
  std::stable_sort(candidates.begin(),
                   candidates.end(),
                   [](Candidate const& a, Candidate const& b) { return a.length > b.length; });
  std::uint32_t best = UINT32_MAX;
  std::uint32_t longest = 0;
  Observation answer;
  say_limit(query, keys, candidates.empty() ? 0 : candidates.front().length, answer.says);
  for (Candidate const& candidate : candidates) {
    // One that may still be written may be visible already: the answer says whether it is.
    bool& pending = entries_[candidate.entry].pending;
    bool const is_it =
        got.ok && got.value == candidate.length && got.says.entry == std::int64_t{candidate.entry};
    if (pending && !got.is(ErrorCode::kExhausted) && !is_it) {
      continue;
    }
    restored_from_pending_ = pending;
    pending = pending && !got.ok;
    best = candidate.entry;
    longest = candidate.length;
    break;
  }
  if (longest == 0) {
    answer.ok = false;
    answer.code = ErrorCode::kMiss;
    answer.says.subject = answer.says.limited_by;
    answer.says.got = answer.says.limited_at;
    return answer;
  }
  restored_from_ = {best};
  answer.says.entry = best;
  if (live_sequences_.size() >= shape_.capacity.sequences) {
    return Observation::failure(ErrorCode::kExhausted, "sequences", 1, 0);
  }
  ModelSequence& fresh = sequences_[name.value];
  fresh.created = fresh.live = true;
  fresh.tainted = fresh.unknown = false;
  fresh.open.reset();
  fresh.step = kNoStep;
  fresh.history = take_history();
  History& history = histories_[fresh.history];
  History const& from = entries_[best].history;
  history.tokens.assign(from.tokens.begin(), from.tokens.begin() + longest);
  history.keys.assign(from.keys.begin(), from.keys.begin() + longest);
  history.state = from.state;
  history.state_id = from.state_id;
  history.watermark = std::min(from.watermark, longest);
  history.lo.fill(0);
  for (std::uint32_t i = 0; i < shape_.windows.size(); ++i) {
    history.lo[i] = shape_.windows[i].first_needed(longest);
  }
  live_sequences_.push_back(name.value);
  next_sequence_ = std::max(next_sequence_, name.value + 1);
  answer.value = longest;
  return answer;
}

Observation Model::erase(EntryName name) {
  std::uint32_t const first = entries_[name.value].first_name;
  if (!entries_[first].live) {
    return Observation::failure(ErrorCode::kStale, "entry");
  }
  entries_[first].live = false;
  std::erase(live_entries_, first);
  return Observation::success(0);
}

Observation Model::reload(EntryName name, bool exhausted) {
  std::uint32_t const first = entries_[name.value].first_name;
  if (!entries_[first].live) {
    return Observation::failure(ErrorCode::kStale, "entry");
  }
  if (exhausted && !step_fits({})) {
    static_cast<void>(erase(name));  // its bytes were shared, and there is no room for its own
    return Observation::failure(ErrorCode::kExhausted);
  }
  std::erase(live_entries_, first);
  live_entries_.push_back(first);  // it is the youngest now
  entries_[first].pending = false;
  entries_[first].history.state_id = next_state_++;
  Observation answer =
      Observation::success(static_cast<std::uint32_t>(entries_[first].history.tokens.size()));
  say_bytes(entries_[first].history, answer.says);
  return answer;
}

Observation Model::load_damaged(EntryName name, Damage damage) const {
  if (!entry(name).live) {
    return Observation::failure(ErrorCode::kStale, "entry");
  }
  switch (damage) {
    case Damage::kMagic:
      return Observation::failure(ErrorCode::kInvalidArgument, "magic");
    case Damage::kLayout:
      return Observation::failure(ErrorCode::kInvalidArgument, "layout");
    case Damage::kRanks:
      return Observation::failure(
          ErrorCode::kInvalidArgument, "ranks", shape_.ranks + 1, shape_.ranks);
    case Damage::kScope:
      return Observation::failure(ErrorCode::kInvalidArgument, "tenant");
    case Damage::kVersion:
      return Observation::failure(ErrorCode::kUnsupported, "version");
    case Damage::kFlip:
    case Damage::kCut:
    case Damage::kLonger:
      return Observation::failure(ErrorCode::kDamaged, "bytes");
    case Damage::kTokens:
      break;  // sizes contradict tokens: the bytes as a whole, or a plane
  }
  return Observation::failure(ErrorCode::kDamaged);
}

/// Whether another holder has the state that a history ends in.
bool Model::is_state_shared(std::uint32_t history) const noexcept {
  auto const shares = [&](std::uint32_t other) {
    return other != history && histories_[other].state_id == histories_[history].state_id;
  };
  return std::any_of(live_sequences_.begin(),
                     live_sequences_.end(),
                     [&](std::uint32_t name) { return shares(sequences_[name].history); }) ||
         std::any_of(live_snapshots_.begin(),
                     live_snapshots_.end(),
                     [&](std::uint32_t name) { return shares(snapshots_[name].history); }) ||
         std::any_of(live_entries_.begin(), live_entries_.end(), [&](std::uint32_t name) {
           return entries_[name].history.state_id == histories_[history].state_id;
         });
}

}  // namespace holdfast::model
