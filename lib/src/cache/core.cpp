// SPDX-License-Identifier: Apache-2.0
// Begin, finish, snapshot, rollback, fork, truncate: each decides on all planes, then moves all
// planes.
#include "cache/core.hpp"

#include <algorithm>

#include "base/mutants.hpp"

namespace holdfast::internal::cache {
namespace {

using planes::LoadKind;
using planes::Opening;
using storage::Owner;

constexpr std::uint64_t kAlignment = 256;

std::uint64_t align(std::uint64_t bytes) noexcept {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Error out_of_memory() noexcept {
  return Error{.code = ErrorCode::kOutOfMemory,
               .text = "the host has no memory for the bookkeeping",
               .subject = "cache"};
}

Error stale(char const* what) noexcept {
  return Error{.code = ErrorCode::kStale, .text = "is used up", .subject = what};
}

Error invalid(char const* what,
              char const* text,
              std::int64_t got = 0,
              std::int64_t limit = 0) noexcept {
  return Error{.code = ErrorCode::kInvalidArgument,
               .text = text,
               .subject = what,
               .got = got,
               .limit = limit};
}

/// The seed of the two-plane snapshot: planes that such a snapshot forgets.
bool snapshot_forgets([[maybe_unused]] PlaneKind kind) noexcept {
  return HOLDFAST_MUTANT(kTwoPlaneSnapshot) && kind != PlaneKind::kAttentionKv &&
         kind != PlaneKind::kRecurrent;
}

}  // namespace

Core::~Core() {
  free_memory();
}

Status Core::create(Layout const& layout) noexcept {
  HOLDFAST_TRY(storage::make_plan(layout, plan_));
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    cells_ += plan_.classes[index].layer_count;
  }
  if (!sequences_.create(plan_.sequence_limit) || !snapshots_.create(plan_.snapshot_limit) ||
      !free_sequences_.create(plan_.sequence_limit) ||
      !free_snapshots_.create(plan_.snapshot_limit) ||
      !written_.create(std::uint64_t{plan_.sequence_limit} * cells_) ||
      !viewed_.create(std::uint64_t{plan_.sequence_limit} * cells_)) {
    return out_of_memory();
  }
  // Stack order: index 1 is handed out first; sequence 0 is reserved, snapshot 0 is never used.
  for (std::uint32_t index = plan_.sequence_limit; index-- > 1;) {
    free_sequences_[free_sequence_count_++] = index;
    sequences_[index].generation = 1;
  }
  for (std::uint32_t index = plan_.snapshot_limit; index-- > 1;) {
    free_snapshots_[free_snapshot_count_++] = index;
    snapshots_[index].generation = 1;
  }
  HOLDFAST_TRY(create_planes());
  open_ = true;
  return {};
}

Status Core::create_planes() noexcept {
  // Records and tables first, then the arenas; a table entry that was never set names the reserved
  // page 0.
  std::uint64_t const mirror_bytes = align(plan_.mirror_bytes * plan_.sequence_limit);
  std::uint64_t table_bytes = 0;
  std::uint64_t arena_bytes = 0;
  std::uint32_t copies = 0;
  std::uint64_t patches = 0;
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    storage::ClassPlan const& known = plan_.classes[index];
    table_bytes +=
        align(std::uint64_t{plan_.sequence_limit} * known.entries * sizeof(std::uint32_t));
    arena_bytes += align(known.page_bytes * known.pages);
    // A begin copies one page of an addressed class, two runs of each page of a ring; a finish
    // none.
    copies += known.kind == PlaneKind::kTailRing ? 2 * known.entries : 1;
    patches += std::uint64_t{known.entries} + 1;
    if (arena_bytes + table_bytes > (std::uint64_t{1} << 62U) || patches > kLargestSize) {
      return invalid("capacity", "needs more memory than an address names");
    }
  }
  copies += plan_.state_count;
  auto memory = device_.allocate(mirror_bytes + table_bytes + arena_bytes, MemoryKind::kDevice);
  if (!memory) {
    return memory.error();
  }
  memory_ = *memory;
  std::uint32_t const columns = std::max(1U, plan_.largest_round);
  auto const patch_count = static_cast<std::uint32_t>(patches);
  auto pinned =
      device_.allocate(storage::Step::block_bytes(plan_.class_count, copies, patch_count, columns),
                       MemoryKind::kPinned);
  if (!pinned) {
    return pinned.error();
  }
  pinned_ = *pinned;
  step_.attach(pinned_.base, plan_.class_count, copies, patch_count, columns);
  FillSegment const records{.destination = memory_.base, .bytes = mirror_bytes + table_bytes};
  HOLDFAST_TRY(device_.fill({&records, 1}, Stream{}));
  std::byte* next_table = memory_.base + mirror_bytes;
  std::byte* next_pages = next_table + table_bytes;
  for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
    storage::ClassPlan const& known = plan_.classes[index];
    planes::PlaneMemory place{};
    place.device_table = reinterpret_cast<std::uint32_t*>(next_table);
    next_table +=
        align(std::uint64_t{plan_.sequence_limit} * known.entries * sizeof(std::uint32_t));
    place.pages = next_pages;
    next_pages += align(known.page_bytes * known.pages);
    bool const is_slot = known.page_rows == 0;
    step_.set_strips(index,
                     {.base = place.pages,
                      .page_bytes = known.page_bytes,
                      .strip_bytes = known.strip_bytes,
                      .strips = is_slot ? 1 : known.layer_count * known.parts,
                      .row_bytes = is_slot ? planes::kSlotRowBytes : known.row_bytes});
    planes::emplace_plane(planes_[index], static_cast<std::uint32_t>(known.kind));
    bool const created =
        std::visit([&](auto& plane) { return plane.create(plan_, index, place); }, planes_[index]);
    if (!created) {
      return out_of_memory();
    }
  }
  return {};
}

