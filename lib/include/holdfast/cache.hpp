// SPDX-License-Identifier: Apache-2.0
// The cache: owns every plane of the inference state of many sequences, and moves them together.
//
// Ownership: Sequence, Snapshot, Append and Round are move-only handles. Destroying one releases,
// drops or cancels it. After its explicit end a handle is stale: every later call on it is kStale,
// always. Defaults for every call below, unless it says otherwise:
//   Errors  : on error nothing has changed. kDeviceFailed: nothing has changed and the call may be
//             made again, or work may have half run; then the sequence is tainted: it answers
//             kTainted until it is released, which needs no device. Other sequences, snapshots and
//             entries stay good. Kernels on a handle that stays open wait for the call's stream
//   Stream  : work is enqueued in `stream`, which is also where the caller's kernels run; with
//             several devices, in the stream of that number on each. Calls in different streams
//             are ordered by events. A kernel that touches a sequence runs in the stream of its
//             last call; at most kLargestStreamCount streams a cache, then kExhausted
//   Ranks   : `rank` names the shard that is written or viewed; every rank writes its own shard of
//             a split plane and all of a replicated one. All ranks and stages decide as one.
//   Threads : one thread at a time per cache
//   Memory  : no heap and no device allocation after Cache::create
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/layout.hpp>
#include <holdfast/prefix.hpp>
#include <holdfast/result.hpp>
#include <holdfast/views.hpp>
#include <span>
#include <utility>

namespace holdfast {

namespace internal::cache {
class Core;
}

/// Where an append puts the recurrent state. Layouts without such state know no difference.
enum class AppendMode : std::uint8_t {
  kOutOfPlace,  ///< read from one slot, written to another; dropping is exact
  kInPlace,     ///< written where it is read; a slot that anything else holds is copied first
};

/// How a round keeps the recurrent state of its base. Layouts without such state know no
/// difference: every kind is kColumns.
enum class RoundKind : std::uint8_t {
  kColumns,  ///< one state slot a row; accept picks one
  kInPlace,  ///< one copy of the base, made at begin, is written in place; accepting fewer than all
             ///< rows goes back to the base and leaves the kept rows to be appended again
  kRescan,   ///< one slot; inputs are stashed, and finish has the kept ones turned into the state
};

/// How a handle names its sequence or snapshot: an index and the generation that tells reuse.
struct HandleId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  friend bool operator==(HandleId, HandleId) = default;
};

/// What accept did.
struct Accepted {
  std::uint32_t committed = 0;       ///< rows that are now committed
  std::uint32_t rows_to_append = 0;  ///< rows to append again, after an in-place round that kept
                                     ///< some of its rows but not all; nothing is pending
};

namespace detail {

/// What the move-only handles share: the core they belong to and their id. Not for direct use.
class HandleBase {
 public:
  HandleBase(HandleBase const&) = delete;
  HandleBase& operator=(HandleBase const&) = delete;
  [[nodiscard]] HandleId id() const noexcept { return id_; }

 protected:
  HandleBase() noexcept = default;
  HandleBase(internal::cache::Core* core, HandleId id) noexcept;
  HandleBase(HandleBase&& other) noexcept : core_{other.core_}, id_{other.id_} {
    other.core_ = nullptr;
  }
  ~HandleBase();
  void swap(HandleBase& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(id_, other.id_);
  }

