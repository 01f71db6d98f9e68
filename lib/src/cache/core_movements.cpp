// SPDX-License-Identifier: Apache-2.0
// Snapshot, rollback, fork, truncate, release: each decides on all planes, then moves all planes.
#include <algorithm>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core.hpp"
#include "cache/core_errors.hpp"
#include "storage/kind_names.hpp"

namespace holdfast::internal::cache {

using planes::LoadKind;

namespace {

/// The seed of the two-plane snapshot: planes that such a snapshot forgets.
bool snapshot_forgets([[maybe_unused]] PlaneKind kind) noexcept {
  return HOLDFAST_MUTANT(kTwoPlaneSnapshot) && !storage::is_named(kind, "attention_kv") &&
         !storage::is_named(kind, "recurrent");
}

}  // namespace

Result<HandleId> Core::snapshot(HandleId id) noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  if (free_snapshot_count_ == 0) {
    HOLDFAST_SOMETIMES(kSnapshotsExhausted, true);
    return Error{.code = ErrorCode::kExhausted,
                 .text = "every snapshot is in use",
                 .subject = "snapshots",
                 .got = 1,
                 .limit = 0};
  }
  std::uint32_t const index = free_snapshots_[--free_snapshot_count_];
  SnapshotRecord& held = snapshots_[index];
  held.live = true;
  held.position = sequences_[id.index].position;
  held.mark = HOLDFAST_MUTANT(kSnapshotNotMarked) ? held.mark : sequences_[id.index].mark;
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    if (!snapshot_forgets(plan_.classes[plane_index].kind)) {
      plane.hold(id.index, index);
    }
  });
  ++sequences_[id.index].changes;
  verify();
  return HandleId{index, held.generation};
}

void Core::load_planes(std::uint32_t snapshot, std::uint32_t index, LoadKind kind) noexcept {
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    if (!snapshot_forgets(plan_.classes[plane_index].kind)) {
      plane.load(snapshot, owner_of(index), kind, step_of(plane_index));
    }
  });
  sequences_[index].position = snapshots_[snapshot].position;
}

Status Core::rollback(HandleId id,
                      Core const* snapshot_core,
                      HandleId snapshot,
                      Stream stream) noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  if (snapshot_core == nullptr) {
    return stale("snapshot");
  }
  if (snapshot_core != this) {
    return invalid("snapshot", "belongs to another cache");
  }
  HOLDFAST_TRY(check_snapshot(snapshot));
  if (!HOLDFAST_MUTANT(kRollbackSharesUnawaited)) {
    HOLDFAST_TRY(enter_to_take(stream));
  }
  HOLDFAST_TRY(enter(sequences_[id.index], stream));
  HOLDFAST_TRY(work_.begin());
  load_planes(snapshot.index, id.index, LoadKind::kRollback);
  Status launched = publish(id.index, stream);
  if (launched && HOLDFAST_MUTANT(kRollbackLaunchesTwice)) {
    HOLDFAST_TRY(work_.begin());
    launched = publish(id.index, stream);
  }
  if (!launched && !HOLDFAST_MUTANT(kRollbackNotTainted)) {
    sequences_[id.index].tainted = true;
  }
  return launched;
}

Result<HandleId> Core::fork(HandleId snapshot, Stream stream) noexcept {
  HOLDFAST_TRY(check_snapshot(snapshot));
  auto const taken = take_sequence();
  if (!taken) {
    return taken.error();
  }
  SequenceRecord& record = sequences_[*taken];
  HOLDFAST_TRY(HOLDFAST_MUTANT(kForkSharesUnawaited) ? enter(record, stream)
                                                     : enter_to_take(stream));
  HOLDFAST_TRY(work_.begin());
  --free_sequence_count_;
  record.live = true;
  record.mark = HOLDFAST_MUTANT(kForkNotMarked) ? record.mark : fences_.here();
  load_planes(snapshot.index, *taken, LoadKind::kFork);
  if (Status const launched = publish(*taken, stream); !launched) {
    if (!HOLDFAST_MUTANT(kFailedForkLeaks)) {
      give_back_sequence(*taken);
    }
    return launched.error();
  }
  if (HOLDFAST_MUTANT(kForkNotesItsEnd)) {
    static_cast<void>(fences_.note_end(record.mark, events_.span(0, device_count_)));
  }
  return HandleId{*taken, record.generation};
}

