// SPDX-License-Identifier: Apache-2.0
// The core's life: creation, closing, sequences, and the checks that every call begins with.
#include "cache/core.hpp"

#include <algorithm>
#include <atomic>

#include "base/mutants.hpp"
#include "base/sometimes.hpp"
#include "cache/core_errors.hpp"

namespace holdfast::internal::cache {
namespace {

using storage::Owner;

Error out_of_memory() noexcept {
  return Error{.code = ErrorCode::kOutOfMemory,
               .text = "the host has no memory for the bookkeeping",
               .subject = "cache"};
}

/// Names one cache of the process.
std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

}  // namespace

Core::Core(std::span<Device* const> devices) noexcept
    : device_count_{static_cast<std::uint32_t>(devices.size())} {
  std::copy(devices.begin(), devices.end(), devices_.begin());
}

Core::~Core() {
  free_memory();
}

Status Core::create(Layout const& layout) noexcept {
  HOLDFAST_TRY(storage::make_plan(layout, plan_));
  if (device_count_ != plan_.device_count()) {
    return invalid(
        "devices", "must be one for each rank of each stage", device_count_, plan_.device_count());
  }
  if (!sequences_.create(plan_.sequence_limit) || !snapshots_.create(plan_.snapshot_limit) ||
      !free_sequences_.create(plan_.sequence_limit) || !free_snapshots_.create(plan_.first_entry) ||
      !writes_.create(plan_) || !steps_.create(plan_.step_records) ||
      !free_steps_.create(plan_.step_records) ||
      !step_items_.create(std::uint64_t{plan_.step_records} * plan_.step_items) ||
      !keeps_.create(plan_.step_items) || !rescan_items_.create(plan_.step_items) ||
      !events_.create(std::uint64_t{1 + plan_.snapshot_limit - plan_.first_entry} *
                      device_count_) ||
      !index_.create(plan_.first_entry, layout.capacity.entries, plan_.tokens)) {
    return out_of_memory();
  }
  fingerprint_ = prefix::fingerprint_of(layout);
  number_ = next_number();
  fences_.create({devices_.data(), device_count_});
  // Stack order: index 1 is handed out first; sequence 0 is reserved, snapshot 0 is never used.
  for (std::uint32_t index = plan_.sequence_limit; index-- > 1;) {
    free_sequences_[free_sequence_count_++] = index;
    sequences_[index].generation = 1;
  }
  for (std::uint32_t index = plan_.step_records; index-- > 0;) {
    free_steps_[free_step_count_++] = index;
    steps_[index].generation = 1;
  }
  for (std::uint32_t index = plan_.first_entry; index-- > 1;) {
    free_snapshots_[free_snapshot_count_++] = index;
  }
  for (std::uint32_t index = 1; index < plan_.snapshot_limit; ++index) {
    snapshots_[index].generation = 1;
  }
  HOLDFAST_TRY(create_planes());
  open_ = true;
  return {};
}

/// Memory of one device: records, row map and tables, cleared - a table entry that was never set
/// names the reserved page 0 - and then the arenas.
Status Core::create_device(std::uint32_t stage, std::uint32_t rank) noexcept {
  std::uint32_t const index = stage * plan_.ranks + rank;
  Device& device = *devices_[index];
  storage::StepLimits const limits = storage::step_limits(plan_);
  auto memory = device.allocate(plan_.device_bytes(stage), MemoryKind::kDevice);
  if (!memory) {
    return memory.error();
  }
  memories_[index] = *memory;
  auto pinned = device.allocate(storage::StepWork::block_bytes(limits), MemoryKind::kPinned);
  if (!pinned) {
    return pinned.error();
  }
  pinned_[index] = *pinned;
  std::byte* const base = memory->base;
  std::byte* const row_map = base + plan_.record_bytes();
  storage::StepWork& work = work_.of(stage);
  work.attach(rank,
              device,
              pinned->base,
              {.records = base,
               .tables = reinterpret_cast<std::uint32_t*>(row_map + plan_.row_map_bytes()),
               .row_sequences = reinterpret_cast<std::uint32_t*>(row_map),
               .record_bytes = plan_.mirror_bytes});
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    bool const is_slot = known.page_rows == 0;
    if (known.stage == stage) {
      work.set_strips(
          rank,
          plane,
          {.base = base + known.arena_offset,
           .page_bytes = known.page_bytes,
           .runs = is_slot ? storage::StripRuns{.count = 1,
                                                .list = {{.strips = 1,
                                                          .row_bytes = planes::kSlotRowBytes}}}
                           : storage::runs_of(known.strips, known.layer_count)});
    }
  }
  FillSegment const cleared{.destination = base, .bytes = plan_.cleared_bytes(stage)};
  return device.fill({&cleared, 1}, Stream{});
}

