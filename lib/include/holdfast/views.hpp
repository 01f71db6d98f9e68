// SPDX-License-Identifier: Apache-2.0
// What an engine's kernels are told of a cache: a sequence's device record, and where rows, states and
// stashes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/device.hpp>
#include <holdfast/layout.hpp>
#include <holdfast/result.hpp>
#include <holdfast/strips.hpp>
#include <span>

namespace holdfast {

/// Device record of one sequence; kernels read it at a fixed address. `write_slot` has max(1,
/// largest_round) entries; entry i takes the state after open row i of a round, entry 0 the state
/// after the last row of an append, or after the kept rows of a rescan round.
struct SequenceMirror {
  std::uint32_t committed;   ///< rows
  std::uint32_t open;        ///< rows of the open handle, 0 at rest
  std::uint32_t generation;  ///< of the sequence id
  std::uint32_t read_slot;   ///< slot index with the state at `committed`; in place, all write
                             ///< slots name it too
  std::uint32_t first_row;   ///< row of the open step that is the handle's first; else 0
  std::uint32_t write_slot[1];
};

/// Where one layer's rows of one sequence lie, for an engine's kernels. Row r of strip s is at
/// `pages + table[r / page_rows] * page_bytes + layer_offset + strips[s].offset + (r % page_rows) *
/// strips[s].row_bytes`; a tail ring uses `r % ring_rows` for r and has one strip.
struct RowsView {
  std::byte* pages = nullptr;                ///< device, base of the class's page arena
  std::uint32_t const* table = nullptr;      ///< device, page indices of this sequence
  SequenceMirror const* sequence = nullptr;  ///< device
  std::uint64_t page_bytes = 0;
  std::uint64_t layer_offset = 0;  ///< bytes
  Strips strips;                   ///< of attention KV keys and values, else one
  std::uint32_t page_rows = 0;
  std::uint32_t ring_rows = 0;  ///< R of a tail ring, else 0
  std::uint32_t behind = 0;     ///< rows that the first open one lies below `committed`: of draft
                                ///< planes that lag, else 0
  std::uint32_t table_entries = 0;  ///< from this sequence's table to that of the next index
  std::uint64_t record_bytes = 0;   ///< from this sequence's record to that of the next index
};

/// Where the recurrent state of one layer lies, for an engine's kernels. The conv window [conv_dim,
/// kernel - 1] f32 of slot s starts at `slots + s * slot_bytes + conv_offset`, the ssm state
/// [heads, d_k, d_v] f32 at `... + ssm_offset`. Read slot and write slots are in `sequence`.
struct StateView {
  std::byte* slots = nullptr;                ///< device, base of the slot arena
  SequenceMirror const* sequence = nullptr;  ///< device
  std::uint64_t slot_bytes = 0;
  std::uint64_t conv_offset = 0;  ///< bytes
  std::uint64_t ssm_offset = 0;   ///< bytes
  std::uint32_t conv_dim = 0;     ///< channels; 0 without conv
  std::uint32_t window = 0;       ///< kernel - 1
  std::uint32_t heads = 0;        ///< 0 without ssm
  std::uint32_t d_k = 0;
  std::uint32_t d_v = 0;
  /// Slot index with the state at `committed` that the open handle falls back to. Who writes rows
  /// of an in-place round again first copies this slot over the write slot. Of an in-place append
  /// whose drop is not exact it is the write slot itself.
  std::uint32_t base_slot = 0;
  std::uint64_t record_bytes = 0;  ///< from this sequence's record to that of the next index
};

/// Where a rescan round takes the inputs of its rows, for an engine's kernels: whatever its Rescan
/// needs to advance the state of one layer by one row. Row r of the round is at `areas + area *
/// area_bytes + r * row_stride + layer_offset`, aligned to 16 bytes. Areas are numbered as
/// sequences are; area 0 takes row 0 of padding.
struct StashView {
  std::byte* areas = nullptr;                ///< device, [sequences, rows of a round]
  SequenceMirror const* sequence = nullptr;  ///< device
  std::uint64_t area_bytes = 0;
  std::uint64_t row_stride = 0;    ///< bytes of a row of all layers
  std::uint64_t layer_offset = 0;  ///< bytes
  std::uint32_t row_bytes = 0;     ///< of this layer
  std::uint32_t area = 0;          ///< of the handle's sequence
};

/// One state that a Rescan makes: that after `keep` rows from `base` on. Addresses are those of
/// one device; layers lie in the slots as StateView says, and in the stash as StashView says.
struct RescanItem {
  std::byte const* base = nullptr;  ///< slot with the state that the round started from
  std::byte* fresh = nullptr;  ///< slot to write; at first its held side state is the base's, and
                               ///< the rest undefined
  std::byte const* stash = nullptr;  ///< area of the sequence, from row 0 of the round on
  std::uint32_t keep = 0;            ///< rows, at least 1
};

/// What a Rescan is called with: all rescan items of one finish, on one device.
struct RescanCall {
  Device& device;
  std::uint32_t stage;
  std::uint32_t rank;
  std::span<RescanItem const> items;  ///< valid during the call
  Stream stream;                      ///< takes the work
};

/// Turns stashed inputs into states; the engine's. Enqueues work that fills every `fresh`, and
/// nothing else; may not call the cache. An error is the answer of the finish, which then has
/// changed nothing; called again, it does all of its work again.
using Rescan = Status (*)(void* context, RescanCall const& call) noexcept;

/// Where the held side state of one layer lies: [elements] of 4 bytes at `slots + s * slot_bytes +
/// offset` of slot s. Read slot and write slots are those of the recurrent state, in `sequence`;
/// what a layer has at the read slot must be written, changed or not, to every write slot. In a rescan
/// round it is not: the Rescan finds the base's in the fresh slot, and makes it what it must be.
struct HeldView {
  std::byte* slots = nullptr;                ///< device, base of the slot arena
  SequenceMirror const* sequence = nullptr;  ///< device
  std::uint64_t slot_bytes = 0;
  std::uint64_t offset = 0;  ///< bytes
  std::uint32_t elements = 0;
  std::uint32_t base_slot = 0;     ///< as StateView::base_slot
  std::uint64_t record_bytes = 0;  ///< from this sequence's record to that of the next index
};

/// Rows [first, first + count) of one plane that a handle may write.
struct OpenRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

}  // namespace holdfast
