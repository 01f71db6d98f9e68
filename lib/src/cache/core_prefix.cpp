// SPDX-License-Identifier: Apache-2.0
// Prefix entries: capture, look-up, restore, and their byte form. As everywhere in the core, each
// decides on all planes, then moves all planes.
#include <algorithm>
#include <cstring>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"
#include "storage/kind_names.hpp"

namespace holdfast::internal::cache {
namespace {

/// Copies pieces of device memory out, or in, one after the other; the first failure stays. Planes
/// name their pieces as rank 0 has them.
class PieceCopier final : public planes::PieceSink {
 public:
  static PieceCopier reader(Core const& core, std::span<std::byte> out, Stream stream) noexcept {
    return {core, out.data(), nullptr, out.size(), stream};
  }
  static PieceCopier writer(Core const& core,
                            std::span<std::byte const> source,
                            Stream stream) noexcept {
    return {core, nullptr, source.data(), source.size(), stream};
  }

  /// Whose pieces come: those of `plane` on ranks [first, last). They are read from the first, and
  /// written on all.
  void select(std::uint32_t plane, std::uint32_t first, std::uint32_t last) noexcept {
    plane_ = plane;
    first_rank_ = first;
    last_rank_ = last;
  }
  void piece(std::byte* base, std::uint64_t bytes) noexcept override {
    HOLDFAST_ASSERT(bytes <= size_ - at_);
    std::uint32_t const last = out_ != nullptr ? first_rank_ + 1 : last_rank_;
    for (std::uint32_t rank = first_rank_; rank < last && bytes != 0 && status_; ++rank) {
      Device& device = core_.device(core_.device_of(plane_, rank));
      std::byte* const place = core_.at_rank(base, plane_, rank);
      status_ = out_ != nullptr ? device.host_read(out_ + at_, place, bytes, stream_)
                                : device.host_write(place, source_ + at_, bytes, stream_);
    }
    at_ += bytes;
  }
  /// Requires that every byte had its piece.
  [[nodiscard]] Status finish() const noexcept {
    HOLDFAST_ASSERT(at_ == size_);
    return status_ ? Status{} : Status{status_.error()};
  }

 private:
  PieceCopier(Core const& core,
              std::byte* out,
              std::byte const* source,
              std::uint64_t size,
              Stream stream) noexcept
      : core_{core}, out_{out}, source_{source}, size_{size}, stream_{stream} {}