void Core::free_memory() noexcept {
  if (memory_.base != nullptr) {
    device_.free(memory_);
    memory_ = {};
  }
  if (pinned_.base != nullptr) {
    device_.free(pinned_);
    pinned_ = {};
  }
  open_ = false;
}

Status Core::close() noexcept {
  if (!open_) {
    return stale("cache");
  }
  std::uint32_t const live_sequences = plan_.sequence_limit - 1 - free_sequence_count_;
  std::uint32_t const live_snapshots = plan_.snapshot_limit - 1 - free_snapshot_count_;
  if (live_sequences + live_snapshots != 0) {
    return Error{.code = ErrorCode::kBusy,
                 .text = "sequences or snapshots are still alive",
                 .subject = "cache",
                 .got = std::int64_t{live_sequences} + live_snapshots};
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

SequenceMirror* Core::mirror(std::uint32_t sequence) const noexcept {
  return reinterpret_cast<SequenceMirror*>(memory_.base + sequence * plan_.mirror_bytes);
}

Owner Core::owner_of(std::uint32_t index) const noexcept {
  return {.index = index, .mark = (std::uint64_t{sequences_[index].generation} << 32U) | index};
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
  if (sequences_[id.index].tainted) {
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
  if (sequences_[id.index].open == OpenKind::kNone || sequences_[id.index].ticket != ticket) {
    return stale("handle");
  }
  if (sequences_[id.index].tainted) {
    return Error{.code = ErrorCode::kTainted,
                 .text = "a device failure left it unknown",
                 .subject = "sequence"};
  }
  return {};
}

Status Core::check_snapshot(HandleId snapshot) const noexcept {
  if (!open_ || snapshot.index == 0 || snapshot.index >= plan_.snapshot_limit ||
      !snapshots_[snapshot.index].live ||
      snapshots_[snapshot.index].generation != snapshot.generation) {
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
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    if (enough && plane.need_to_start() > plane.available()) {
      enough = false;
      lacking = Error{.code = ErrorCode::kExhausted,
                      .text = "not enough free storage for a new sequence",
                      .subject = name_of(plane.kKind),
                      .got = plane.need_to_start(),
                      .limit = plane.available()};
    }
  });
  if (!enough) {
    return lacking;
  }
  --free_sequence_count_;
  SequenceRecord& record = sequences_[*taken];
  record.live = true;
  record.position = 0;
  step_.clear();
  for_each_plane(
      [&](std::uint32_t /*index*/, auto& plane) { plane.start(owner_of(*taken), step_); });
  if (Status const launched = publish(*taken, stream); !launched) {
    give_back_sequence(*taken);
    return launched.error();
  }
  return HandleId{*taken, record.generation};
}

void Core::give_back_sequence(std::uint32_t index) noexcept {
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) { plane.release(owner_of(index)); });
  SequenceRecord& record = sequences_[index];
  record.live = false;
  record.tainted = false;
  record.position = 0;
  ++record.changes;
  if (++record.generation == 0) {
    record.generation = 1;  // 0 is nobody's
  }
  free_sequences_[free_sequence_count_++] = index;
}