Status Core::create_planes() noexcept {
  if (!work_.create(storage::step_limits(plan_), plan_.stages, plan_.ranks)) {
    return out_of_memory();
  }
  for (std::uint32_t stage = 0; stage < plan_.stages; ++stage) {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      HOLDFAST_TRY(create_device(stage, rank));
    }
  }
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    storage::ClassPlan const& known = plan_.classes[index];
    std::byte* const base = memories_[device_of(index, 0)].base;
    planes::PlaneMemory const place{
        .pages = base + known.arena_offset,
        .device_table = reinterpret_cast<std::uint32_t*>(base + known.table_offset)};
    planes::emplace_plane(planes_[index], known.rule);
    bool const created =
        std::visit([&](auto& plane) { return plane.create(plan_, index, place); }, planes_[index]);
    if (!created) {
      return out_of_memory();
    }
  }
  return {};
}

void Core::free_memory() noexcept {
  for (std::uint32_t index = 0; index < device_count_; ++index) {
    for (Memory* const memory : {&memories_[index], &pinned_[index]}) {
      if (memory->base != nullptr) {
        devices_[index]->free(*memory);
        *memory = {};
      }
    }
  }
  open_ = false;
}

Status Core::close() noexcept {
  if (!open_) {
    return stale("cache");
  }
  std::uint32_t const live_sequences = plan_.sequence_limit - 1 - free_sequence_count_;
  std::uint32_t const live_snapshots = plan_.first_entry - 1 - free_snapshot_count_;
  if (live_sequences + live_snapshots != 0) {
    return Error{.code = ErrorCode::kBusy,
                 .text = "sequences or snapshots are still alive",
                 .subject = "cache",
                 .got = std::int64_t{live_sequences} +
                        (HOLDFAST_MUTANT(kBusyForgetsSnapshots) ? 0 : live_snapshots)};
  }
  free_memory();
  return {};
}

void Core::orphan() noexcept {
  orphaned_ = true;
  static_cast<void>(close());
}

void Core::remove_handle() noexcept {
  HOLDFAST_ASSERT(handles_ > 0);
  if (--handles_ == 0) {
    delete this;
  }
}

SequenceMirror* Core::mirror(std::uint32_t sequence, std::uint32_t device) const noexcept {
  return reinterpret_cast<SequenceMirror*>(memories_[device].base + sequence * plan_.mirror_bytes);
}

Status Core::check_live(HandleId id) const noexcept {
  if (!open_ || id.index == 0 || id.index >= plan_.sequence_limit || !sequences_[id.index].live ||
      (sequences_[id.index].generation != id.generation && !HOLDFAST_MUTANT(kGenerationIgnored))) {
    return stale("sequence");
  }
  return {};
}

Status Core::check_at_rest(HandleId id) const noexcept {
  HOLDFAST_TRY(check_live(id));
  if (sequences_[id.index].tainted && !HOLDFAST_MUTANT(kTaintedServes)) {
    return Error{.code = ErrorCode::kTainted,
                 .text = "a device failure left it unknown",
                 .subject = "sequence"};
  }
  if (sequences_[id.index].open != OpenKind::kNone) {
    return Error{
        .code = ErrorCode::kBusy, .text = "an append or a round is open", .subject = "sequence"};
  }
  return {};
}

Status Core::check_open(HandleId id, std::uint64_t ticket) const noexcept {
  HOLDFAST_TRY(check_live(id));
  if (sequences_[id.index].open == OpenKind::kNone ||
      (sequences_[id.index].ticket != ticket && !HOLDFAST_MUTANT(kTicketIgnored))) {
    return stale("handle");
  }
  if (sequences_[id.index].tainted) {
    return Error{.code = ErrorCode::kTainted,
                 .text = "a device failure left it unknown",
                 .subject = "sequence"};
  }
  return {};
}

Status Core::check_rank(std::uint32_t rank) const noexcept {
  return rank < plan_.ranks ? Status{}
                            : invalid("rank", "is past the layout's ranks", rank, plan_.ranks);
}

Status Core::check_snapshot(HandleId snapshot) const noexcept {
  if (!open_ || snapshot.index == 0 || snapshot.index >= plan_.first_entry ||
      !snapshots_[snapshot.index].live ||
      (snapshots_[snapshot.index].generation != snapshot.generation &&
       !HOLDFAST_MUTANT(kSnapshotGenerationIgnored))) {
    return stale("snapshot");
  }
  return {};
}

Result<std::uint32_t> Core::take_sequence() noexcept {
  if (!open_) {
    return stale("cache");
  }
  if (free_sequence_count_ == 0) {
    return Error{.code = ErrorCode::kExhausted,
                 .text = "every sequence is in use",
                 .subject = "sequences",
                 .got = 1,
                 .limit = 0};
  }
  return free_sequences_[free_sequence_count_ - 1];
}