  internal::cache::Core* core_ = nullptr;
  HandleId id_{};
};

/// Rows of an open handle: what Append and Round share.
class OpenRows : public HandleBase {
 public:
  /// Where the rows of `layer` in a plane lie. The caller declares that its kernels write the open
  /// rows below `written`, which count as written from now on; UINT32_MAX stands for all. Tail
  /// ring: only when the open rows are at most R - (length mod pool); pool keys have a view only
  /// with a pool of 1.
  /// Errors   : kStale, kTainted, kInvalidArgument
  Result<RowsView> rows(PlaneKind plane,
                        std::uint32_t layer,
                        std::uint32_t written = UINT32_MAX,
                        std::uint32_t rank = 0) noexcept;
  /// Rows of `layer` in a plane that this handle may write; write() and rows() count from the first
  /// of them. They are the handle's own rows; of a draft plane those from its watermark on, at most
  /// largest_round + page_rows more than the handle's own. What is not written of a draft plane is
  /// not missing: the watermark rises to what is written and kept, and not at all when nothing is
  /// kept.
  /// Errors   : kStale, kTainted, kInvalidArgument
  Result<OpenRange> range(PlaneKind plane, std::uint32_t layer) const noexcept;
  /// Where the state of `layer` lies; `written` as in rows(), and 0 in a rescan round, which only
  /// reads it. Errors: as rows().
  Result<StateView> state(std::uint32_t layer,
                          std::uint32_t written = UINT32_MAX,
                          std::uint32_t rank = 0) noexcept;
  /// Where a rescan round takes the inputs of `layer`; `written` as in rows(): they stand for the
  /// state. Errors: as rows(), kInvalidArgument also for any other handle.
  Result<StashView> stash(std::uint32_t layer,
                          std::uint32_t written = UINT32_MAX,
                          std::uint32_t rank = 0) noexcept;
  /// Where the held side state of `layer` lies; `written` as in state(). Errors: as rows().
  Result<HeldView> held(std::uint32_t layer,
                        std::uint32_t written = UINT32_MAX,
                        std::uint32_t rank = 0) noexcept;

 protected:
  OpenRows() noexcept = default;
  OpenRows(internal::cache::Core* core, HandleId sequence, std::uint64_t ticket) noexcept
      : HandleBase{core, sequence}, ticket_{ticket} {}
  OpenRows(OpenRows&& other) noexcept = default;
  ~OpenRows() = default;
  Status write_rows(PlaneKind plane,
                    std::uint32_t layer,
                    float const* source,
                    std::uint32_t first,
                    std::uint32_t count,
                    Stream stream,
                    std::uint32_t rank) noexcept;
  Status cancel(Stream stream) noexcept;
  Result<Accepted> accept_rows(std::uint32_t keep, Stream stream) noexcept;
  /// Drops what is open here and takes the other's place.
  void take_over(OpenRows& other) noexcept;

  std::uint64_t ticket_ = 0;
};

}  // namespace detail

/// An open append of n rows. Destroying it drops it.
class Append : public detail::OpenRows {
 public:
  Append(Append&&) noexcept = default;
  Append& operator=(Append&& other) noexcept;
  ~Append();

  /// Writes the next `count` rows of one layer of one plane, in order, each once. Rows of kTailRing
  /// are indexer rows; the library builds the pool keys that become complete. With a pool of 1 the
  /// rows are the keys, and are written as kPoolKeys.
  ///
  /// Shapes   : source [count, row elements] f32, memory of the rank's device; attention KV rows are
  ///            [2, heads, head_dim], with the heads of the rank. Elements are narrowed to the
  ///            plane's format, see holdfast/formats.hpp
  /// Errors   : kStale, kInvalidArgument; kDeviceFailed taints the sequence
  Status write(PlaneKind plane,
               std::uint32_t layer,
               float const* source,
               std::uint32_t count,
               Stream stream = {},
               std::uint32_t rank = 0) noexcept;
  /// Makes the rows visible. Errors: kStale, kTainted; kIncomplete with the handle still open, naming
  /// plane and layer: got is the rows that are written, limit those that must be; kDeviceFailed
  /// taints, or leaves the handle open.
  Status commit(Stream stream = {}) noexcept;
  /// Forgets the rows: the sequence is bit for bit what it was when drop_is_exact(), and tainted
  /// when not. Errors: kStale, kTainted; kDeviceFailed taints.
  Status drop(Stream stream = {}) noexcept;
  /// Whether drop() would leave the sequence as it was. False only in place, on a state that
  /// nothing else held at begin. Errors: kStale, kTainted.
  Result<bool> drop_is_exact() const noexcept;

 private:
  friend class Sequence;
  using OpenRows::OpenRows;
};

/// An open round of k provisional rows. Destroying it is accept(0), which is always exact.
class Round : public detail::OpenRows {
 public:
  Round(Round&&) noexcept = default;
  Round& operator=(Round&& other) noexcept;
  ~Round();