Status Core::publish(std::uint32_t index, Stream stream) noexcept {
  SequenceRecord& record = sequences_[index];
  ++record.changes;
  storage::MirrorUpdate& update = step_.mirror();
  update.mirror = mirror(index);
  update.committed = record.position;
  update.open = record.rows;
  update.generation = record.generation;
  update.read_slot = 0;
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    update.read_slot = std::max(update.read_slot, plane.state({HolderKind::kSequence, index}).slot);
  });
  return step_.launch(device_, stream);
}

Status Core::check_rows(SequenceRecord const& record,
                        OpenKind kind,
                        std::uint32_t rows) const noexcept {
  if (kind == OpenKind::kAppend && rows == 0) {
    return invalid("rows", "an append needs at least one row");
  }
  if (kind == OpenKind::kRound && rows > plan_.largest_round) {
    return invalid("rows", "is more than the layout's largest round", rows, plan_.largest_round);
  }
  if (rows > plan_.tokens - record.position) {
    return Error{.code = ErrorCode::kTooLong,
                 .text = "is more than the layout's tokens",
                 .subject = "rows",
                 .got = std::int64_t{record.position} + rows,
                 .limit = plan_.tokens};
  }
  return {};
}

Status Core::check_storage(Owner owner, Opening const& opening) const noexcept {
  Status answer;
  for_each_plane([&](std::uint32_t /*index*/, auto const& plane) {
    if (answer && plane.need(owner, opening) > plane.available()) {
      answer = Error{.code = ErrorCode::kExhausted,
                     .text = "not enough free pages or slots",
                     .subject = name_of(plane.kKind),
                     .got = plane.need(owner, opening),
                     .limit = plane.available()};
    }
  });
  return answer;
}

Result<std::uint64_t> Core::begin(HandleId id,
                                  OpenKind kind,
                                  std::uint32_t rows,
                                  Stream stream) noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  SequenceRecord& record = sequences_[id.index];
  HOLDFAST_TRY(check_rows(record, kind, rows));
  Owner const owner = owner_of(id.index);
  Opening const opening{.base = record.position,
                        .rows = rows,
                        .round = kind == OpenKind::kRound,
                        .reached = record.position + rows};
  HOLDFAST_TRY(check_storage(owner, opening));
  step_.clear();
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    plane.copy_on_write(owner, opening, step_);
    plane.reserve(owner, opening, step_);
  });
  record.open = kind;
  record.rows = rows;
  record.ticket = next_ticket_++;
  for (std::uint64_t at = cell(id.index, 0, 0), i = 0; i < cells_; ++i) {
    written_[at + i] = 0;
    viewed_[at + i] = 0;
  }
  if (Status const launched = publish(id.index, stream); !launched) {
    record.tainted = true;  // copies may have half run; release gives the reservation back
    return launched.error();
  }
  return record.ticket;
}

RowsView Core::make_view(std::uint32_t index,
                         std::uint32_t plane,
                         std::uint32_t layer_index) const noexcept {
  storage::ClassPlan const& known = plan_.classes[plane];
  return std::visit(
      [&](auto const& held) {
        return RowsView{
            .pages = held.arena().base(),
            .table = held.device_table(index),
            .sequence = mirror(index),
            .page_bytes = known.page_bytes,
            .layer_offset = std::uint64_t{layer_index} * known.parts * known.strip_bytes,
            .part_stride = known.strip_bytes,
            .row_bytes = known.row_bytes,
            .parts = known.parts,
            .page_rows = known.page_rows,
            .ring_rows = known.ring_rows};
      },
      planes_[plane]);
}

Status Core::write_rows(HandleId id,
                        std::uint64_t ticket,
                        planes::WriteRowsParameters rows,
                        PlaneKind kind,
                        std::uint32_t layer,
                        Stream stream) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord& record = sequences_[id.index];
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("plane", "the layer has no plane of this kind", layer);
  }
  if (known->page_rows == 0 || kind == PlaneKind::kPoolKeys) {
    return invalid("plane", "has no rows to write: states go through state(), pool keys are built");
  }
  std::uint32_t& written = written_[cell(id.index, plane, layer_index)];
  if (record.open == OpenKind::kAppend) {
    rows.first = written;  // in order, each once
  }
  if (rows.first > written) {
    return invalid("first", "rows below it are not written yet", rows.first, written);
  }
  if (rows.count > record.rows - rows.first) {
    return invalid(
        "count", "goes past the open rows", std::int64_t{rows.first} + rows.count, record.rows);
  }
  if (rows.count == 0) {
    return {};
  }
  if (rows.source == nullptr) {
    return invalid("source", "must not be null");
  }
  written = std::max(written, rows.first + rows.count);
  Status launched;
  if (kind == PlaneKind::kTailRing) {
    launched = launch_indexer(id.index, rows, plane, layer, stream);
  } else {
    rows.view = make_view(id.index, plane, layer_index);
    launched = device_.launch(planes::kWriteRowsKernel, &rows, stream);
  }
  if (!launched) {
    record.tainted = true;
  }
  return launched;
}

