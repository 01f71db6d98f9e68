// SPDX-License-Identifier: Apache-2.0
// The cache's core: sequences, snapshots and open handles, and every movement over all planes.
//
// Nothing here names a plane: movements visit the plane list. Feasibility is decided on all planes
// before any is touched. Freed by its last handle, so that a stale handle never points at nothing.
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/cache.hpp>
#include <type_traits>

#include "cache/fences.hpp"
#include "cache/write_counts.hpp"
#include "planes/plane_list.hpp"
#include "planes/row_kernels.hpp"
#include "prefix/byte_form.hpp"
#include "prefix/index.hpp"
#include "storage/steps.hpp"

namespace holdfast::internal::cache {

/// What is open on a sequence.
enum class OpenKind : std::uint8_t { kNone, kAppend, kRound };

/// What the public modes ask of planes.
[[nodiscard]] constexpr planes::StateMode state_mode(AppendMode mode) noexcept {
  return mode == AppendMode::kInPlace ? planes::StateMode::kInPlace : planes::StateMode::kFresh;
}
[[nodiscard]] constexpr planes::StateMode state_mode(RoundKind kind) noexcept {
  switch (kind) {
    case RoundKind::kColumns:
      return planes::StateMode::kFresh;
    case RoundKind::kInPlace:
      return planes::StateMode::kInPlace;
    case RoundKind::kRescan:
      return planes::StateMode::kRescan;
  }
  return planes::StateMode::kFresh;
}

/// Bookkeeping of one sequence, planes apart.
struct SequenceRecord {
  std::uint64_t
      ticket;  // of the open handle; unique over the cache's life, shared by a step's items
  std::uint64_t changes;
  std::uint32_t generation;
  std::uint32_t position;
  std::uint32_t rows;        // open rows
  std::uint32_t keys_built;  // read by a mutant only
  OpenKind open;
  planes::StateMode mode;  // of the open handle
  Mark mark;               // of its last call
  bool live;
  bool tainted;
};

/// One item of a begin; index 0 is padding.
struct ItemRequest {
  HandleId id;
  OpenKind kind;
  std::uint32_t rows;
  planes::StateMode mode;
};

static_assert(sizeof(ItemRequest) == 20, "layout.hpp says what these add up to");

/// One item of a finish.
struct ItemKeep {
  HandleId id;
  std::uint32_t keep;
  std::int32_t item;  // for messages; -1 outside steps
  Accepted accepted;  // what finish did
};

/// Bookkeeping of one open step.
struct StepRecord {
  std::uint64_t ticket;
  std::uint32_t generation;
  std::uint32_t items;
  bool live;
};

/// Bookkeeping of one snapshot or prefix entry, planes apart.
struct SnapshotRecord {
  std::uint32_t generation;
  std::uint32_t position;
  Mark mark;     // of the work that wrote what it holds
  bool pending;  // an entry that may still be written: its events decide
  bool live;
};

/// A sequence that a restore started.
struct RestoredIds {
  HandleId sequence;
  PrefixMatch match;
};

/// Everything behind a Cache. Calls are those of the public handles.
class Core {
 public:
  /// One device a rank of each stage: that of a rank is at stage * ranks + rank.
  explicit Core(std::span<Device* const> devices) noexcept;
  Core(Core const&) = delete;
  Core& operator=(Core const&) = delete;
  ~Core();

  [[nodiscard]] Status create(Layout const& layout) noexcept;
  [[nodiscard]] Status close() noexcept;
  /// Closes as soon as nothing lives any more; the Cache object is gone.
  void orphan() noexcept;
  void add_handle() noexcept { ++handles_; }
  /// Deletes the core with its last handle.
  void remove_handle() noexcept;