Result<HandleId> Core::create_sequence(Stream stream) noexcept {
  auto const taken = take_sequence();
  if (!taken) {
    return taken.error();
  }
  Error lacking{};
  bool enough = true;
  for_each_plane([&](std::uint32_t index, auto const& plane) {
    if (enough && plane.need_to_start() > plane.available()) {
      enough = false;
      lacking = Error{.code = ErrorCode::kExhausted,
                      .text = "not enough free storage for a new sequence",
                      .subject = name_of(plan_.classes[index].kind),
                      .got = plane.need_to_start(),
                      .limit = plane.available()};
    }
  });
  if (!enough) {
    HOLDFAST_SOMETIMES(kStartExhausted, true);
    free_sequence_count_ -= HOLDFAST_MUTANT(kFailedCreateLeaksId) ? 1U : 0U;
    return lacking;
  }
  HOLDFAST_TRY(enter_to_take(stream));
  HOLDFAST_TRY(work_.begin());
  --free_sequence_count_;
  SequenceRecord& record = sequences_[*taken];
  record.live = true;
  record.position = 0;
  record.mark = HOLDFAST_MUTANT(kBirthNotMarked) ? record.mark : fences_.here();
  for_each_plane(
      [&](std::uint32_t index, auto& plane) { plane.start(owner_of(*taken), step_of(index)); });
  work_.open_mirror();
  describe(*taken);
  Status const launched = HOLDFAST_MUTANT(kBirthNotMarked) ? work_.launch(stream) : launch(stream);
  if (!launched) {
    if (!HOLDFAST_MUTANT(kFailedBirthLeaks)) {
      give_back_sequence(*taken);
    }
    return launched.error();
  }
  return HandleId{*taken, record.generation};
}

Status Core::enter_other(SequenceRecord& record, Stream stream) noexcept {
  HOLDFAST_TRY(fences_.enter(stream));
  Mark const last = record.mark;
  record.mark = HOLDFAST_MUTANT(kMarkedBeforeWait) ? fences_.here() : last;
  if (!HOLDFAST_MUTANT(kOwnerNotAwaited)) {
    HOLDFAST_TRY(fences_.wait_for(last));
  }
  record.mark = fences_.here();
  return {};
}

Status Core::enter_to_take(Stream stream) noexcept {
  HOLDFAST_TRY(fences_.enter(stream));
  return HOLDFAST_MUTANT(kReuseNotAwaited) ? Status{} : fences_.wait_for_uses();
}

void Core::give_back_sequence(std::uint32_t index) noexcept {
  if (!HOLDFAST_MUTANT(kReleaseNotNoted)) {
    fences_.note_use(sequences_[index].mark);
  }
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) { plane.release(owner_of(index)); });
  SequenceRecord& record = sequences_[index];
  record.live = false;
  record.tainted = record.tainted && HOLDFAST_MUTANT(kTaintSurvivesRelease);
  record.position = 0;
  ++record.changes;
  if (++record.generation == 0) {
    record.generation = 1;  // 0 is nobody's
  }
  free_sequences_[free_sequence_count_++] = index;
  verify();
}

/// Whether a plane has as many rows as its holder's position says.
bool Core::has_length(PlaneState const& state,
                      std::uint32_t plane,
                      std::uint32_t position) const noexcept {
  storage::ClassPlan const& known = plan_.classes[plane];
  std::uint32_t const rows = known.traits->is_slot ? position : position / known.unit_tokens;
  return known.traits->lags ? state.length <= rows : state.length == rows;
}

bool Core::planes_are_sound() const noexcept {
  bool are_sound = true;
  for_each_plane(
      [&](std::uint32_t /*index*/, auto const& plane) { are_sound = are_sound && plane.audit(); });
  return are_sound;
}

bool Core::records_are_met() const noexcept {
  bool are_met = true;
  for_each_plane([&](std::uint32_t plane_index, auto const& plane) {
    auto const meet = [&](auto const& record, PlaneState const& state) {
      bool const holds_nothing = state.length == 0 && state.chunks == 0 && state.slot == 0;
      are_met = are_met &&
                (record.live ? has_length(state, plane_index, record.position) : holds_nothing);
    };
    for (std::uint32_t index = 0; index < plan_.sequence_limit; ++index) {
      meet(sequences_[index], plane.state({HolderKind::kSequence, index}));
    }
    for (std::uint32_t index = 0; index < plan_.snapshot_limit; ++index) {
      meet(snapshots_[index], plane.state({HolderKind::kSnapshot, index}));
    }
  });
  return are_met;
}

void Core::describe(std::uint32_t index) noexcept {
  SequenceRecord& record = sequences_[index];
  ++record.changes;
  for (storage::StepWork& stage : work_.all()) {
    storage::MirrorUpdate& update = stage.mirror();
    update.sequence = index;
    update.committed = record.position;
    update.open = HOLDFAST_MUTANT(kOpenRowsNotPublished) ? 0 : record.rows;
    update.generation = record.generation;
    update.read_slot = 0;
  }
  for_each_plane([&](std::uint32_t plane_index, auto const& plane) {
    if (record.position != 0 || !HOLDFAST_MUTANT(kScratchSlotPublished)) {
      plane.publish(index, step_of(plane_index).mirror());
    }
  });
}

Status Core::publish(std::uint32_t index, Stream stream) noexcept {
  work_.open_mirror();
  describe(index);
  return launch(stream);
}

Status Core::launch(Stream stream) noexcept {
  Status const launched = work_.launch(stream);
  // Who takes storage must not overtake it: it fills, copies from, and gives back.
  if (!HOLDFAST_MUTANT(kCallNotNoted)) {
    fences_.note_use(fences_.here());
  }
  verify();
  return launched;
}

}  // namespace holdfast::internal::cache