Status Core::launch_indexer(std::uint32_t index,
                            planes::WriteRowsParameters const& rows,
                            std::uint32_t ring_plane,
                            std::uint32_t layer,
                            Stream stream) noexcept {
  SequenceRecord& record = sequences_[index];
  std::uint32_t ring_index = 0;
  std::uint32_t key_index = 0;
  std::uint32_t ignored = 0;
  std::uint32_t key_plane = 0;
  static_cast<void>(plan_.find(PlaneKind::kTailRing, layer, &ring_index, &ignored));
  storage::ClassPlan const* const keys =
      plan_.find(PlaneKind::kPoolKeys, layer, &key_index, &key_plane);
  HOLDFAST_ASSERT(keys != nullptr);
  // Keys built from a view at the end of a handle cover the kept rows only.
  std::uint32_t const written =
      rows.source == nullptr ? rows.count : written_[cell(index, ring_plane, ring_index)];
  planes::WriteIndexerParameters parameters{.ring = make_view(index, ring_plane, ring_index),
                                            .keys = make_view(index, key_plane, key_index),
                                            .source = rows.source,
                                            .first = rows.first,
                                            .count = rows.count,
                                            .written = written,
                                            .pool = keys->pool,
                                            .key_width = keys->key_width,
                                            .first_key = record.position / keys->pool};
  if (HOLDFAST_MUTANT(kKeyOverRejectedKept)) {
    parameters.first_key = std::max(parameters.first_key, record.keys_built);
    record.keys_built = std::max(record.keys_built, (record.position + written) / keys->pool);
  }
  return device_.launch(planes::kWriteIndexerKernel, &parameters, stream);
}

Result<RowsView> Core::rows_view(HandleId id,
                                 std::uint64_t ticket,
                                 PlaneKind kind,
                                 std::uint32_t layer,
                                 std::uint32_t written) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord const& record = sequences_[id.index];
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known = plan_.find(kind, layer, &layer_index, &plane);
  if (known == nullptr || known->page_rows == 0 || kind == PlaneKind::kPoolKeys) {
    return invalid("plane", "the layer has no rows of this kind to write", layer);
  }
  if (kind == PlaneKind::kTailRing &&
      record.rows > known->ring_rows - record.position % known->pool) {
    return invalid("plane",
                   "a view on a ring cannot take this many rows; use write()",
                   record.rows,
                   known->ring_rows - record.position % known->pool);
  }
  std::uint64_t const at = cell(id.index, plane, layer_index);
  written_[at] = std::max(written_[at], std::min(written, record.rows));
  viewed_[at] = 1;
  return make_view(id.index, plane, layer_index);
}

Result<StateView> Core::state_view(HandleId id,
                                   std::uint64_t ticket,
                                   std::uint32_t layer,
                                   std::uint32_t written) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  std::uint32_t layer_index = 0;
  std::uint32_t plane = 0;
  storage::ClassPlan const* const known =
      plan_.find(PlaneKind::kRecurrent, layer, &layer_index, &plane);
  if (known == nullptr) {
    return invalid("layer", "has no recurrent state", layer);
  }
  std::uint32_t& known_written = written_[cell(id.index, plane, layer_index)];
  known_written = std::max(known_written, std::min(written, sequences_[id.index].rows));
  StateView view = plan_.state_views[layer_index];
  view.slots = std::visit([](auto const& held) { return held.arena().base(); }, planes_[plane]);
  view.sequence = mirror(id.index);
  view.slot_bytes = known->page_bytes;
  return view;
}

Result<std::uint32_t> Core::open_rows(HandleId id, std::uint64_t ticket) const noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  return sequences_[id.index].rows;
}

Status Core::check_written(std::uint32_t index, std::uint32_t keep) const noexcept {
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    if (known.kind == PlaneKind::kPoolKeys) {
      continue;  // derived
    }
    for (std::uint32_t i = 0; i < known.layer_count; ++i) {
      if (written_[cell(index, plane, i)] < keep) {
        return Error{.code = ErrorCode::kIncomplete,
                     .text = "rows are missing",
                     .subject = name_of(known.kind),
                     .layer = static_cast<std::int32_t>(plan_.layers_of(known)[i]),
                     .got = written_[cell(index, plane, i)],
                     .limit = keep};
      }
    }
  }
  return {};
}