  [[nodiscard]] Result<HandleId> create_sequence(Stream stream) noexcept;
  /// Opens appends and rounds on all items, or on none; returns their ticket.
  [[nodiscard]] Result<std::uint64_t> begin(std::span<ItemRequest const> items,
                                            bool is_step,
                                            Stream stream) noexcept;
  [[nodiscard]] Result<HandleId> begin_step(std::span<StepItem const> items,
                                            Stream stream) noexcept;
  [[nodiscard]] Status finish_step(HandleId step,
                                   std::span<std::uint32_t const> keep,
                                   std::span<Accepted> accepted,
                                   Stream stream) noexcept;
  [[nodiscard]] Status can_begin_step(std::span<StepItem const> items) noexcept;
  /// `is_last`: the handle goes, so that the step is over whatever the answer.
  [[nodiscard]] Status drop_step(HandleId step, Stream stream, bool is_last) noexcept;
  /// Sequence and ticket of an item. Errors: kStale, kInvalidArgument.
  [[nodiscard]] Result<ItemRequest> step_item(HandleId step,
                                              std::uint32_t item,
                                              std::uint64_t* ticket) const noexcept;
  [[nodiscard]] Result<std::uint32_t const*> row_sequences(HandleId step,
                                                           std::uint32_t device) const noexcept;
  [[nodiscard]] std::uint32_t step_item_limit() const noexcept { return plan_.step_items; }
  [[nodiscard]] Status write_rows(HandleId id,
                                  std::uint64_t ticket,
                                  planes::WriteRowsParameters rows,
                                  PlaneKind kind,
                                  std::uint32_t layer,
                                  std::uint32_t rank,
                                  Stream stream) noexcept;
  [[nodiscard]] Status write_step(HandleId step,
                                  std::span<PlaneRows const> classes,
                                  std::uint32_t rank,
                                  Stream stream) noexcept;
  [[nodiscard]] Result<GraphSignature> signature(HandleId step) const noexcept;
  [[nodiscard]] Status replay(HandleId step,
                              GraphSignature const& signature,
                              Stream stream) noexcept;
  [[nodiscard]] Result<RowsView> rows_view(HandleId id,
                                           std::uint64_t ticket,
                                           PlaneKind kind,
                                           std::uint32_t layer,
                                           std::uint32_t written,
                                           std::uint32_t rank) noexcept;
  [[nodiscard]] Result<OpenRange> range(HandleId id,
                                        std::uint64_t ticket,
                                        PlaneKind kind,
                                        std::uint32_t layer) const noexcept;
  [[nodiscard]] Result<StateView> state_view(HandleId id,
                                             std::uint64_t ticket,
                                             std::uint32_t layer,
                                             std::uint32_t written,
                                             std::uint32_t rank) noexcept;
  [[nodiscard]] Result<StashView> stash_view(HandleId id,
                                             std::uint64_t ticket,
                                             std::uint32_t layer,
                                             std::uint32_t written,
                                             std::uint32_t rank) noexcept;
  [[nodiscard]] Status set_rescan(Rescan function, void* context) noexcept;
  [[nodiscard]] Result<HeldView> held_view(HandleId id,
                                           std::uint64_t ticket,
                                           std::uint32_t layer,
                                           std::uint32_t written,
                                           std::uint32_t rank) noexcept;
  /// Ends open handles of one ticket; the kept rows become visible, on all items or on none. Fills
  /// in what each item accepted.
  [[nodiscard]] Status finish(std::span<ItemKeep> items,
                              std::uint64_t ticket,
                              Stream stream) noexcept;
  /// finish() with nothing kept, after which the items are not open, or tainted.
  [[nodiscard]] Status drop(std::span<ItemKeep> items,
                            std::uint64_t ticket,
                            Stream stream) noexcept;
  /// Rows of the open handle.
  [[nodiscard]] Result<std::uint32_t> open_rows(HandleId id, std::uint64_t ticket) const noexcept;
  [[nodiscard]] Result<bool> drop_is_exact(HandleId id, std::uint64_t ticket) const noexcept;
  [[nodiscard]] Result<HandleId> snapshot(HandleId id) noexcept;
  [[nodiscard]] Status rollback(HandleId id,
                                Core const* snapshot_core,
                                HandleId snapshot,
                                Stream stream) noexcept;
  [[nodiscard]] Result<HandleId> fork(HandleId snapshot, Stream stream) noexcept;
  [[nodiscard]] Status truncate(HandleId id, std::uint32_t length, Stream stream) noexcept;
  [[nodiscard]] Status can_truncate(HandleId id, std::uint32_t length) const noexcept;
  [[nodiscard]] Status release(HandleId id, Stream stream) noexcept;
  [[nodiscard]] Status drop_snapshot(HandleId snapshot) noexcept;
  [[nodiscard]] Result<EntryId> capture(PrefixScope const& scope,
                                        Core const* snapshot_core,
                                        HandleId snapshot,
                                        std::span<TokenKey const> tokens) noexcept;
  [[nodiscard]] Result<PrefixMatch> match(PrefixScope const& scope,
                                          std::span<TokenKey const> tokens,
                                          std::uint32_t limit) noexcept;
  [[nodiscard]] Result<RestoredIds> restore(PrefixScope const& scope,
                                            std::span<TokenKey const> tokens,
                                            std::uint32_t limit,
                                            Stream stream) noexcept;
  [[nodiscard]] Status erase(EntryId entry) noexcept;
  [[nodiscard]] Result<EntryBytes> entry_bytes(EntryId entry) const noexcept;
  [[nodiscard]] Result<std::uint64_t> serialize(EntryId entry,
                                                std::span<std::byte> out,
                                                Stream stream) noexcept;
  [[nodiscard]] Result<EntryId> deserialize(PrefixScope const& scope,
                                            std::span<std::byte const> bytes,
                                            Stream stream) noexcept;
  [[nodiscard]] Result<std::uint32_t> position(HandleId id) const noexcept;
  [[nodiscard]] Result<std::uint32_t> snapshot_position(HandleId snapshot) const noexcept;

