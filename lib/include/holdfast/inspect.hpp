// SPDX-License-Identifier: Apache-2.0
// The one read-only window on a cache: tables, references, lengths and bytes, as plain data.
//
// For invariants, incident dumps and tests; not a stable interface. Nothing here changes the cache.
// A holder is a sequence, a snapshot or a prefix entry; holders are named by their index, not by
// generation. Prefix entries are held as snapshots are, and have the indices after theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/layout.hpp>
#include <holdfast/result.hpp>
#include <holdfast/strips.hpp>
#include <span>

namespace holdfast {

namespace internal::cache {
class Core;
}

/// Sequence, or snapshot; the indices after those of the snapshots are prefix entries.
enum class HolderKind : std::uint8_t { kSequence, kSnapshot };

/// Names one holder.
struct Holder {
  HolderKind kind = HolderKind::kSequence;
  std::uint32_t index = 0;
};

/// One plane class: the layers of one plane kind and shape in one stage, as one rank holds them; the
/// slots of a stage, whose parts are of several kinds, are one class under the first of them.
struct PlaneInfo {
  PlaneKind kind = PlaneKind::kAttentionKv;
  char const* name = "";
  std::span<std::uint32_t const> layers;  ///< model layers, ascending; of slots, of each part
  std::uint32_t unit_tokens = 1;          ///< tokens that one row stands for (pool for pool keys)
  std::uint32_t row_elements = 0;         ///< elements of one row of one layer
  Strips strips;                          ///< in which a row is stored
  std::uint32_t page_rows = 0;            ///< 0 for planes without pages
  std::uint32_t window_rows = 0;    ///< rows that the next token needs at most, its own counted:
                                    ///< only the last ones stay; 0: all do
  std::uint32_t ring_rows = 0;      ///< R, where rows wrap around: row r lies at r % R; else 0
  std::uint32_t chunk_pages = 0;    ///< page ids of a chunk; 0 for planes without chunks
  std::uint32_t entries = 0;        ///< entries of one sequence's table
  std::uint64_t page_bytes = 0;     ///< bytes of one page, or of one state slot
  std::uint32_t pages = 0;          ///< pages (or slots) of the arena, the reserved one counted
  std::byte const* base = nullptr;  ///< device address of the arena on rank 0
  std::uint32_t stage = 0;
  bool split = false;  ///< each rank holds its share of every strip; else all of it
};

/// What one layer has in a slot: recurrent state, or held side state.
struct StateInfo {
  PlaneKind kind = PlaneKind::kRecurrent;
  std::uint32_t layer = 0;
  std::uint64_t conv_offset = 0;  ///< bytes
  std::uint32_t conv_elements = 0;
  std::uint64_t ssm_offset = 0;  ///< bytes
  std::uint32_t ssm_elements = 0;
  std::uint64_t held_offset = 0;  ///< bytes
  std::uint32_t held_elements = 0;
};

/// What one plane knows of one holder.
struct PlaneState {
  std::uint32_t length = 0;  ///< rows in the plane's own unit (`ready` for pool keys)
  std::uint32_t sealed = 0;  ///< rows below may be visible to others; in the plane's own unit
  std::uint32_t lo = 0;  ///< first resident row of a windowed plane; of a snapshot the first that
                         ///< its length needs
  std::uint32_t pages = 0;      ///< entries of the table, from 0 on; where rows wrap around, all
  std::uint32_t chunks = 0;     ///< chunks of the table; 0 when it is a flat list
  std::uint32_t slot = 0;       ///< state slot, for the plane that has slots
  std::uint32_t read_slot = 0;  ///< that kernels read now: `slot`, or its copy in place
  friend bool operator==(PlaneState const&, PlaneState const&) = default;
};

/// What is known of one sequence.
struct SequenceInfo {
  bool live = false;
  bool tainted = false;
  bool open = false;   ///< an append or a round is open
  bool round = false;  ///< the open handle is a round
  std::uint32_t generation = 0;
  std::uint32_t position = 0;  ///< committed rows
  std::uint32_t open_rows = 0;
  std::uint64_t changes = 0;  ///< raised by every operation that touches the sequence
  friend bool operator==(SequenceInfo const&, SequenceInfo const&) = default;
};

/// What is known of one snapshot or prefix entry.
struct SnapshotInfo {
  bool live = false;
  std::uint32_t generation = 0;
  std::uint32_t position = 0;
};

/// Device mirror of one sequence, read back.
struct MirrorInfo {
  std::uint32_t committed = 0;
  std::uint32_t open = 0;
  std::uint32_t generation = 0;
  std::uint32_t read_slot = 0;
};

/// Read-only window; valid while the cache is open. An index out of range gives empty data or 0.
class Inspection {
 public:
  explicit Inspection(internal::cache::Core const* core) noexcept : core_{core} {}

  [[nodiscard]] std::uint32_t plane_count() const noexcept;
  [[nodiscard]] PlaneInfo plane(std::uint32_t plane) const noexcept;
  /// Parts of the state slots, in order; empty without one. Offsets are from the start of the slot
  /// of their stage.
  [[nodiscard]] std::span<StateInfo const> states() const noexcept;