Status Core::build_viewed_keys(std::uint32_t index, std::uint32_t keep, Stream stream) noexcept {
  for (std::uint32_t plane = 0; plane < plan_.class_count; ++plane) {
    storage::ClassPlan const& known = plan_.classes[plane];
    for (std::uint32_t i = 0; known.kind == PlaneKind::kTailRing && i < known.layer_count; ++i) {
      if (viewed_[cell(index, plane, i)] != 0) {
        HOLDFAST_TRY(launch_indexer(index,
                                    {.view = {}, .source = nullptr, .first = 0, .count = keep},
                                    plane,
                                    plan_.layers_of(known)[i],
                                    stream));
      }
    }
  }
  return {};
}

void Core::close_planes(std::uint32_t index, std::uint32_t keep) noexcept {
  SequenceRecord& record = sequences_[index];
  for_each_plane([&](std::uint32_t plane_index, auto& plane) {
    std::uint32_t reached = 0;
    for (std::uint32_t i = 0; i < plan_.classes[plane_index].layer_count; ++i) {
      reached = std::max(reached, written_[cell(index, plane_index, i)]);
    }
    plane.commit(owner_of(index),
                 {.base = record.position,
                  .rows = record.rows,
                  .round = record.open == OpenKind::kRound,
                  .reached = record.position + reached},
                 keep,
                 step_);
  });
  record.position += keep;
  record.rows = 0;
  record.open = OpenKind::kNone;
}

Status Core::finish(HandleId id, std::uint64_t ticket, std::uint32_t keep, Stream stream) noexcept {
  HOLDFAST_TRY(check_open(id, ticket));
  SequenceRecord& record = sequences_[id.index];
  if (keep > record.rows) {
    return invalid("keep", "is more than the round's rows", keep, record.rows);
  }
  HOLDFAST_TRY(check_written(id.index, keep));
  if (keep != 0) {
    if (Status const built = build_viewed_keys(id.index, keep, stream); !built) {
      record.tainted = true;
      return built;
    }
  }
  step_.clear();
  close_planes(id.index, keep);
  Status const launched = publish(id.index, stream);
  if (!launched) {
    record.tainted = true;
  }
  return launched;
}

Result<HandleId> Core::snapshot(HandleId id) noexcept {
  HOLDFAST_TRY(check_at_rest(id));
  if (free_snapshot_count_ == 0) {
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
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    if (!snapshot_forgets(plane.kKind)) {
      plane.hold(id.index, index);
    }
  });
  ++sequences_[id.index].changes;
  return HandleId{index, held.generation};
}

void Core::load_planes(std::uint32_t snapshot, std::uint32_t index, LoadKind kind) noexcept {
  step_.clear();
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    if (!snapshot_forgets(plane.kKind)) {
      plane.load(snapshot, owner_of(index), kind, step_);
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
  load_planes(snapshot.index, id.index, LoadKind::kRollback);
  Status const launched = publish(id.index, stream);
  if (!launched) {
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
  --free_sequence_count_;
  SequenceRecord& record = sequences_[*taken];
  record.live = true;
  load_planes(snapshot.index, *taken, LoadKind::kFork);
  if (Status const launched = publish(*taken, stream); !launched) {
    give_back_sequence(*taken);
    return launched.error();
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
    if (answer && length != record.position) {
      answer = plane.can_truncate(id.index, length);
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
  if (length == record.position) {
    return {};
  }
  step_.clear();
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    if (!half || plane.can_truncate(id.index, length)) {
      plane.truncate(owner_of(id.index), length, step_);
    }
  });
  if (half) {
    return feasible;
  }
  record.position = length;
  Status const launched = publish(id.index, stream);
  if (!launched) {
    record.tainted = true;
  }
  return launched;
}

Status Core::release(HandleId id, Stream /*stream*/) noexcept {
  HOLDFAST_TRY(check_live(id));
  SequenceRecord& record = sequences_[id.index];
  if (record.open != OpenKind::kNone) {
    step_.clear();
    close_planes(id.index, 0);  // cancelled; nobody reads the device record of a released sequence
  }
  give_back_sequence(id.index);
  if (orphaned_) {
    static_cast<void>(close());
  }
  return {};
}

Status Core::drop_snapshot(HandleId snapshot) noexcept {
  HOLDFAST_TRY(check_snapshot(snapshot));
  for_each_plane([&](std::uint32_t /*index*/, auto& plane) {
    if (!snapshot_forgets(plane.kKind)) {
      plane.drop(snapshot.index);
    }
  });
  SnapshotRecord& held = snapshots_[snapshot.index];
  held.live = false;
  if (++held.generation == 0) {
    held.generation = 1;
  }
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