  // For Inspection.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] storage::Plan const& plan() const noexcept { return plan_; }
  [[nodiscard]] planes::AnyPlane const& plane(std::uint32_t index) const noexcept {
    return planes_[index];
  }
  [[nodiscard]] SequenceRecord const& sequence(std::uint32_t index) const noexcept {
    return sequences_[index];
  }
  [[nodiscard]] SnapshotRecord const& snapshot_record(std::uint32_t index) const noexcept {
    return snapshots_[index];
  }
  [[nodiscard]] SequenceMirror* mirror(std::uint32_t sequence, std::uint32_t device) const noexcept;
  [[nodiscard]] Device& device(std::uint32_t device) const noexcept { return *devices_[device]; }
  [[nodiscard]] std::uint32_t device_of(std::uint32_t plane, std::uint32_t rank) const noexcept {
    return plan_.classes[plane].stage * plan_.ranks + rank;
  }
  /// Where a rank has what rank 0 of the plane's stage has at `place`.
  template <typename T>
  [[nodiscard]] T* at_rank(T* place, std::uint32_t plane, std::uint32_t rank) const noexcept {
    using Byte = std::conditional_t<std::is_const_v<T>, std::byte const, std::byte>;
    std::byte const* const from = memories_[device_of(plane, 0)].base;
    std::byte const* const to = memories_[device_of(plane, rank)].base;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(place) + (to - from));
  }