  Core const& core_;
  std::byte* out_;
  std::byte const* source_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::uint32_t plane_ = 0;
  std::uint32_t first_rank_ = 0;
  std::uint32_t last_rank_ = 1;
  Stream stream_;
  Status status_;
};

/// Planes that a broken capture forgets.
bool capture_forgets([[maybe_unused]] PlaneKind kind) noexcept {
  return HOLDFAST_MUTANT(kCaptureForgetsIndexer) &&
         (storage::is_named(kind, "pool_keys") || storage::is_named(kind, "tail_ring"));
}

}  // namespace

Status Core::check_entry(EntryId entry) const noexcept {
  if (!open_ || entry.index < plan_.first_entry || entry.index >= plan_.snapshot_limit ||
      !snapshots_[entry.index].live ||
      (snapshots_[entry.index].generation != entry.generation &&
       !HOLDFAST_MUTANT(kEntryGenerationIgnored))) {
    return stale("entry");
  }
  return {};
}

EntryId Core::publish_entry(std::uint32_t entry,
                            PrefixScope const& scope,
                            std::span<TokenKey const> tokens) noexcept {
  index_.insert(entry, scope, tokens);
  SnapshotRecord& record = snapshots_[entry];
  record.live = true;
  record.position = static_cast<std::uint32_t>(tokens.size());
  verify();
  return {entry, record.generation};
}

Result<EntryId> Core::capture(PrefixScope const& scope,
                              Core const* snapshot_core,
                              HandleId snapshot,
                              std::span<TokenKey const> tokens) noexcept {
  if (!open_) {
    return stale("cache");
  }
  if (snapshot_core == nullptr) {
    return stale("snapshot");
  }
  if (snapshot_core != this) {
    return invalid("snapshot", "belongs to another cache");
  }
  HOLDFAST_TRY(check_snapshot(snapshot));
  std::uint32_t const position = snapshots_[snapshot.index].position;
  if (tokens.size() != position) {
    return invalid("tokens",
                   "are not as many as the snapshot's rows",
                   static_cast<std::int64_t>(tokens.size()),
                   position);
  }
  if (position == 0) {
    return invalid("snapshot", "is empty: every sequence starts with what it holds");
  }
  if (std::uint32_t const known = index_.find(scope, tokens); known != 0) {
    HOLDFAST_SOMETIMES(kKnownKeyCaptured, true);
    return EntryId{known, snapshots_[known].generation};
  }
  if (index_.free_count() == 0) {
    HOLDFAST_SOMETIMES(kEntriesExhausted, true);
    return Error{.code = ErrorCode::kExhausted,
                 .text = "every prefix entry is in use",
                 .subject = "entries",
                 .got = 1,
                 .limit = 0};
  }
  Mark const mark = snapshots_[snapshot.index].mark;
  if (Status const noted = fences_.note_end(mark, events_.span(0, device_count_));
      !noted && !HOLDFAST_MUTANT(kCaptureEventIgnored)) {
    return noted.error();
  }
  std::uint32_t const entry = index_.take();
  snapshots_[entry].mark = HOLDFAST_MUTANT(kEntryKeepsMark) ? snapshots_[entry].mark : mark;
  auto const done = events_of(entry);
  std::copy_n(events_.span(0, device_count_).begin(), device_count_, done.begin());
  snapshots_[entry].pending = !HOLDFAST_MUTANT(kPublishedEarly);
  for_each_plane([&](std::uint32_t index, auto& plane) {
    if (!capture_forgets(plan_.classes[index].kind)) {
      plane.capture(snapshot.index, entry);
    }
  });
  return publish_entry(entry, scope, tokens);
}

bool Core::is_published(std::uint32_t entry) noexcept {
  bool& pending = snapshots_[entry].pending;
  for (std::uint32_t device = 0; device < device_count_ && pending; ++device) {
    auto const done = devices_[device]->is_done(events_of(entry)[device]);
    if (!done && HOLDFAST_MUTANT(kErrorIsDone)) {
      continue;
    }
    if (!done || !*done) {
      return false;
    }
  }
  pending = false;  // for good: an event may come to stand for later work
  return true;
}

std::uint32_t Core::longest_usable(std::uint32_t entry,
                                   std::uint32_t most,
                                   Error& why) const noexcept {
  std::uint32_t length = most;
  bool refused = false;
  for (bool settled = false; !settled && length != 0;) {
    settled = true;
    for_each_plane([&](std::uint32_t index, auto const& plane) {
      if (!settled || (index + 1 == plan_.class_count && HOLDFAST_MUTANT(kRestoreLengthened))) {
        return;
      }
      if (Status const usable = plane.can_restore(entry, length); !usable) {
        HOLDFAST_SOMETIMES(kRestoreShortenedTwice, refused);
        if (!refused) {
          refused = true;
          why = usable.error();
        }
        // No plane may lengthen what another one has shortened.
        length = static_cast<std::uint32_t>(usable.error().limit);
        settled = false;
      }
    });
  }
  return length;
}

PrefixMatch Core::find_longest(PrefixScope const& scope,
                               std::span<TokenKey const> tokens,
                               std::uint32_t limit,
                               Error& why) noexcept {
  PrefixMatch best{.limited_by = "tokens", .limited_at = 1};
  why = Error{.code = ErrorCode::kMiss,
              .text = "no entry begins as these tokens do",
              .subject = "tokens",
              .got = 1};
  if (limit == 0) {
    best.limited_by = "limit";
    why.text = "leaves no row to start with";
    why.subject = "limit";
    return best;
  }
  // What kept it from being longer is said of the entry that shares most, of those the oldest.
  std::uint32_t nearest = 0;
  std::uint32_t nearest_most = 0;
  index_.for_each_common(scope, tokens, [&](std::uint32_t entry, std::uint32_t common) {
    std::uint32_t const most =
        HOLDFAST_MUTANT(kRestoreIgnoresLimit) ? common : std::min(common, limit);
    if (most < best.length) {
      return false;
    }
    if (!is_published(entry)) {
      if (nearest == 0) {
        why.text = "the entry that begins so is still being written";
        why.subject = "entry";
      }
      return true;
    }
    Error refusal{};
    std::uint32_t const length = longest_usable(entry, most, refusal);
    if (nearest == 0 || (most == nearest_most && index_.is_older(entry, nearest))) {
      nearest = entry;
      nearest_most = most;
      why = refusal;
    }
    bool const is_older =
        best.length == length && length != 0 &&
        index_.is_older(entry, best.entry.index) != HOLDFAST_MUTANT(kRestoreFromYoungest);
    HOLDFAST_SOMETIMES(kRestoreTie, best.length == length && length != 0);
    if (length > best.length || is_older) {
      best.length = length;
      best.entry = {entry, snapshots_[entry].generation};
    }
    return true;
  });
  why.code = ErrorCode::kMiss;
  bool const is_told = best.length == 0 || !HOLDFAST_MUTANT(kHitForgetsRefusal);
  bool const is_refused = best.length < nearest_most && is_told;
  best.limited_by = is_refused || nearest == 0 ? why.subject
                    : best.length == limit     ? "limit"
                                               : "tokens";
  best.limited_at = is_refused ? static_cast<std::uint32_t>(why.got)
                               : best.length + (HOLDFAST_MUTANT(kLimitedAtHit) ? 0 : 1);
  return best;
}

Result<PrefixMatch> Core::match(PrefixScope const& scope,
                                std::span<TokenKey const> tokens,
                                std::uint32_t limit) noexcept {
  if (!open_) {
    return stale("cache");
  }
  Error why;
  return find_longest(scope, tokens, limit, why);
}

Result<RestoredIds> Core::restore(PrefixScope const& scope,
                                  std::span<TokenKey const> tokens,
                                  std::uint32_t limit,
                                  Stream stream) noexcept {
  if (!open_) {
    return stale("cache");
  }
  Error why;
  PrefixMatch const found = find_longest(scope, tokens, limit, why);
  if (found.length == 0) {
    return why;
  }
  auto const taken = take_sequence();
  if (!taken) {
    return taken.error();
  }
  HOLDFAST_TRY(enter_to_take(stream));
  HOLDFAST_TRY(work_.begin());
  --free_sequence_count_;
  SequenceRecord& record = sequences_[*taken];
  record.live = true;
  record.mark = fences_.here();
  for_each_plane([&](std::uint32_t index, auto& plane) {
    plane.restore(found.entry.index, owner_of(*taken), found.length, step_of(index));
  });
  record.position = found.length;
  HOLDFAST_SOMETIMES(kRestoreInsideEntry, found.length < snapshots_[found.entry.index].position);
  if (Status const launched = publish(*taken, stream); !launched) {
    if (!HOLDFAST_MUTANT(kFailedRestoreLeaks)) {
      give_back_sequence(*taken);
    }
    return launched.error();
  }
  return RestoredIds{.sequence = {*taken, record.generation}, .match = found};
}

Status Core::erase(EntryId entry) noexcept {
  HOLDFAST_TRY(check_entry(entry));
  index_.erase(entry.index);
  if (HOLDFAST_MUTANT(kEntryLeaksStorage)) {
    snapshots_[entry.index].live = false;
    return {};
  }
  drop_planes(entry.index);
  return {};
}

template <typename OwnLength>
Core::PlaneLengths Core::plane_lengths(std::uint32_t tokens, OwnLength own_length) const noexcept {
  PlaneLengths lengths{};
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    bool const lags = plan_.classes[index].traits->lags;
    lengths[index] = lags ? std::min(tokens, own_length(index)) : tokens;
  }
  return lengths;
}