  /// Writes rows [first, first + count) of the round; rows may be written again, but no row before
  /// the rows below it. Shapes and errors: as Append::write.
  Status write(PlaneKind plane,
               std::uint32_t layer,
               float const* source,
               std::uint32_t first,
               std::uint32_t count,
               Stream stream = {},
               std::uint32_t rank = 0) noexcept;
  /// Keeps the first `keep` rows, forgets the others and closes the round. An in-place round that
  /// keeps some of its rows but not all commits none, and advises to append the kept ones again.
  /// Errors   : kStale, kTainted; kInvalidArgument (keep > k), kIncomplete as Append::commit and those of
  ///            the Rescan with the round still open; kDeviceFailed of anything else taints, or leaves it
  ///            open
  Result<Accepted> accept(std::uint32_t keep, Stream stream = {}) noexcept;
  /// accept(0); kDeviceFailed taints.
  Status drop(Stream stream = {}) noexcept;

 private:
  friend class Sequence;
  using OpenRows::OpenRows;
};

class Snapshot;

/// One token history and its state. Destroying it releases it.
class Sequence : public detail::HandleBase {
 public:
  Sequence() noexcept = default;  ///< stale
  Sequence(Sequence&&) noexcept = default;
  Sequence& operator=(Sequence&& other) noexcept;
  ~Sequence();

  /// Opens an append of `rows` rows.
  /// Errors   : kStale, kTainted, kBusy, kInvalidArgument (0 rows), kTooLong, kExhausted
  /// Cost     : one launch; in place on a state that anything else holds, it copies a slot
  Result<Append> append(std::uint32_t rows,
                        Stream stream = {},
                        AppendMode mode = AppendMode::kOutOfPlace) noexcept;
  /// Opens a round of `rows` provisional rows (0 is legal).
  /// Errors   : kStale, kTainted, kBusy, kInvalidArgument (more than the largest round; rescan
  ///            without a stash in the layout, or before set_rescan), kTooLong, kExhausted
  /// Cost     : one launch; in place with rows, it copies a slot
  Result<Round> verify(std::uint32_t rows,
                       Stream stream = {},
                       RoundKind kind = RoundKind::kColumns) noexcept;
  /// Makes a restorable snapshot of every plane at the position; copies no row and no state.
  /// Errors   : kStale, kTainted, kBusy, kExhausted
  /// Cost     : O(planes + length / (chunk_pages * page_rows)), no launch, no allocation
  Result<Snapshot> snapshot() noexcept;
  /// Becomes, bit for bit, what `snapshot` holds; takes any live snapshot of the same cache.
  /// Errors   : kStale (either), kTainted, kBusy, kInvalidArgument (another cache's); kDeviceFailed
  ///            taints
  /// Cost     : moves no plane storage; at most one launch
  Status rollback(Snapshot const& snapshot, Stream stream = {}) noexcept;
  /// Shortens the sequence to `length` rows without a snapshot; the own length succeeds, and only makes
  /// `stream` the one that kernels on the sequence run in.
  /// Errors   : kStale, kTainted, kBusy, kInvalidArgument (length > position); kRefused naming the
  ///            plane: got is the first row that it would need and limit the first that it has, of a
  ///            state the length and the position
  Status truncate(std::uint32_t length, Stream stream = {}) noexcept;
  /// What truncate(length) would answer.
  Status can_truncate(std::uint32_t length) const noexcept;
  /// Ends the sequence, and cancels an open handle on it. Snapshots of it stay good. Errors:
  /// kStale.
  Status release(Stream stream = {}) noexcept;
  /// Committed rows. Errors: kStale.
  Result<std::uint32_t> position() const noexcept;

 private:
  friend class Cache;
  friend class Snapshot;
  using HandleBase::HandleBase;
};

/// A named restore point over all planes. It outlives its sequence. Destroying it drops it.
class Snapshot : public detail::HandleBase {
 public:
  Snapshot() noexcept = default;  ///< stale
  Snapshot(Snapshot&&) noexcept = default;
  Snapshot& operator=(Snapshot&& other) noexcept;
  ~Snapshot();

  /// Starts another sequence that shares this snapshot's storage. Errors: kStale, kExhausted.
  Result<Sequence> fork(Stream stream = {}) noexcept;
  /// Frees exactly what only this snapshot held. Errors: kStale.
  Status drop() noexcept;
  /// Rows it holds. Errors: kStale.
  Result<std::uint32_t> position() const noexcept;

 private:
  friend class Cache;
  friend class Sequence;
  using HandleBase::HandleBase;
};

