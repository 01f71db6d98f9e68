// SPDX-License-Identifier: Apache-2.0
// Operations on prefix entries onto the library's calls, and damage to their bytes.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "models/engine/holdfast_system.hpp"

namespace holdfast::model {
namespace {

// Where the byte form (docs/BYTE_FORM.md) has what a writer could have said wrongly.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kVersionEnd = 12;
constexpr std::size_t kLayoutAt = 24;
constexpr std::size_t kRanksAt = 32;
constexpr std::size_t kTokensAt = 36;

PrefixScope scope_of(std::uint32_t scope) {
  return {.model = scope & 1U, .adapter = scope >> 1U & 1U, .tenant = scope >> 2U};
}

/// Adds one to a number in the bytes, and makes their checksum right again.
void raise(std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  ++value;
  std::memcpy(bytes.data() + at, &value, sizeof value);
  std::size_t const covered = bytes.size() - sizeof(XXH64_hash_t);
  XXH64_hash_t const checksum = XXH3_64bits(bytes.data(), covered);
  std::memcpy(bytes.data() + covered, &checksum, sizeof checksum);
}

void flip_bit(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t bit) {
  bytes[at] ^= std::byte{1} << (bit % 8);
}

void damage_bytes(std::vector<std::byte>& bytes, Damage damage, std::uint32_t at) {
  switch (damage) {
    case Damage::kFlip:
      flip_bit(bytes, kVersionEnd + at % (bytes.size() - kVersionEnd), at);
      break;
    case Damage::kCut:
      bytes.resize(at % bytes.size());
      break;
    case Damage::kLonger:
      bytes.push_back(std::byte{});
      break;
    case Damage::kMagic:
      flip_bit(bytes, at % kVersionAt, at);
      break;
    case Damage::kVersion:
      raise(bytes, kVersionAt);
      break;
    case Damage::kLayout:
      raise(bytes, kLayoutAt);
      break;
    case Damage::kRanks:
      raise(bytes, kRanksAt);
      break;
    case Damage::kTokens:
      raise(bytes, kTokensAt);
      break;
    case Damage::kScope:
      break;
  }
}

}  // namespace

Observation HoldfastSystem::capture(SnapshotName snapshot,
                                    EntryName entry,
                                    std::uint32_t scope,
                                    std::uint32_t extra) {
  std::vector<TokenKey> keys = prompts_->history(prompts_->snapshot_of(snapshot)).keys;
  keys.resize(keys.size() + extra, 1);
  auto const captured = cache_.capture(scope_of(scope), kept(snapshot).snapshot, keys);
  if (!captured) {
    return Observation::failure(captured.error());
  }
  std::uint32_t const first = first_name_of(*captured).value_or(entry).value;
  entries_[entry.value] = *captured;
  first_names_[entry.value] = first;
  return Observation::success(first);
}

std::optional<EntryName> HoldfastSystem::first_name_of(EntryId entry) const noexcept {
  auto const known = std::find(entries_.begin(), entries_.end(), entry);
  return known == entries_.end()
             ? std::nullopt
             : std::optional{
                   EntryName{first_names_[static_cast<std::size_t>(known - entries_.begin())]}};
}

Observation HoldfastSystem::restore(PrefixQuery const& query, SequenceName name) {
  std::vector<TokenKey> const keys = prompts_->prompt(query);
  PrefixScope const scope = scope_of(query.scope);
  auto const match = cache_.match(scope, keys, query.limit);
  auto restored = cache_.restore(scope, keys, query.limit, stream_);
  // Where work runs later, an entry may have become visible in between.
  bool const has_grown = match && prompts_->is_asynchronous() &&
                         (restored ? match->length <= restored->length : match->length == 0);
  // When the device cannot say whether an entry's rows are written, it is not found.
  bool const is_unsure = faults_ != nullptr && faults_->failed() != 0;
  bool const agree =
      match && (restored ? match->length == restored->length && match->entry == restored->entry
                         : (match->length == 0) == (restored.error().code == ErrorCode::kMiss));
  if (!agree && !has_grown && !is_unsure) {
    return Observation::failure(kNeverAnswered);
  }
  Observation answer =
      restored ? Observation::success(restored->length) : Observation::failure(restored.error());
  if (match) {
    answer.says.limited_by = match->limited_by;
    answer.says.limited_at = match->limited_at;
  }
  if (restored) {
    restored_from_ = restored->entry;
    kept(name).sequence = std::move(restored->sequence);
    auto const entry = first_name_of(restored->entry);
    if (!entry || prompts_->entry(*entry).history.tokens.size() < restored->length) {
      return Observation::failure(kNeverAnswered);
    }
    answer.says.entry = entry->value;
    std::vector<Token> const& tokens = prompts_->entry(*entry).history.tokens;
    kept(name).history.assign(tokens.begin(), tokens.begin() + restored->length);
  }
  return answer;
}

Observation HoldfastSystem::erase(EntryName entry) {
  Status const erased = cache_.erase(entries_[entry.value]);
  return erased ? Observation::success(0) : Observation::failure(erased.error());
}

EntryBytes HoldfastSystem::bytes(EntryName name) const noexcept {
  auto const size = cache_.entry_bytes(entries_[name.value]);
  return size ? *size : EntryBytes{};
}

Status HoldfastSystem::write_bytes(EntryName entry, Details& says) {
  auto const size = cache_.entry_bytes(entries_[entry.value]);
  if (!size) {
    return size.error();
  }
  bytes_.assign(size->total, std::byte{});
  auto const written = cache_.serialize(entries_[entry.value], bytes_, stream_);
  if (!written) {
    return written.error();
  }
  bytes_.resize(*written);
  says.payload = static_cast<std::int64_t>(size->payload);
  says.total = *written == size->total ? static_cast<std::int64_t>(*written) : -1;
  return {};
}

/// What the layout says of any entry of so many rows, and of its pages and slots.
Status HoldfastSystem::ask_layout(std::uint32_t rows, Details& says) const {
  if (asks_for_entry_bytes(rows)) {
    auto const payload = entry_bytes(layout_, rows);
    HOLDFAST_TRY(payload);
    says.payload_at_length = static_cast<std::int64_t>(*payload);
  }
  if (asks_for_bytes_needed(rows)) {
    auto const needed = bytes_needed(layout_);
    HOLDFAST_TRY(needed);
    says.per_page = static_cast<std::int64_t>(needed->per_page);
    says.per_slot = static_cast<std::int64_t>(needed->per_slot);
  }
  return {};
}

Observation HoldfastSystem::reload(EntryName entry, std::optional<Stream> via) {
  Details says;
  if (Status const wrote = write_bytes(entry, says); !wrote) {
    return Observation::failure(wrote.error());
  }
  EntryId const old = entries_[entry.value];
  PrefixScope const scope = scope_of(prompts_->entry(entry).scope);
  if (Status const erased = cache_.erase(old); !erased) {
    return Observation::failure(erased.error());
  }
  Stream const stream = via.value_or(stream_);
  note_stream(stream);
  auto const loaded = cache_.deserialize(scope, bytes_, stream);
  if (!loaded) {
    return Observation::failure(loaded.error());
  }
  std::replace(entries_.begin(), entries_.end(), old, *loaded);
  Observation answer = Observation::success(cache_.inspect().snapshot(loaded->index).position);
  answer.says = says;
  if (Status const asked = ask_layout(answer.value, answer.says); !asked) {
    return Observation::failure(asked.error());
  }
  return answer;
}

Observation HoldfastSystem::load_damaged(EntryName entry, Damage damage, std::uint32_t at) {
  Details says;
  if (Status const wrote = write_bytes(entry, says); !wrote) {
    return Observation::failure(wrote.error());
  }
  damage_bytes(bytes_, damage, at);
  std::uint32_t const scope = prompts_->entry(entry).scope;
  auto const loaded =
      cache_.deserialize(scope_of(damage == Damage::kScope ? scope ^ 4U : scope), bytes_, stream_);
  return loaded ? Observation::success(prompts_->next_entry())
                : Observation::failure(loaded.error());
}

}  // namespace holdfast::model