Core::PlaneLengths Core::lengths_of(std::uint32_t entry) const noexcept {
  return plane_lengths(snapshots_[entry].position, [&](std::uint32_t index) {
    return std::visit(
        [&](auto const& plane) {
          return plane.state({HolderKind::kSnapshot, entry}).length;
        },
        planes_[index]);
  });
}

Core::PlaneLengths Core::lengths_of(prefix::Form const& form) const noexcept {
  return plane_lengths(form.tokens, [&](std::uint32_t index) { return form.planes[index].rows; });
}

prefix::Form Core::form_of(PrefixScope const& scope,
                           std::uint32_t tokens,
                           PlaneLengths const& lengths) const noexcept {
  prefix::Form form{.fingerprint = fingerprint_,
                    .ranks = plan_.ranks,
                    .tokens = tokens,
                    .scope = scope,
                    .plane_count = plan_.class_count};
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    storage::ClassPlan const& known = plan_.classes[index];
    storage::EntryShape const shape = known.traits->entry_shape(known, lengths[index]);
    prefix::PlaneForm& plane = form.planes[index];
    plane = {.kind = static_cast<std::uint32_t>(known.kind),
             .layers = known.layer_count,
             .rows = shape.rows,
             .bytes = 0};
    if (__builtin_mul_overflow(shape.row_bytes, known.shares(plan_.ranks), &plane.bytes) ||
        __builtin_mul_overflow(plane.bytes, shape.rows, &plane.bytes)) {
      plane.bytes = UINT64_MAX;  // more than any bytes can add up to
    }
  }
  return form;
}

