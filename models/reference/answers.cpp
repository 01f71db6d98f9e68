// SPDX-License-Identifier: Apache-2.0
// The reference model says here what an answer has beside code and number, as the headers of the calls
// promise it. It also says which plane refuses a truncation.
#include <algorithm>

#include "models/reference/model.hpp"
#include "models/reference/parts.hpp"

namespace holdfast::model {

/// The handle of a released sequence is as used up as the sequence, which is named first.
Observation Model::stale_handle(SequenceName name) const noexcept {
  return Observation::failure(ErrorCode::kStale,
                              sequences_[name.value].live ? "handle" : "sequence");
}

/// All parts that must be written have the same rows but for one, which has the complete ones: when the
/// others lack some too, the first that refusals name does.
Observation Model::missing_rows(OpenHandle const& open, std::uint32_t keep) const noexcept {
  auto const first = std::find_if(shape_.named.begin(), shape_.named.end(), [&](auto const& one) {
    return one.plane == ModelShape::kNoPlane ||
           (!shape_.planes[one.plane].derived && rule_of(one.kind) != PlaneRule::kDraft);
  });
  if (first == shape_.named.end()) {
    return Observation::failure(ErrorCode::kIncomplete);
  }
  PlaneKind kind = first->kind;
  std::uint32_t layer = first->layer;
  std::uint32_t written = open.written;
  if (open.complete != open.written) {
    Part const part = *part_of(shape_, open.lacking);
    bool const is_state = part.plane == UINT32_MAX;
    PlaneKind const own =
        is_state ? shape_.states[part.state].kind : shape_.planes[part.plane].kind;
    std::uint32_t const of =
        is_state ? shape_.states[part.state].layer : shape_.planes[part.plane].layer;
    if (written >= keep || (part.rank == 0 && own == kind && of == layer)) {
      kind = own;
      layer = of;
      written = open.complete;
    }
  }
  Observation answer = Observation::failure(ErrorCode::kIncomplete, name_of(kind), written, keep);
  answer.says.layer = layer;
  return answer;
}

void Model::say_opened(SequenceName name, Details& says) const noexcept {
  OpenHandle const& open = sequences_[name.value].open;
  if (!open.round) {
    says.item_at(0).exact = open.drop_is_exact ? 1 : 0;
  }
  if (shape_.has_draft()) {
    says.draft_first = history(sequences_[name.value]).watermark;
    says.draft_count = open.draft_rows;
  }
}

Observation Model::can_truncate(SequenceName name, std::uint32_t length) const {
  if (Observation const rest = check_at_rest(name); !rest.ok) {
    return rest;
  }
  std::uint32_t const own = position(name);
  if (length > own) {
    return Observation::failure(ErrorCode::kInvalidArgument, "length", length, own);
  }
  if (length == own || (shape_.states.empty() && shape_.windows.empty())) {
    return Observation::success(length);
  }
  for (ModelShape::Named const& one : shape_.named) {
    if (one.plane == ModelShape::kNoPlane) {
      return Observation::failure(ErrorCode::kRefused, name_of(one.kind), length, own);
    }
    std::uint32_t const window = shape_.window_of_plane[one.plane];
    if (window == kWindowLimit) {
      continue;
    }
    std::uint32_t const first = shape_.windows[window].first_needed(length);
    std::uint32_t const resident = history(sequence(name)).lo[window];
    if (first != length && first < resident) {
      return Observation::failure(ErrorCode::kRefused, name_of(one.kind), first, resident);
    }
  }
  return Observation::success(length);
}

char const* Model::refuser_of(ModelEntry const& entry, std::uint32_t length) const noexcept {
  auto const own = static_cast<std::uint32_t>(entry.history.tokens.size());
  for (ModelShape::Named const& one : shape_.named) {
    bool refuses = length != own;  // a state
    if (one.plane != ModelShape::kNoPlane) {
      PlaneShape const& plane = shape_.planes[one.plane];
      std::uint32_t const window = shape_.window_of_plane[one.plane];
      std::uint32_t const first =
          window == kWindowLimit ? length : shape_.windows[window].first_needed(length);
      bool const lacks_rows = first != length && first < shape_.windows[window].first_needed(own);
      // Keys of a pool that is open at `length` and complete in the entry: its rows are not held.
      bool const lacks_pool =
          plane.derived && length % plane.pool != 0 && length / plane.pool != own / plane.pool;
      refuses = lacks_rows || lacks_pool;
    }
    if (refuses) {
      return name_of(one.kind);
    }
  }
  return nullptr;
}

void Model::say_limit(PrefixQuery const& query,
                      std::span<TokenKey const> keys,
                      std::uint32_t length,
                      Details& says) const {
  ModelEntry const* nearest = nullptr;  // shares most; of those that do the oldest
  std::uint32_t most = 0;
  for (std::uint32_t const live : live_entries_) {
    ModelEntry const& entry = entries_[live];
    std::uint32_t const common =
        entry.scope == query.scope ? common_rows(entry, keys, query.limit) : 0;
    if (common != 0 && entry.pending) {
      return;  // it may be found or not
    }
    if (common > most) {
      nearest = &entry;
      most = common;
    }
  }
  bool const is_all = length == most;
  says.limited_by = !is_all                 ? refuser_of(*nearest, most)
                    : length == query.limit ? "limit"
                                            : "tokens";
  says.limited_at = is_all ? length + 1 : most;
}

void Model::say_bytes(History const& history, Details& says) const noexcept {
  // As docs/BYTE_FORM.md has them: head, planes, token keys, payload, checksum.
  constexpr std::uint64_t kHead = 64;
  constexpr std::uint64_t kPlane = 20;
  constexpr std::uint64_t kChecksum = 8;
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  std::uint64_t const payload = payload_bytes(history, history.watermark);
  says.payload = static_cast<std::int64_t>(payload);
  says.total = static_cast<std::int64_t>(kHead + shape_.class_count * kPlane +
                                         length * sizeof(TokenKey) + payload + kChecksum);
  if (asks_for_entry_bytes(length)) {
    says.payload_at_length = static_cast<std::int64_t>(payload_bytes(history, length));
  }
  if (asks_for_bytes_needed(length)) {
    says.per_page = static_cast<std::int64_t>(shape_.page_bytes());
    says.per_slot = static_cast<std::int64_t>(shape_.slot_bytes());
  }
}

}  // namespace holdfast::model
