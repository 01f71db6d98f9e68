// SPDX-License-Identifier: Apache-2.0
// The copying system's prefix entries, and what anyone can see of it.
#include <algorithm>
#include <utility>

#include "models/copying/copying_system.hpp"
#include "models/copying/mutants.hpp"

namespace holdfast::model::copying {

Observation CopyingSystem::capture(SnapshotName snapshot,
                                   EntryName entry,
                                   std::uint32_t scope,
                                   std::uint32_t extra) {
  Held const& held = snapshots_[snapshot.value];
  if (!held.live) {
    return Observation::failure(ErrorCode::kStale);
  }
  if (extra != 0 || held.copy.tokens.empty()) {
    return Observation::failure(ErrorCode::kInvalidArgument);
  }
  std::vector<TokenKey> const& keys = model_.history(model_.snapshot_of(snapshot)).keys;
  Entry& fresh = entries_[entry.value];
  for (std::uint32_t const other : order_) {
    if (entries_[other].scope == scope && entries_[other].keys == keys) {
      fresh.first_name = other;
      return Observation::success(other);
    }
  }
  if (order_.size() >= shape_.capacity.entries) {
    return Observation::failure(ErrorCode::kExhausted);
  }
  fresh = {
      .live = true, .first_name = entry.value, .scope = scope, .keys = keys, .copy = held.copy};
  order_.push_back(entry.value);
  return Observation::success(entry.value);
}

bool CopyingSystem::is_usable(Copy const& copy, std::uint32_t length) const noexcept {
  return shape_.states.empty() || length == copy.position();
}

Observation CopyingSystem::restore(PrefixQuery const& query, SequenceName name) {
  std::vector<TokenKey> const keys = model_.prompt(query);
  std::uint32_t best = UINT32_MAX;
  std::uint32_t longest = 0;
  for (std::uint32_t const candidate : order_) {  // of those that hit alike the oldest
    Entry const& entry = entries_[candidate];
    std::vector<TokenKey> const& own = entry.keys;
    auto const common = static_cast<std::uint32_t>(
        std::mismatch(own.begin(), own.end(), keys.begin(), keys.end()).first - own.begin());
    std::uint32_t const length = std::min(common, query.limit);
    bool const is_mine = entry.scope == query.scope || is_on(Mutant::kRestoreAnyScope);
    if (is_mine && length > longest && is_usable(entry.copy, length)) {
      best = candidate;
      longest = length;
    }
  }
  if (longest == 0) {
    return Observation::failure(ErrorCode::kMiss);
  }
  if (!has_room()) {
    return Observation::failure(ErrorCode::kExhausted);
  }
  restored_from_ = best;
  Copy copy = entries_[best].copy;
  bool const takes_more = longest < copy.position() && is_on(Mutant::kRestoreRowTooMany);
  copy.shorten(shape_, longest + (takes_more ? 1 : 0));
  copy.tokens.resize(longest);
  copy.state_at = longest;
  start(name, std::move(copy));
  return Observation::success(longest);
}

Observation CopyingSystem::erase(EntryName name) {
  std::uint32_t const first = entries_[name.value].first_name;
  if (!entries_[first].live) {
    return Observation::failure(ErrorCode::kStale);
  }
  entries_[first].live = false;
  std::erase(order_, first);
  return Observation::success(0);
}

Observation CopyingSystem::reload(EntryName name, std::optional<Stream> /*via*/) {
  std::uint32_t const first = entries_[name.value].first_name;
  Entry& entry = entries_[first];
  if (!entry.live) {
    return Observation::failure(ErrorCode::kStale);
  }
  auto loaded = from_bytes(shape_, to_bytes(shape_, entry.copy, entry.scope), entry.scope);
  if (!loaded) {
    return Observation::failure(loaded.error().code);
  }
  entry.copy = std::move(*loaded);
  if (entry.copy.rows.size() > 1 && is_on(Mutant::kReloadSwapsLayers)) {
    std::swap(entry.copy.rows.back(), entry.copy.rows[entry.copy.rows.size() - 2]);
  }
  std::erase(order_, first);
  order_.push_back(first);  // it is the youngest now
  return Observation::success(entry.copy.position());
}

Observation CopyingSystem::load_damaged(EntryName name, Damage damage, std::uint32_t at) {
  Entry const& entry = entries_[entries_[name.value].first_name];
  if (!entry.live) {
    return Observation::failure(ErrorCode::kStale);
  }
  std::vector<std::byte> bytes = to_bytes(shape_, entry.copy, entry.scope);
  copying::damage(bytes, damage, at);
  auto const loaded =
      from_bytes(shape_, bytes, damage == Damage::kScope ? entry.scope ^ 4U : entry.scope);
  return loaded ? Observation::success(0) : Observation::failure(loaded.error().code);
}

Copy const& CopyingSystem::copy_of(Label holder) const noexcept {
  switch (holder.prefix) {
    case 's':
      return sequences_[holder.value].copy;
    case 'h':
      return snapshots_[holder.value].copy;
    default:
      return entries_[entries_[holder.value].first_name].copy;
  }
}

SequenceLook CopyingSystem::sequence(SequenceName name) const noexcept {
  Named const& named = sequences_[name.value];
  return {.live = named.live,
          .open = named.open.has_value(),
          .round = named.open && named.open->round,
          .position = named.copy.position(),
          .open_rows = named.open ? named.open->rows : 0};
}

PlaneLook CopyingSystem::plane(Label holder, std::uint32_t plane) const noexcept {
  Copy const& copy = copy_of(holder);
  if (plane == shape_.planes.size()) {
    return {.length = copy.state_at};
  }
  return {.length = plane < copy.rows.size() ? copy.length(shape_, plane) : 0};
}

bool CopyingSystem::read_rows(Label holder,
                              RowsWanted const& wanted,
                              std::span<float> out) const noexcept {
  Copy const& copy = copy_of(holder);
  if (wanted.plane >= copy.rows.size() ||
      wanted.first + wanted.count > copy.length(shape_, wanted.plane)) {
    return false;
  }
  PlaneShape const& own = shape_.planes[wanted.plane];
  std::uint32_t const elements = shard_elements(own, shape_.ranks);
  float const* row = copy.rows[wanted.plane].data() + std::size_t{wanted.first} * own.elements;
  for (std::uint32_t i = 0; i < wanted.count; ++i, row += own.elements) {
    take_shard(own, row, shape_.ranks, wanted.rank, out.data() + std::size_t{i} * elements);
  }
  return true;
}

bool CopyingSystem::read_state(Label holder,
                               std::uint32_t rank,
                               std::span<float> out) const noexcept {
  Copy const& copy = copy_of(holder);
  if (copy.state.size() != shape_.state_elements) {
    return false;
  }
  for (std::uint32_t i = 0; i < shape_.states.size(); ++i) {
    take_shard(shape_.states[i],
               copy.state.data() + shape_.state_offsets[i],
               shape_.ranks,
               rank,
               out.data() + shape_.shard_offsets[i]);
  }
  return true;
}

}  // namespace holdfast::model::copying