 private:
  template <typename Visitor>
  void for_each_plane(Visitor visitor) noexcept {
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      std::visit([&](auto& plane) { visitor(index, plane); }, planes_[index]);
    }
  }
  template <typename Visitor>
  void for_each_plane(Visitor visitor) const noexcept {
    for (std::uint32_t index = 0; index < plan_.class_count; ++index) {
      std::visit([&](auto const& plane) { visitor(index, plane); }, planes_[index]);
    }
  }

  [[nodiscard]] Status create_planes() noexcept;
  [[nodiscard]] storage::Owner owner_of(std::uint32_t index) const noexcept {
    return {.index = index, .mark = (std::uint64_t{sequences_[index].generation} << 32U) | index};
  }
  /// Audits all planes at the end of a call that moved some, in verifying builds.
  void verify() noexcept {
    if (is_audit_due()) {
      HOLDFAST_VERIFY_THAT(planes_are_sound());
      HOLDFAST_VERIFY_THAT(records_are_met());
    }
  }
  /// An audit reads everything, and what is wrong stays wrong: one call in 32 has one. With seeded bugs every
  /// call has; the plain build counts no calls.
  [[nodiscard]] bool is_audit_due() noexcept {
#if defined(HOLDFAST_MUTANTS)
    return true;
#elif defined(HOLDFAST_VERIFY)
    constexpr std::uint32_t kAuditEvery = 32;
    return ++audit_calls_ % kAuditEvery == 0;
#else
    return false;
#endif
  }
  /// Whether every plane agrees with itself.
  [[nodiscard]] bool planes_are_sound() const noexcept;
  /// Whether planes have as many rows as the records of sequences, snapshots and entries say. A record that
  /// is not live must have none.
  [[nodiscard]] bool records_are_met() const noexcept;
  [[nodiscard]] bool has_length(PlaneState const& state,
                                std::uint32_t plane,
                                std::uint32_t position) const noexcept;
  [[nodiscard]] Status check_live(HandleId id) const noexcept;
  [[nodiscard]] Status check_at_rest(HandleId id) const noexcept;
  [[nodiscard]] Status check_open(HandleId id, std::uint64_t ticket) const noexcept;
  [[nodiscard]] Status check_snapshot(HandleId snapshot) const noexcept;
  [[nodiscard]] Status check_rows(SequenceRecord const& record,
                                  OpenKind kind,
                                  std::uint32_t rows) const noexcept;
  [[nodiscard]] Status check_items(std::span<ItemRequest const> items, bool is_step) noexcept;
  [[nodiscard]] Status check_storage(std::span<ItemRequest const> items,
                                     bool is_step) const noexcept;
  [[nodiscard]] Status enter_begin(std::span<ItemRequest const> items,
                                   bool is_step,
                                   Stream stream) noexcept;
  [[nodiscard]] planes::Opening opening_of(ItemRequest const& item) const noexcept;
  /// As the open handle's begin said it.
  [[nodiscard]] static planes::Opening opening_of(SequenceRecord const& record) noexcept;
  void open_item(ItemRequest const& item) noexcept;
  [[nodiscard]] Status check_step(HandleId step) const noexcept;
  void close_step(std::uint32_t index) noexcept;
  [[nodiscard]] std::span<ItemRequest const> items_of(HandleId step) const noexcept {
    return step_items_.span(std::uint64_t{step.index} * plan_.step_items, steps_[step.index].items);
  }
  [[nodiscard]] Status check_view(SequenceRecord const& record, std::uint32_t plane) const noexcept;
  [[nodiscard]] Status check_whole_step(HandleId step) const noexcept;
  /// Layers of one class of a step, that exist.
  struct StepLayers {
    std::uint32_t plane;
    std::uint32_t first_layer;  // position in its class
    std::uint32_t layers;
    float const* source;
  };
  [[nodiscard]] Result<StepLayers> step_layers(PlaneRows const& rows) const noexcept;
  void count_written(ItemRequest const& item,
                     StepLayers const& layers,
                     std::uint32_t rank) noexcept;
  [[nodiscard]] Status check_unwritten(HandleId step,
                                       std::uint32_t plane,
                                       std::uint32_t first_layer,
                                       std::uint32_t layers,
                                       std::uint32_t rank) const noexcept;
  [[nodiscard]] Status enter_step(HandleId step, Stream stream) noexcept;
  /// What of a signature the items decide.
  [[nodiscard]] GraphSignature shape_of(HandleId step) const noexcept;
  /// Adds all rows of a step to a list, which is launched whenever it is full, and at once when there are
  /// many rows.
  [[nodiscard]] Status list_rows(planes::WriteListParameters& list,
                                 StepLayers const& layers,
                                 std::uint32_t rows,
                                 std::uint32_t rank,
                                 Stream stream) noexcept;
  [[nodiscard]] Status list_indexer(planes::WriteListParameters& list,
                                    StepLayers const& layers,
                                    std::uint32_t rows,
                                    std::uint32_t rank,
                                    Stream stream) noexcept;
  /// Launches what is in a list, which is empty then.
  [[nodiscard]] Status launch_list(planes::WriteListParameters& list,
                                   Device& device,
                                   Stream stream) noexcept;
  /// The items as begin takes them, in the memory of the next step's record. Errors: kExhausted.
  [[nodiscard]] Result<std::span<ItemRequest>> requests_of(
      std::span<StepItem const> items) noexcept;
  [[nodiscard]] Status check_mode(planes::StateMode mode) const noexcept;
  /// Has the kept rows of all rescan items turned into states, in slots that nothing sees yet.
  [[nodiscard]] Status rescan(std::span<ItemKeep const> items, Stream stream) noexcept;
  [[nodiscard]] RescanItem rescan_item(ItemKeep const& item,
                                       std::uint32_t plane,
                                       std::uint32_t rank) const noexcept;
  [[nodiscard]] std::byte* stash_areas(std::uint32_t plane, std::uint32_t rank) const noexcept {
    return memories_[device_of(plane, rank)].base + plan_.classes[plane].stash_offset;
  }
  void taint(std::span<ItemKeep const> items) noexcept;
  [[nodiscard]] bool can_forget(std::uint32_t index) const noexcept;
  [[nodiscard]] Accepted accepted_of(SequenceRecord const& record,
                                     std::uint32_t keep) const noexcept;
  [[nodiscard]] Status check_written(std::uint32_t index, std::uint32_t keep) const noexcept;
  [[nodiscard]] Status build_viewed_keys(std::uint32_t index,
                                         std::uint32_t keep,
                                         Stream stream) noexcept;
  [[nodiscard]] Result<std::uint32_t> take_sequence() noexcept;
  void close_planes(std::uint32_t index, std::uint32_t keep) noexcept;
  void give_back_sequence(std::uint32_t index) noexcept;
  [[nodiscard]] Status check_entry(EntryId entry) const noexcept;
  [[nodiscard]] std::span<Event> events_of(std::uint32_t entry) noexcept {
    return events_.span(std::uint64_t{entry - plan_.first_entry + 1} * device_count_,
                        device_count_);
  }
  /// Whether the work that wrote an entry's rows is done on every device.
  [[nodiscard]] bool is_published(std::uint32_t entry) noexcept;
  /// The longest length up to `most` at which the entry is usable on every plane; 0 for none. `why`
  /// becomes the first refusal; it is left alone when there is none.
  [[nodiscard]] std::uint32_t longest_usable(std::uint32_t entry,
                                             std::uint32_t most,
                                             Error& why) const noexcept;
  /// As match; what a miss lacks goes to `why`.
  [[nodiscard]] PrefixMatch find_longest(PrefixScope const& scope,
                                         std::span<TokenKey const> tokens,
                                         std::uint32_t limit,
                                         Error& why) noexcept;
  /// Tokens that an entry has rows for, by plane: in planes that lag perhaps fewer than its own.
  using PlaneLengths = std::array<std::uint32_t, storage::kLargestClassCount>;
  template <typename OwnLength>
  [[nodiscard]] PlaneLengths plane_lengths(std::uint32_t tokens,
                                           OwnLength own_length) const noexcept;
  [[nodiscard]] PlaneLengths lengths_of(std::uint32_t entry) const noexcept;
  [[nodiscard]] PlaneLengths lengths_of(prefix::Form const& form) const noexcept;
  /// What this cache writes for an entry of so many tokens.
  [[nodiscard]] prefix::Form form_of(PrefixScope const& scope,
                                     std::uint32_t tokens,
                                     PlaneLengths const& lengths) const noexcept;
  /// Visits an entry's bytes in the order of the byte form.
  template <typename Sink>
  void walk_payload(std::uint32_t entry, Sink& sink) const noexcept;
  [[nodiscard]] Status check_entry_storage(PlaneLengths const& lengths) const noexcept;
  /// Gives the entry its id; it is visible from now on.
  EntryId publish_entry(std::uint32_t entry,
                        PrefixScope const& scope,
                        std::span<TokenKey const> tokens) noexcept;
  void drop_planes(std::uint32_t held) noexcept;
  void load_planes(std::uint32_t snapshot, std::uint32_t index, planes::LoadKind kind) noexcept;
  /// Begins a call on a sequence: its stream waits for the sequence's last call.
  [[nodiscard]] Status enter(SequenceRecord& record, Stream stream) noexcept {
    return fences_.is_current(stream, record.mark) ? Status{} : enter_other(record, stream);
  }
  [[nodiscard]] Status enter_other(SequenceRecord& record, Stream stream) noexcept;
  /// Begins a call that takes storage, or what a snapshot or entry holds: it waits for the last call
  /// of every stream.
  [[nodiscard]] Status enter_to_take(Stream stream) noexcept;
  /// Adds the sequence's device record to the work that is being collected.
  void describe(std::uint32_t index) noexcept;
  /// Describes one sequence and launches.
  [[nodiscard]] Status publish(std::uint32_t index, Stream stream) noexcept;
  /// Launches what was collected; the storage that it uses may be free by then.
  [[nodiscard]] Status launch(Stream stream) noexcept;
  /// The step work of a plane's stage.
  [[nodiscard]] storage::StepWork& step_of(std::uint32_t plane) noexcept {
    return work_.of(plan_.classes[plane].stage);
  }
  [[nodiscard]] Status create_device(std::uint32_t stage, std::uint32_t rank) noexcept;
  [[nodiscard]] Status check_rank(std::uint32_t rank) const noexcept;
  [[nodiscard]] Status launch_indexer(std::uint32_t index,
                                      planes::WriteRowsParameters const& rows,
                                      std::uint32_t ring_plane,
                                      std::uint32_t ring_index,
                                      std::uint32_t rank,
                                      Stream stream) noexcept;
  /// What a layer has in the slots of one rank.
  struct SlotPart {
    std::uint32_t state;  // index into Plan::states
    std::uint32_t base_slot;
    std::byte* slots;
    SequenceMirror const* sequence;
    std::uint64_t slot_bytes;
  };
  /// The part then counts as written for the open rows below `written`.
  [[nodiscard]] Result<SlotPart> slot_part(HandleId id,
                                           storage::StatePart state_part,
                                           std::uint32_t layer,
                                           std::uint32_t written,
                                           std::uint32_t rank) noexcept;
  /// Rows of a plane that the open handle of a sequence may write.
  [[nodiscard]] OpenRange open_range(std::uint32_t index, std::uint32_t plane) const noexcept;
  [[nodiscard]] RowsView make_view(std::uint32_t index,
                                   std::uint32_t plane,
                                   std::uint32_t layer_index,
                                   std::uint32_t rank) const noexcept;
  void free_memory() noexcept;

  std::array<Device*, kLargestDeviceCount> devices_{};
  std::uint32_t device_count_ = 0;
  storage::Plan plan_;
  std::array<planes::AnyPlane, storage::kLargestClassCount> planes_;
  storage::Steps work_;
  Fences fences_;
  Mark row_map_;                    // of the last step
  base::FixedArray<Event> events_;  // [1 + entries, devices]: what must be done before an entry is
                                    // visible; the first row is scratch
  std::array<Memory, kLargestDeviceCount> memories_{};
  std::array<Memory, kLargestDeviceCount> pinned_{};
  base::FixedArray<SequenceRecord> sequences_;
  base::FixedArray<SnapshotRecord> snapshots_;
  base::FixedArray<std::uint32_t> free_sequences_;
  base::FixedArray<std::uint32_t> free_snapshots_;
  WriteCounts writes_;
  base::FixedArray<StepRecord> steps_;  // open steps
  base::FixedArray<std::uint32_t> free_steps_;
  base::FixedArray<ItemRequest> step_items_;   // [steps, step_items]
  base::FixedArray<ItemKeep> keeps_;           // [step_items], scratch of finish_step
  base::FixedArray<RescanItem> rescan_items_;  // [step_items], scratch of finish
  prefix::Index index_;                        // keys of the prefix entries
  std::uint64_t fingerprint_ = 0;              // of the layout, in the byte form
  Rescan rescan_ = nullptr;
  void* rescan_context_ = nullptr;
  std::uint64_t next_ticket_ = 1;
  std::uint64_t map_ticket_ = 0;  // of the step whose rows the devices' maps name
  std::uint64_t number_ = 0;      // of all caches of the process, from 1 on
  std::uint64_t handles_ = 0;
  std::uint32_t audit_calls_ = 0;  // calls that moved planes; counted by verifying builds alone
  std::uint32_t free_sequence_count_ = 0;
  std::uint32_t free_snapshot_count_ = 0;
  std::uint32_t free_step_count_ = 0;
  bool open_ = false;
  bool orphaned_ = false;
};

}  // namespace holdfast::internal::cache