  /// One past the largest index; index 0 is reserved.
  [[nodiscard]] std::uint32_t sequence_limit() const noexcept;
  [[nodiscard]] std::uint32_t snapshot_limit() const noexcept;
  /// Index of the first prefix entry; those from here to snapshot_limit() are entries.
  [[nodiscard]] std::uint32_t first_entry() const noexcept;
  [[nodiscard]] SequenceInfo sequence(std::uint32_t index) const noexcept;
  [[nodiscard]] SnapshotInfo snapshot(std::uint32_t index) const noexcept;

  [[nodiscard]] PlaneState state(Holder holder, std::uint32_t plane) const noexcept;
  /// The same of all planes; `out` [plane_count].
  void plane_states(Holder holder, std::span<PlaneState> out) const noexcept;
  /// Page index that entry `entry` of the holder's table names; 0 when there is none.
  [[nodiscard]] std::uint32_t page(Holder holder,
                                   std::uint32_t plane,
                                   std::uint32_t entry) const noexcept;
  /// The same for the entries from `first` on, as many as `out` has room for.
  void pages(Holder holder,
             std::uint32_t plane,
             std::uint32_t first,
             std::span<std::uint32_t> out) const noexcept;
  /// Chunk index of entry `chunk` of the holder's chunk list.
  [[nodiscard]] std::uint32_t chunk(Holder holder,
                                    std::uint32_t plane,
                                    std::uint32_t chunk) const noexcept;
  /// Pages that chunk `chunk` of a plane names now.
  [[nodiscard]] std::span<std::uint32_t const> chunk_pages(std::uint32_t plane,
                                                           std::uint32_t chunk) const noexcept;
  [[nodiscard]] std::uint32_t chunk_references(std::uint32_t plane,
                                               std::uint32_t chunk) const noexcept;
  [[nodiscard]] std::uint32_t chunk_limit(std::uint32_t plane) const noexcept;
  [[nodiscard]] std::uint32_t chunks_free(std::uint32_t plane) const noexcept;

  /// References to a page (or state slot): by chunks, by flat tables and snapshots, by open handles.
  [[nodiscard]] std::uint32_t page_references(std::uint32_t plane,
                                              std::uint32_t page) const noexcept;
  /// The sequence that may write the page in place, as generation << 32 | index; 0 for none.
  [[nodiscard]] std::uint64_t page_writer(std::uint32_t plane, std::uint32_t page) const noexcept;
  [[nodiscard]] std::uint32_t pages_free(std::uint32_t plane) const noexcept;
  /// The free pages (or state slots) of a plane; the last is handed out first.
  [[nodiscard]] std::span<std::uint32_t const> free_pages(std::uint32_t plane) const noexcept;
  /// Raised whenever a page (or state slot) or a chunk of a plane is handed out or becomes free.
  [[nodiscard]] std::uint64_t storage_changes(std::uint32_t plane) const noexcept;
  /// State slots that an open handle of the sequence will write, in order; in rings, the page that
  /// a long append holds for its base.
  [[nodiscard]] std::span<std::uint32_t const> open_pages(std::uint32_t sequence,
                                                          std::uint32_t plane) const noexcept;

  [[nodiscard]] std::uint32_t ranks() const noexcept;
  [[nodiscard]] std::uint32_t stages() const noexcept;
  /// Device address of a plane's arena on a rank.
  [[nodiscard]] std::byte const* base(std::uint32_t plane, std::uint32_t rank) const noexcept;
  /// Copies rows [first, first + count) of one layer (index into PlaneInfo::layers) on one rank into
  /// `out` [count, row_elements] f32, widened exactly.
  /// Errors   : kInvalidArgument (a row has no page, or the size is wrong), kDeviceFailed
  Status read_rows(Holder holder,
                   std::uint32_t plane,
                   std::uint32_t layer_index,
                   std::uint32_t first,
                   std::uint32_t count,
                   std::span<float> out,
                   std::uint32_t rank = 0) const noexcept;
  /// Copies the state slots of a holder on one rank into `out`, stage after stage; page_bytes / 4
  /// elements each.
  /// Errors   : kInvalidArgument, kDeviceFailed
  Status read_state(Holder holder, std::span<float> out, std::uint32_t rank = 0) const noexcept;
  /// Device address of a row's first strip on rank 0, or nullptr; only for devices whose memory the host
  /// can read.
  [[nodiscard]] std::byte const* row_address(Holder holder,
                                             std::uint32_t plane,
                                             std::uint32_t layer_index,
                                             std::uint32_t row) const noexcept;
  /// Reads the record of a sequence on a device. Errors: kInvalidArgument, kDeviceFailed.
  Result<MirrorInfo> mirror(std::uint32_t sequence, std::uint32_t device = 0) const noexcept;
  /// Copies the entries of a sequence's device table on a rank, from `first` on, into `out`.
  /// Errors   : kInvalidArgument (past the table), kDeviceFailed
  Status read_table(std::uint32_t sequence,
                    std::uint32_t plane,
                    std::uint32_t first,
                    std::span<std::uint32_t> out,
                    std::uint32_t rank = 0) const noexcept;

 private:
  internal::cache::Core const* core_;
};

}  // namespace holdfast