/// What ranks split has a part of every rank, in their order; what they replicate is there once.
template <typename Sink>
void Core::walk_payload(std::uint32_t entry, Sink& sink) const noexcept {
  for_each_plane([&](std::uint32_t index, auto const& plane) {
    std::uint32_t const shares = plan_.classes[index].shares(plan_.ranks);
    for (std::uint32_t layer = 0; layer < plan_.classes[index].layer_count; ++layer) {
      for (std::uint32_t rank = 0; rank < shares; ++rank) {
        sink.select(index, rank, shares == 1 ? plan_.ranks : rank + 1);
        plane.serialize(entry, layer, sink);
      }
    }
  });
}

Result<EntryBytes> Core::entry_bytes(EntryId entry) const noexcept {
  HOLDFAST_TRY(check_entry(entry));
  std::uint32_t const tokens = snapshots_[entry.index].position;
  EntryBytes bytes = form_of(index_.scope(entry.index), tokens, lengths_of(entry.index)).bytes();
  bytes.total += HOLDFAST_MUTANT(kTotalOfWideTokens) ? std::uint64_t{tokens} * sizeof(TokenKey) : 0;
  return bytes;
}

Result<std::uint64_t> Core::serialize(EntryId entry,
                                      std::span<std::byte> out,
                                      Stream stream) noexcept {
  HOLDFAST_TRY(check_entry(entry));
  auto const tokens = index_.tokens(entry.index);
  prefix::Form const form = form_of(index_.scope(entry.index),
                                    static_cast<std::uint32_t>(tokens.size()),
                                    lengths_of(entry.index));
  EntryBytes const size = form.bytes();
  if (out.size() < size.total) {
    return invalid("out",
                   "has no room for the entry",
                   static_cast<std::int64_t>(out.size()),
                   static_cast<std::int64_t>(size.total));
  }
  HOLDFAST_TRY(fences_.enter(stream));
  if (!HOLDFAST_MUTANT(kSerializeNotAwaited)) {
    HOLDFAST_TRY(fences_.wait_for(snapshots_[entry.index].mark));
  }
  out = out.first(size.total);
  prefix::write_head(form, tokens, out);
  PieceCopier copier =
      PieceCopier::reader(*this, out.subspan(form.payload_at(), size.payload), stream);
  walk_payload(entry.index, copier);
  HOLDFAST_TRY(copier.finish());
  prefix::seal(out);
  return size.total;
}