/// What an item of a step opens.
enum class StepKind : std::uint8_t {
  kAppend,  ///< an append of `rows` rows
  kVerify,  ///< a round of `rows` provisional rows
  kPad,     ///< `rows` rows of padding: they name sequence 0, which is scratch
};

/// One item of a step: rows of one sequence, in the engine's row order.
struct StepItem {
  Sequence* sequence = nullptr;  ///< nullptr for padding
  StepKind kind = StepKind::kPad;
  std::uint32_t rows = 0;
  AppendMode append_mode = AppendMode::kOutOfPlace;  ///< of an append
  RoundKind round_kind = RoundKind::kColumns;        ///< of a round
};

/// What a captured graph is bound to; see Step::signature(). A graph serves every step with an equal
/// one, whatever its sequences are.
struct GraphSignature {
  std::uint64_t cache = 0;  ///< names the open cache, whose addresses the graph holds
  std::uint64_t items = 0;  ///< digest of kinds, modes and rows of all items, in order
  std::uint32_t rows = 0;   ///< of the step, padding counted
  std::uint32_t viewed =
      0;  ///< plane classes that the engine's kernels write through views, a bit each
};

/// Rows of one plane class of a step, for Step::write_all().
struct PlaneRows {
  PlaneKind plane = PlaneKind::kAttentionKv;
  std::uint32_t layer = 0;        ///< the first one
  std::uint32_t layers = 0;       ///< this one and those that come after it in its class
  float const* source = nullptr;  ///< device memory, [layers, rows of the step, row elements] f32
};

/// One engine step over a list of sequences. Destroying it drops every item. A sequence that is
/// released meanwhile is cancelled and leaves the step.
class Step : public detail::HandleBase {
 public:
  Step(Step&&) noexcept = default;
  Step& operator=(Step&& other) noexcept;
  ~Step();

  /// As Append::write (rows in order, `first` ignored) or Round::write, for one item.
  /// Errors   : theirs; kStale also when the item is padding or its sequence was released
  Status write(std::uint32_t item,
               PlaneKind plane,
               std::uint32_t layer,
               float const* source,
               std::uint32_t first,
               std::uint32_t count,
               Stream stream = {},
               std::uint32_t rank = 0) noexcept;
  /// Writes all rows of all items in `layers` layers of a plane: `layer` and those that come after it in
  /// its class, the layers of this kind and shape, by one launch. Rows of padding are skipped. The launch
  /// finds its sequences, lengths, slots and pages in device memory, so that a CUDA graph may capture it.
  ///
  /// Shapes   : source [layers, rows of the step, row elements] f32, as Append::write
  /// Errors   : kStale, naming an item whose sequence was released; kTainted; kInvalidArgument (no such
  ///            layers; a draft plane; an append that has rows written already; another step was begun
  ///            since); kDeviceFailed taints the step's sequences
  Status write_all(PlaneKind plane,
                   std::uint32_t layer,
                   std::uint32_t layers,
                   float const* source,
                   Stream stream = {},
                   std::uint32_t rank = 0) noexcept;
  /// The same for several classes at once, all checked before any is written. Of up to 256 rows one launch
  /// writes four classes of rows and four of indexer rows: as a rule all that a pipeline stage has.
  ///
  /// Errors   : as above; kInvalidArgument also for more than 16 classes, and for layers that are in two
  Status write_all(std::span<PlaneRows const> classes,
                   Stream stream = {},
                   std::uint32_t rank = 0) noexcept;
  /// What a graph is bound to that captured the launches by which this step was written. Those are
  /// write_all() and the engine's own: they may hold addresses of views and of row_sequences(), and
  /// read lengths, slots and pages through them. Draft planes are not part of it.
  /// Errors   : kStale and kTainted; kIncomplete naming the item and plane that lacks rows
  Result<GraphSignature> signature() const noexcept;
  /// Declares that a graph of this signature is launched in `stream` now, before finish(): whatever the
  /// step that it was captured in wrote counts as written here. Makes `stream` wait for the step's
  /// sequences.
  /// Errors   : those of write_all(); kInvalidArgument when the signature is not this step's: the
  ///            graph must be captured anew; kInvalidArgument naming an item whose rows a ring does not
  ///            take through a view, as rows() answers: write this step another way
  Status replay(GraphSignature const& signature, Stream stream = {}) noexcept;
  /// As Append::rows, for one item.
  Result<RowsView> rows(std::uint32_t item,
                        PlaneKind plane,
                        std::uint32_t layer,
                        std::uint32_t written = UINT32_MAX,
                        std::uint32_t rank = 0) noexcept;
  /// As Append::range, for one item.
  Result<OpenRange> range(std::uint32_t item, PlaneKind plane, std::uint32_t layer) const noexcept;
  /// As Append::state, for one item.
  Result<StateView> state(std::uint32_t item,
                          std::uint32_t layer,
                          std::uint32_t written = UINT32_MAX,
                          std::uint32_t rank = 0) noexcept;
  /// As Round::stash, for one item.
  Result<StashView> stash(std::uint32_t item,
                          std::uint32_t layer,
                          std::uint32_t written = UINT32_MAX,
                          std::uint32_t rank = 0) noexcept;
  /// As Append::held, for one item.
  Result<HeldView> held(std::uint32_t item,
                        std::uint32_t layer,
                        std::uint32_t written = UINT32_MAX,
                        std::uint32_t rank = 0) noexcept;
  /// As Append::drop_is_exact, for one item; true for rounds.
  Result<bool> drop_is_exact(std::uint32_t item) const noexcept;
  /// Device array [rows of the step, padding counted] u32: the sequence index of each row, 0 for
  /// padding. It is one array for each device of the cache: the next begin of a step writes it
  /// again.
  /// Errors   : kStale, kInvalidArgument (device)
  Result<std::uint32_t const*> row_sequences(std::uint32_t device = 0) const noexcept;
  /// Ends the step: for a verify item keep[i] is the rows to keep, for an append item its rows or
  /// 0, for padding 0. All or nothing; one launch. Items end as Append::commit or drop and
  /// Round::accept say.
  ///
  /// Shapes   : keep [items]; accepted [items] or empty
  /// Errors   : kStale; kInvalidArgument and kIncomplete naming the item, and those of the Rescan,
  ///            with the step still open; kDeviceFailed of anything else taints the step's sequences,
  ///            or leaves it open
  /// Cost     : one launch; with kept rows of rescan items one Rescan for each device with states
  Status finish(std::span<std::uint32_t const> keep,
                std::span<Accepted> accepted = {},
                Stream stream = {}) noexcept;
  /// finish() with nothing kept; kDeviceFailed taints the step's sequences.
  Status drop(Stream stream = {}) noexcept;

