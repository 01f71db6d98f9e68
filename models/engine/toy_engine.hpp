// SPDX-License-Identifier: Apache-2.0
// The toy engine: writes the open rows of a handle as an inference engine would, layer by layer,
// with its own kernels through the library's write calls and views.
#pragma once

#include <cstdint>
#include <holdfast/cache.hpp>
#include <span>
#include <vector>

#include "models/engine/scratch.hpp"
#include "models/reference/model.hpp"
#include "models/write_style.hpp"

namespace holdfast::model {

/// One item of a step, with the calls of an Append or Round.
struct StepRows {
  Step& step;
  std::uint32_t item;
  bool round;

  Result<RowsView> rows(PlaneKind plane,
                        std::uint32_t layer,
                        std::uint32_t written,
                        std::uint32_t rank) noexcept {
    return step.rows(item, plane, layer, written, rank);
  }
  Result<OpenRange> range(PlaneKind plane, std::uint32_t layer) const noexcept {
    return step.range(item, plane, layer);
  }
  Result<StateView> state(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.state(item, layer, written, rank);
  }
  Result<StashView> stash(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.stash(item, layer, written, rank);
  }
  Result<HeldView> held(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.held(item, layer, written, rank);
  }
};

/// What is written of one item of a step; of padding only the rows count.
struct ItemRows {
  bool is_padding;
  bool round;
  StateMode mode;
  std::uint32_t position;
  std::uint32_t rows;
  std::vector<Token> tokens;  // [rows]
  std::span<Token const> history;
};

/// Where one layer's part of the slots lies.
struct SlotPart {
  std::byte* slots = nullptr;
  std::uint64_t offset = 0;  // in a slot, bytes
  SequenceMirror const* sequence = nullptr;
  std::uint64_t slot_bytes = 0;
  std::uint32_t base_slot = 0;
};

/// Writes rows; keeps no state of its own between calls but its scratch memory.
class ToyEngine {
 public:
  /// Scratch memory comes from `memory`; the work goes to a device for each rank of each stage, that
  /// of a rank at stage * ranks + rank.
  ToyEngine(ModelShape const& shape, Device& memory, std::span<Device* const> devices);
  ToyEngine(ToyEngine const&) = delete;
  ToyEngine& operator=(ToyEngine const&) = delete;

  [[nodiscard]] ModelShape const& shape() const noexcept { return shape_; }

  /// Writes open rows [first, first + count) of `tokens` into every plane; states are computed anew
  /// for all of `tokens`, columns from `first` on, and draft rows from the watermark to those of
  /// these tokens. Handle is Append, Round or StepRows; position is that of open row 0, `history`
  /// the committed tokens.
  template <typename Handle>
  Status write(Handle& handle,
               std::uint32_t position,
               std::span<Token const> tokens,
               std::uint32_t first,
               std::uint32_t count,
               WriteStyle style,
               std::span<Token const> history) noexcept;

  /// Writes all rows of all items of a step: addressed planes by one call for all layers of a shape, the
  /// rest item by item.
  Status write_step(Step& step, std::span<ItemRows const> items, WriteStyle style) noexcept;

  /// The Rescan of caches that are written by this engine, which is the context.
  static Status rescan(void* engine, RescanCall const& call) noexcept;

  /// Memory that rows are made in.
  [[nodiscard]] Memory staging() const noexcept { return scratch_.memory(); }
  /// Nothing that was enqueued is pending any more: scratch memory may be written again.
  void settle() noexcept { scratch_.take_back(); }

 private:
  /// Rows of one plane, and the tokens that they are made of.
  struct RowSpan {
    Token const* tokens;     // of open row 0 on
    std::uint32_t position;  // of open row 0
    std::uint32_t first;     // open rows [first, first + count)
    std::uint32_t count;
  };
  /// Has rows made: [count, elements of the rank] into `out`.
  Status make_rows(PlaneShape const& plane,
                   RowSpan const& rows,
                   float* out,
                   std::uint32_t rank,
                   Stream stream) noexcept;
  /// The rows of all items in all layers, many classes by one call.
  Status write_layers(Step& step,
                      std::span<ItemRows const> items,
                      std::span<Token const* const> tokens,
                      std::uint32_t rank,
                      Stream stream) noexcept;
  Status write_classes(Step& step,
                       std::span<PlaneRows const> classes,
                       std::uint32_t rank,
                       Stream stream) noexcept;
  Result<PlaneRows> stage_layers(PlaneShape const& plane,
                                 std::span<ItemRows const> items,
                                 std::span<Token const* const> tokens,
                                 std::uint32_t rank,
                                 Stream stream) noexcept;
  template <typename Handle>
  Status write_draft(Handle& handle,
                     PlaneShape const& plane,
                     RowSpan const& rows,
                     std::span<Token const> history,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  template <typename Handle>
  Status write_plane(Handle& handle,
                     PlaneShape const& plane,
                     RowSpan const& span,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  /// States, or what a rescan makes them of, after the first `count` of `tokens_`.
  template <typename Handle>
  Status write_slots(Handle& handle,
                     std::uint32_t count,
                     std::uint32_t first,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  template <typename Handle>
  Status write_states(Handle& handle,
                      std::uint32_t count,
                      std::uint32_t first,
                      std::uint32_t rank,
                      WriteStyle style) noexcept;
  /// Stashes tokens [first, count); states are left alone.
  template <typename Handle>
  Status write_stash(Handle& handle,
                     std::uint32_t count,
                     std::uint32_t first,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  [[nodiscard]] std::uint64_t need_of(std::uint64_t rows) const noexcept;
  /// Makes room for one more write that takes so many bytes; waits for all streams when there is none.
  Status make_room(std::uint64_t bytes, Stream stream) noexcept;
  /// One past the last state of the stage that a state belongs to.
  [[nodiscard]] std::uint32_t end_of_stage(std::uint32_t state) const noexcept;
  [[nodiscard]] Device& device(std::uint32_t stage, std::uint32_t rank) const noexcept {
    return *devices_[stage * shape_.ranks + rank];
  }

  ModelShape const& shape_;
  Scratch scratch_;
  std::vector<Device*> devices_;
  std::vector<Stream> streams_;         // that work went to since settle()
  std::vector<SlotPart> parts_;         // [states]
  std::vector<StashView> stash_views_;  // [states]; of side state, its stage's first
  Token const* tokens_ = nullptr;       // of the write that is going on, from open row 0 on
};

}  // namespace holdfast::model