Status Core::can_truncate(HandleId id, std::uint32_t length) const noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  SequenceRecord const& record = sequences_[id.index];
  if (length > record.position) {
    return invalid("length", "is more than the sequence's rows", length, record.position);
  }
  Status answer;
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    if (length == record.position || (!answer && !HOLDFAST_MUTANT(kLastPlaneRefuses))) {
      return;
    }
    if (Status const own = plane.can_truncate(id.index, length); !own) {
      answer = own.error();
    }
  });
  return answer;
}

Status Core::truncate(HandleId id, std::uint32_t length, Stream stream) noexcept {
  Status const feasible = can_truncate(id, length);
  bool const half =
      !feasible && feasible.error().code == ErrorCode::kRefused && HOLDFAST_MUTANT(kHalfTruncate);
  if (!feasible && !half) {
    return feasible;
  }
  SequenceRecord& record = sequences_[id.index];
  if (length == record.position && HOLDFAST_MUTANT(kOwnLengthStays)) {
    return {};
  }
  HOLDFAST_TRY(enter(record, stream));
  if (length == record.position) {
    return {};
  }
  HOLDFAST_TRY(work_.begin());
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    if (!half || plane.can_truncate(id.index, length)) {
      plane.truncate(owner_of(id.index), length, step_of(plane_index));
    }
  });
  if (half) {
    return feasible;
  }
  record.position = length;
  Status const launched = publish(id.index, stream);
  if (!launched && !HOLDFAST_MUTANT(kTruncateNotTainted)) {
    record.tainted = true;
  }
  for (std::uint32_t i = 0; i < device_count_ && HOLDFAST_MUTANT(kTruncateStopsTheHost); ++i) {
    static_cast<void>(devices_[i]->synchronize(stream));
  }
  return launched;
}

Status Core::release(HandleId id, Stream /*stream*/) noexcept {
  HOLDFAST_TRY(check_live(id));
  SequenceRecord& record = sequences_[id.index];
  if (record.open != OpenKind::kNone) {
    HOLDFAST_SOMETIMES(kReleasedOpen, true);
    work_.discard();
    close_planes(id.index, 0);  // cancelled; nobody reads the device record of a released sequence
  }
  give_back_sequence(id.index);
  if (orphaned_) {
    static_cast<void>(close());
  }
  return {};
}

void Core::drop_planes(std::uint32_t held) noexcept {
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    if (!snapshot_forgets(plan_.classes[plane_index].kind)) {
      plane.drop(held);
    }
  });
  SnapshotRecord& record = snapshots_[held];
  record.live = false;
  if (++record.generation == 0) {
    record.generation = 1;
  }
  verify();
}

Status Core::drop_snapshot(HandleId snapshot) noexcept {
  HOLDFAST_TRY(check_snapshot(snapshot));
  drop_planes(snapshot.index);
  free_snapshots_[free_snapshot_count_++] = snapshot.index;
  if (orphaned_) {
    static_cast<void>(close());
  }
  return {};
}

Result<std::uint32_t> Core::position(HandleId id) const noexcept {
  HOLDFAST_TRY(check_live(id));
  return sequences_[id.index].position;
}

Result<std::uint32_t> Core::snapshot_position(HandleId snapshot) const noexcept {
  HOLDFAST_TRY(check_snapshot(snapshot));
  return snapshots_[snapshot.index].position;
}

}  // namespace holdfast::internal::cache