 private:
  friend class Cache;
  using HandleBase::HandleBase;
};

/// A sequence that was started from a prefix entry.
struct Restored {
  Sequence sequence;
  std::uint32_t length = 0;  ///< its position
  EntryId entry;             ///< where it came from
};

/// Owner of devices, arenas and budgets, and of all sequences on them.
class Cache {
 public:
  Cache() noexcept = default;  ///< closed
  Cache(Cache const&) = delete;
  Cache& operator=(Cache const&) = delete;
  Cache(Cache&& other) noexcept : core_{other.core_} { other.core_ = nullptr; }
  Cache& operator=(Cache&& other) noexcept;
  /// Closes the cache; with live handles its memory stays until the last of them is gone.
  ~Cache();

  /// Validates `layout` and reserves all memory. There is one device for each rank of each stage,
  /// that of a rank at stage * ranks + rank; one device may stand there more than once. Devices
  /// must outlive the cache and its handles.
  /// Errors   : those of validate(); kInvalidArgument (another number of devices); kOutOfMemory
  static Result<Cache> create(Layout const& layout, std::span<Device* const> devices) noexcept;
  /// The same on one device, for a layout of one rank and one stage.
  static Result<Cache> create(Layout const& layout, Device& device) noexcept;
  /// Starts an empty sequence; its state is zeros. Errors: kStale (closed), kExhausted.
  Result<Sequence> create_sequence(Stream stream = {}) noexcept;
  /// Opens a step: reserves for all items, or for none. One launch.
  ///
  /// Errors   : those of Sequence::append and Sequence::verify, naming the item; kInvalidArgument
  ///            (no item, a sequence twice, another cache's, padding with a sequence); kTooLong
  ///            (more than `step_rows` rows); kExhausted (steps)
  Result<Step> begin(std::span<StepItem const> items, Stream stream = {}) noexcept;
  /// What begin() would answer now; schedulers ask first. Changes nothing, enqueues nothing. A refusal
  /// says what is lacking: Error::subject the plane, got what is needed, limit what is free.
  Status can_begin(std::span<StepItem const> items) const noexcept;
  /// Sets who makes the states of rescan rounds; nullptr: nobody, and they are refused. `context`
  /// comes back with every call. Errors: kStale (closed); kBusy while a rescan round is open.
  Status set_rescan(Rescan function, void* context) noexcept;

