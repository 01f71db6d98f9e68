// SPDX-License-Identifier: Apache-2.0
// The toy engine: writes the open rows of a handle as an inference engine would, layer by layer,
// with its own kernels through the library's write calls and views.
#pragma once

#include <cstdint>
#include <holdfast/cache.hpp>
#include <optional>
#include <span>
#include <vector>

#include "models/engine/scratch.hpp"
#include "models/reference/model.hpp"
#include "models/reference/parts.hpp"
#include "models/write_style.hpp"

namespace holdfast::model {

/// What is answered when calls of the library contradict each other: no answer of the model.
inline constexpr ErrorCode kNeverAnswered = ErrorCode::kUnsupported;

/// One item of a step, with the calls of an Append or Round.
struct StepRows {
  Step& step;
  std::uint32_t item;
  bool round;
  bool declares = true;  // false: a graph does the writing, and was declared as one

  Result<RowsView> rows(PlaneKind plane,
                        std::uint32_t layer,
                        std::uint32_t written,
                        std::uint32_t rank) noexcept {
    return step.rows(item, plane, layer, declared(written), rank);
  }
  Result<OpenRange> range(PlaneKind plane, std::uint32_t layer) const noexcept {
    return step.range(item, plane, layer);
  }
  Result<StateView> state(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.state(item, layer, declared(written), rank);
  }
  Result<StashView> stash(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.stash(item, layer, declared(written), rank);
  }
  Result<HeldView> held(std::uint32_t layer, std::uint32_t written, std::uint32_t rank) noexcept {
    return step.held(item, layer, declared(written), rank);
  }
  [[nodiscard]] std::uint32_t declared(std::uint32_t rows) const noexcept {
    return declares ? rows : 0;
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

/// Whether a handle's rows are a round's.
[[nodiscard]] inline bool is_round(Append const& /*handle*/) noexcept {
  return false;
}
[[nodiscard]] inline bool is_round(Round const& /*handle*/) noexcept {
  return true;
}
[[nodiscard]] inline bool is_round(StepRows const& handle) noexcept {
  return handle.round;
}

/// Open rows of one handle that a write is about.
struct WriteWork {
  Token const* tokens = nullptr;  // of open row 0 on
  std::uint32_t position = 0;     // of open row 0
  std::uint32_t first = 0;        // rows [first, end) of all parts but the special one
  std::uint32_t end = 0;
  std::uint32_t special_first = 0;
  std::uint32_t special_end = 0;
  std::uint32_t state_end = 0;  // states are made anew until here; the special one until the next
  std::uint32_t special_state_end = 0;
  bool has_drafts = true;  // draft planes are written too
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

  /// Writes what a handle lacks of its open rows, whose tokens these are, after a write of the first
  /// `written` of them under the style's plan. Draft planes are left as they are.
  template <typename Handle>
  Status fill(Handle& handle,
              std::uint32_t position,
              std::span<Token const> tokens,
              std::uint32_t written,
              WriteStyle style) noexcept;

  /// Writes all rows of all items of a step: addressed planes by one call for all layers of a shape, the
  /// rest item by item.
  Status write_step(Step& step, std::span<ItemRows const> items, WriteStyle style) noexcept;

  /// The stream of the last call on the handle that was written last: kernels on it run there.
  [[nodiscard]] Stream stream() const noexcept { return stream_; }

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
  /// Makes room, keeps the tokens, and finds the special part.
  Status start(WriteWork& work, std::span<Token const> tokens, WriteStyle const& style) noexcept;
  void choose_special(WritePlan const& plan) noexcept;
  [[nodiscard]] bool is_special(PlaneShape const& plane, std::uint32_t rank) const noexcept {
    auto const index = static_cast<std::uint32_t>(&plane - shape_.planes.data());
    return special_ == Part{.rank = rank, .plane = index};
  }
  [[nodiscard]] bool is_special_state(std::uint32_t state, std::uint32_t rank) const noexcept {
    return special_ == Part{.rank = rank, .state = state};
  }
  template <typename Handle>
  Status write_parts(Handle& handle, WriteWork const& work, WriteStyle style) noexcept;
  template <typename Handle>
  Status write_planes(Handle& handle,
                      WriteWork const& work,
                      std::uint32_t rank,
                      WriteStyle style) noexcept;
  /// One plane as the plan says.
  template <typename Handle>
  Status write_part(Handle& handle,
                    PlaneShape const& plane,
                    RowSpan const& span,
                    std::uint32_t rank,
                    WriteStyle style) noexcept;
  /// Makes the plan's mistake about a plane: the call must be refused. `written` of its rows are.
  template <typename Handle>
  Status err(Handle& handle,
             PlaneShape const& plane,
             std::uint32_t written,
             std::uint32_t rank,
             WriteStyle const& style) noexcept;
  /// The same about a state.
  template <typename Handle>
  Status err_state(Handle& handle,
                   StateShape const& state,
                   std::uint32_t rank,
                   WriteStyle const& style) noexcept;
  /// The same about the layers of a class that were written at once.
  Status err_layers(Step& step,
                    PlaneRows const& rows,
                    bool has_append,
                    std::uint32_t rank,
                    WriteStyle const& style) noexcept;
  [[nodiscard]] std::uint32_t layer_past_all() const noexcept;
  /// Tokens that are none of a write's.
  [[nodiscard]] Token const* other_tokens(std::uint32_t count) noexcept;
  /// Launches in the stream of the handle's last call.
  Status launch(Device& device, Kernel const& kernel, void const* parameters) noexcept {
    return device.launch(kernel, parameters, stream_);
  }

  /// The rows of all items in all layers, many classes by one call.
  Status write_layers(Step& step,
                      std::span<ItemRows const> items,
                      std::span<Token const* const> tokens,
                      std::uint32_t rank,
                      WriteStyle const& style) noexcept;
  Status write_item(Step& step,
                    ItemRows const& item,
                    std::uint32_t index,
                    Token const* tokens,
                    std::uint32_t rank,
                    WriteStyle style) noexcept;
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
                     WriteWork const& work,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  template <typename Handle>
  Status write_plane(Handle& handle,
                     PlaneShape const& plane,
                     RowSpan const& span,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  /// States, or what a rescan makes them of.
  template <typename Handle>
  Status write_slots(Handle& handle,
                     WriteWork const& work,
                     std::uint32_t rank,
                     WriteStyle style) noexcept;
  /// States of one stage that have the same rows to write.
  struct StateRun {
    std::uint32_t begin;  // states [begin, end)
    std::uint32_t end;
    std::uint32_t first;  // rows [first, last)
    std::uint32_t last;
    bool is_special;
  };
  void find_runs(WriteWork const& work, std::uint32_t rank, bool reversed) noexcept;
  template <typename Handle>
  Status look_at_states(Handle& handle,
                        WriteWork const& work,
                        std::uint32_t rank,
                        bool rescans) noexcept;
  template <typename Handle>
  Status write_states(Handle& handle,
                      StateRun const& run,
                      std::uint32_t rank,
                      WriteStyle const& style) noexcept;
  /// Stashes tokens; states are left alone.
  Status write_stash(StateRun const& run, std::uint32_t rank) noexcept;
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
  std::vector<StateRun> runs_;
  Token const* tokens_ = nullptr;  // of the write that is going on, from open row 0 on
  std::optional<Part> special_;    // likewise
  Stream stream_;                  // of the last call on its handle
};

}  // namespace holdfast::model