Status Core::check_entry_storage(PlaneLengths const& lengths) const noexcept {
  if (index_.free_count() == 0) {
    return Error{.code = ErrorCode::kExhausted,
                 .text = "every prefix entry is in use",
                 .subject = "entries",
                 .got = 1,
                 .limit = 0};
  }
  Status enough;
  for_each_plane([&](std::uint32_t index, auto const& plane) {
    storage::ClassPlan const& known = plan_.classes[index];
    std::uint32_t const pages = known.traits->entry_shape(known, lengths[index]).pages;
    if (enough && pages > plane.available()) {
      HOLDFAST_SOMETIMES(kEntryStorageExhausted, true);
      enough = Error{.code = ErrorCode::kExhausted,
                     .text = "not enough free storage for the entry",
                     .subject = name_of(known.kind),
                     .got = pages,
                     .limit = plane.available()};
    }
  });
  return enough;
}

Result<EntryId> Core::deserialize(PrefixScope const& scope,
                                  std::span<std::byte const> bytes,
                                  Stream stream) noexcept {
  if (!open_) {
    return stale("cache");
  }
  auto const head = prefix::read_head(bytes);
  if (!head) {
    return head.error();
  }
  HOLDFAST_TRY(prefix::check_owner(*head, form_of(scope, 0, {})));
  if (head->tokens > plan_.tokens) {
    return Error{.code = ErrorCode::kTooLong,
                 .text = "the entry has more rows than a sequence may have",
                 .subject = "tokens",
                 .got = head->tokens,
                 .limit = plan_.tokens};
  }
  PlaneLengths const lengths = lengths_of(*head);
  HOLDFAST_TRY(prefix::check_sizes(*head, form_of(scope, head->tokens, lengths)));
  if (head->tokens == 0) {
    return Error{
        .code = ErrorCode::kDamaged, .text = "the entry has no tokens", .subject = "bytes"};
  }
  auto const tokens = index_.scratch().first(head->tokens);
  prefix::read_tokens(*head, bytes, tokens);
  if (std::uint32_t const known = index_.find(scope, tokens); known != 0) {
    return EntryId{known, snapshots_[known].generation};
  }
  HOLDFAST_TRY(check_entry_storage(lengths));
  HOLDFAST_TRY(enter_to_take(stream));
  std::uint32_t const entry = index_.take();
  snapshots_[entry].mark = fences_.here();
  snapshots_[entry].pending = false;  // the host waits for the bytes
  for_each_plane(
      [&](std::uint32_t index, auto& plane) { plane.deserialize(entry, lengths[index]); });
  PieceCopier copier =
      PieceCopier::writer(*this, bytes.subspan(head->payload_at(), head->bytes().payload), stream);
  walk_payload(entry, copier);
  Status moved = copier.finish();
  std::uint32_t const count = HOLDFAST_MUTANT(kLoadWaitsForFirst) ? 1 : device_count_;
  for (std::uint32_t device = 0; device < count && moved; ++device) {
    moved = devices_[device]->synchronize(stream);
  }
  if (!moved && !HOLDFAST_MUTANT(kFailedLoadPublished)) {
    if (!HOLDFAST_MUTANT(kFailedLoadNotNoted)) {
      fences_.note_use(fences_.here());  // what was written until then may still be on its way
    }
    if (!HOLDFAST_MUTANT(kFailedLoadLeaks)) {
      drop_planes(entry);
    }
    index_.give_back(entry);
    return moved.error();
  }
  return publish_entry(entry, scope, tokens);
}

}  // namespace holdfast::internal::cache