  /// Publishes what `snapshot` holds under its token keys, and returns the entry; when there is one
  /// under this key already, that one. Takes references, as a snapshot does, and moves no row; the
  /// snapshot may be dropped.
  ///
  /// Shapes   : tokens [the snapshot's position]
  /// Errors   : kStale; kInvalidArgument (another cache's snapshot, another number of tokens, an
  ///            empty snapshot); kExhausted (entries)
  Result<EntryId> capture(PrefixScope const& scope,
                          Snapshot const& snapshot,
                          std::span<TokenKey const> tokens) noexcept;
  /// What restore would take now; changes nothing. Among entries that are usable at the same
  /// length, the one that was captured first. Errors: kStale (closed).
  /// Cost     : O(log entries * tokens + entries that share as many tokens)
  Result<PrefixMatch> match(PrefixScope const& scope,
                            std::span<TokenKey const> tokens,
                            std::uint32_t limit) const noexcept;
  /// Starts a new sequence with the longest usable prefix: the longest q <= min(limit, common
  /// prefix with an entry) at which that entry is usable on every plane. It shares the entry's
  /// storage below q; no row and no state is copied, one launch.
  /// Errors   : kStale (closed); kMiss, an ordinary answer: Error::subject and got are limited_by and
  ///            limited_at of match(); kExhausted (sequences); kDeviceFailed
  Result<Restored> restore(PrefixScope const& scope,
                           std::span<TokenKey const> tokens,
                           std::uint32_t limit,
                           Stream stream = {}) noexcept;
  /// Frees exactly what only this entry held. Errors: kStale.
  Status erase(EntryId entry) noexcept;
  /// Its size in the byte form: grows with its tokens when an addressed plane exists. Errors: kStale.
  Result<EntryBytes> entry_bytes(EntryId entry) const noexcept;
  /// Writes an entry as bytes that name their version, layout, ranks, scope, tokens and sizes, with
  /// a checksum (docs/BYTE_FORM.md). Blocking: reads device memory through Device::host_read, after
  /// the work of `stream`. Returns the bytes written, EntryBytes::total.
  /// Errors   : kStale; kInvalidArgument (`out` is too small); kDeviceFailed
  Result<std::uint64_t> serialize(EntryId entry,
                                  std::span<std::byte> out,
                                  Stream stream = {}) const noexcept;
  /// Makes an entry of bytes that serialize wrote, here or elsewhere, for a cache of the same planes;
  /// capacities and page sizes may differ. Everything is checked first, then storage is
  /// reserved on all planes or none, then bytes move, and the entry is published last, as the one
  /// captured last. When there is one under this key already, returns that one. Blocking: writes
  /// device memory through Device::host_write in `stream`, and waits for it.
  /// Errors   : kDamaged naming "bytes" (cut short, changed, contradicting itself), or the plane whose
  ///            sizes do not follow from the tokens; kUnsupported naming "version"; kInvalidArgument
  ///            naming what is foreign (magic, layout, ranks, model,
  ///            adapter, tenant); kTooLong; kExhausted (entries, or a plane's storage); kStale
  ///            (closed); kDeviceFailed
  Result<EntryId> deserialize(PrefixScope const& scope,
                              std::span<std::byte const> bytes,
                              Stream stream = {}) noexcept;

  /// Gives all memory back, and that of the prefix entries with it. Errors: kStale (closed already);
  /// kBusy while sequences or snapshots live, got of them.
  Status close() noexcept;
  /// The read-only window on everything; valid while the cache is open.
  [[nodiscard]] Inspection inspect() const noexcept;

 private:
  explicit Cache(internal::cache::Core* core) noexcept : core_{core} {}
  Status check(std::span<StepItem const> items) const noexcept;
  internal::cache::Core* core_ = nullptr;
};

}  // namespace holdfast
