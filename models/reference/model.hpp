// SPDX-License-Identifier: Apache-2.0
// The reference model: a second implementation of the public interface, dumb on purpose. It keeps
// token histories by value, shares nothing, and predicts every answer that follows from meaning.
// For exhaustion it gives a bound - what fits must succeed - and adopts the outcome beyond it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <holdfast/layout.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/observation.hpp"
#include "models/reference/planes.hpp"
#include "models/write_style.hpp"

namespace holdfast::model {

/// Most different windows of one layout that the model tells apart.
inline constexpr std::uint32_t kWindowLimit = 4;

/// A layout as the model reads it: planes and states by layer, nothing of pages but the capacities.
struct ModelShape {
  std::vector<PlaneShape> planes;  // pool keys carry their ring's fields
  std::vector<std::uint32_t>
      window_of_plane;  // index into `windows`, by plane; kWindowLimit for none
  std::vector<std::uint32_t> written_planes;  // those that an engine writes
  std::vector<StateShape> states;
  std::vector<std::uint32_t> state_offsets;  // in elements, by state
  std::uint32_t state_elements = 0;
  std::vector<std::uint32_t> shard_offsets;  // the same in what one rank holds
  std::uint32_t shard_state_elements = 0;
  /// Planes of one class of which only the last rows stay; the same rows of all of them do.
  struct Window {
    ReferenceWindow const* meaning;
    PlaneShape plane;  // the first of them
    [[nodiscard]] std::uint32_t first_needed(std::uint32_t length) const noexcept {
      return meaning->first_needed(plane, length);
    }
  };
  std::vector<Window> windows;
  /// What refusals name: planes by stage, kind and layer; all states of a stage once, as the first.
  struct Named {
    PlaneKind kind;
    std::uint32_t stage;
    std::uint32_t layer;
    std::uint32_t plane;  // index into `planes`; kNoPlane for states
  };
  static constexpr std::uint32_t kNoPlane = UINT32_MAX;
  std::vector<Named> named;
  std::uint32_t class_count = 0;   // planes of equal rows in a stage are one, and so are its states
  std::uint32_t draft = kNoPlane;  // the first draft plane, index into `planes`
  Capacity capacity;               // zeros replaced by the worst case
  std::uint32_t page_rows = 0;
  std::uint32_t ranks = 1;
  std::uint32_t stages = 1;
  /// Of a system that keeps everything by value: every drop is exact, and a round in place never goes
  /// back to its base.
  bool keeps_all = false;

  /// Whether a round may be rescanned; without states that means nothing.
  [[nodiscard]] bool can_rescan() const noexcept {
    return states.empty() || std::any_of(states.begin(), states.end(), [](auto const& state) {
             return state.stash_row_bytes != 0;
           });
  }
  [[nodiscard]] bool has_draft() const noexcept { return draft != kNoPlane; }
  /// Bytes of one page of every class, and of one state slot, on all ranks and stages together.
  [[nodiscard]] std::uint64_t page_bytes() const noexcept;
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept;
  /// Most committed rows that a draft plane catches up in one handle.
  [[nodiscard]] std::uint32_t draft_lag() const noexcept {
    return capacity.largest_round + page_rows;
  }
  /// Index in `planes`; UINT32_MAX when the layer has no such plane.
  [[nodiscard]] std::uint32_t find(PlaneKind kind, std::uint32_t layer) const noexcept;
};

/// Throws InputError for what the model cannot follow (rows too wide, too many windows).
[[nodiscard]] ModelShape make_model_shape(Layout const& layout);

/// A token history and what follows from it that is not a pure function of the tokens.
struct History {
  std::vector<Token> tokens;
  std::vector<TokenKey> keys;  // [tokens], as a prompt shows them
  std::vector<float> state;    // after all tokens, in slot order
  std::uint32_t state_id = 0;  // equal where one stored state serves several holders
  std::array<std::uint32_t, kWindowLimit> lo;  // first resident row, by window
  std::uint32_t watermark = 0;                 // rows of the draft planes
};

/// The open handle of a sequence.
struct OpenHandle {
  bool open = false;
  bool in_step = false;  // it is an item of one, and ends with it
  bool round = false;
  std::uint32_t rows = 0;
  std::uint32_t written = 0;     // that were written of most parts
  std::uint32_t complete = 0;    // that were written of all parts
  bool is_uneven = false;        // one part was not written as the others were
  WritePlan lacking;             // that left rows of one part out, if there are such
  std::uint32_t draft_rows = 0;  // of draft planes that may be written, from the watermark on
  std::uint32_t drafted = 0;     // of them that are
  std::array<std::uint32_t, kWindowLimit> reached{};  // that may have been written, by window
  StateMode mode = StateMode::kFresh;
  bool drop_is_exact = true;   // dropping would leave the sequence as it was
  std::uint32_t slots = 0;     // most state slots that it holds besides the sequence's own
  std::vector<Token> tokens;   // [rows]
  std::vector<TokenKey> keys;  // [rows]

  /// Forgets everything but its memory.
  void reset() noexcept {
    open = in_step = round = is_uneven = false;
    lacking = {};
    reached.fill(0);
    rows = written = complete = slots = draft_rows = drafted = 0;
    mode = StateMode::kFresh;
    drop_is_exact = true;
    tokens.clear();
    keys.clear();
  }
};

/// One sequence of a program.
struct ModelSequence {
  bool created = false;
  bool live = false;
  bool tainted = false;  // its state is lost
  bool unknown = false;  // so is what it holds: up to all that a handle may take
  std::uint32_t history = 0;
  std::uint32_t step = UINT32_MAX;  // the last that it was an item of
  OpenHandle open;
};

/// One step of a program. Its items leave it when their sequences are released.
struct ModelStep {
  StepParts items;
  bool open = false;
  bool is_written = false;
  bool is_uneven = false;  // a plan was followed
};

/// One snapshot of a program.
struct ModelSnapshot {
  bool created = false;
  bool live = false;
  std::uint32_t history = 0;
};

/// One prefix entry of a program. It keeps its history when it is erased: prompts are made of it.
struct ModelEntry {
  bool created = false;
  bool live = false;             // not of a second name
  std::uint32_t first_name = 0;  // its own, or that of the entry which had the key already
  std::uint32_t scope = 0;
  bool pending = false;  // perhaps not visible yet
  History history;
};

/// Who wrote a token, and what removed it; kept only when asked for.
struct TokenRecord {
  std::uint32_t sequence = 0;
  std::uint32_t position = 0;
  std::uint32_t written_by = 0;           // operation
  std::uint32_t removed_by = UINT32_MAX;  // operation; UINT32_MAX: still there
};

/// The model. Operations are named as in the traces; `exhausted` says that the system reported
/// kExhausted.
class Model {
 public:
  explicit Model(ModelShape shape);
  /// Forgets everything; keeps its memory.
  void reset();
  /// From now on notes who wrote and who removed each token.
  void keep_log() { keeps_log_ = true; }
  /// Whether devices run work later: entries may be invisible until settle().
  void set_asynchronous(bool on) noexcept { is_asynchronous_ = on; }
  [[nodiscard]] bool is_asynchronous() const noexcept { return is_asynchronous_; }
  /// All work is done.
  void settle() noexcept {
    for (std::uint32_t const live : live_entries_) {
      entries_[live].pending = false;
    }
  }
  void set_operation(std::uint32_t index) noexcept { operation_ = index; }

  Observation create(SequenceName name, bool exhausted);
  /// Of the style its view, mode, skip, keys and plan mean something here.
  Observation begin(SequenceName name,
                    bool round,
                    std::uint32_t rows,
                    std::uint32_t written,
                    Token token,
                    bool exhausted,
                    WriteStyle const& style = {});
  Observation rewrite(SequenceName name,
                      std::uint32_t first,
                      std::uint32_t count,
                      Token token,
                      WriteStyle const& style = {});
  /// Writes what an open append lacks. Success says its rows.
  Observation fill(SequenceName name, bool view);
  /// Begins and finishes all items, or none. Success counts the rows that were kept.
  Observation step(StepParts const& items, bool exhausted, WriteStyle const& style = {});
  /// Opens a step, of which no row is written. It is named by any sequence that it has or had; success
  /// counts its items.
  Observation begin_step(StepParts const& items, bool exhausted);
  /// Writes all rows of the items that are still there; again what they lack, and rounds.
  Observation write_step(SequenceName name, WriteStyle style, Observation const& got);
  /// Success counts the rows that were kept.
  Observation finish_step(SequenceName name);
  Observation drop_step(SequenceName name);
  /// Whether a graph was captured that serves this sequence's step.
  [[nodiscard]] bool has_graph_for(SequenceName name) const noexcept;
  /// The engine let go of it.
  void forget_step(SequenceName name) noexcept;
  /// Which step's rows the devices have a map of is not known, since a device failed.
  void forget_map() noexcept { mapped_step_ = kUnknownStep; }
  /// The last step that a sequence is or was an item of, open or not; nullptr when there is none.
  [[nodiscard]] ModelStep const* last_step_of(SequenceName name) const noexcept {
    std::uint32_t const index = sequences_[name.value].step;
    return index < steps_.size() ? &steps_[index] : nullptr;
  }
  /// The same while it is open.
  [[nodiscard]] ModelStep const* step_of(SequenceName name) const noexcept;
  Observation commit(SequenceName name);
  /// Success is 0 when the drop was exact, 1 when it lost the state.
  Observation drop(SequenceName name);
  /// An in-place round that goes back to its base appends the kept rows again at once.
  Observation accept(SequenceName name, std::uint32_t keep);
  Observation snapshot(SequenceName name, SnapshotName snapshot);
  Observation drop_snapshot(SnapshotName snapshot);
  Observation rollback(SequenceName name, SnapshotName snapshot);
  Observation fork(SnapshotName snapshot, SequenceName name);
  Observation can_truncate(SequenceName name, std::uint32_t length) const;
  Observation truncate(SequenceName name, std::uint32_t length);
  Observation release(SequenceName name);
  Observation move(SequenceName name) const { return check_live(name); }
  Observation close() const;
  /// A device failure left the sequence tainted; what it holds is not known, but whether that is still
  /// the state that it had.
  void taint(SequenceName name, bool has_state);
  /// The same after a rollback: it has the snapshot's state, which is what it took first.
  void taint_loaded(SequenceName name, SnapshotName snapshot);
  /// An operation failed that would have used so many tokens: they are used up.
  void skip_tokens(std::uint32_t count) noexcept { next_token_ += count; }
  /// Entries may be invisible, as when the device does not say whether their rows are written.
  void doubt_entries() noexcept {
    for (std::uint32_t const live : live_entries_) {
      entries_[live].pending = true;
    }
  }
  Observation capture(SnapshotName snapshot,
                      EntryName entry,
                      std::uint32_t scope,
                      std::uint32_t extra);
  Observation restore(PrefixQuery const& query, SequenceName name, Observation const& got);
  Observation erase(EntryName entry);
  Observation reload(EntryName entry, bool exhausted);
  Observation load_damaged(EntryName entry, Damage damage) const;

  [[nodiscard]] ModelShape const& shape() const noexcept { return shape_; }
  [[nodiscard]] ModelSequence const& sequence(SequenceName name) const noexcept {
    return sequences_[name.value];
  }
  [[nodiscard]] ModelSnapshot const& snapshot_of(SnapshotName name) const noexcept {
    return snapshots_[name.value];
  }
  /// What the name stands for: an entry, under whatever name it was captured first.
  [[nodiscard]] ModelEntry const& entry(EntryName name) const noexcept {
    return entries_[entries_[name.value].first_name];
  }
  [[nodiscard]] bool is_created(EntryName name) const noexcept {
    return entries_[name.value].created;
  }
  /// Where the last restore that hit came from.
  [[nodiscard]] EntryName restored_from() const noexcept { return restored_from_; }
  /// Whether the last restore came from an entry that perhaps was not visible yet.
  [[nodiscard]] bool restored_from_pending() const noexcept { return restored_from_pending_; }
  /// The keys of a prompt.
  [[nodiscard]] std::vector<TokenKey> prompt(PrefixQuery const& query) const;
  /// Payload bytes of an entry in the byte form, as the planes' shapes say.
  [[nodiscard]] std::uint64_t payload_bytes(ModelEntry const& entry) const noexcept {
    return payload_bytes(entry.history, entry.history.watermark);
  }
  [[nodiscard]] History const& history(ModelSequence const& sequence) const noexcept {
    return histories_[sequence.history];
  }
  [[nodiscard]] History const& history(ModelSnapshot const& snapshot) const noexcept {
    return histories_[snapshot.history];
  }
  [[nodiscard]] std::uint32_t position(SequenceName name) const noexcept {
    return static_cast<std::uint32_t>(history(sequence(name)).tokens.size());
  }
  /// What a reference plane needs of a history, for one plane of the shape.
  [[nodiscard]] HistoryView view(History const& history, std::uint32_t plane) const noexcept;
  [[nodiscard]] std::span<std::uint32_t const> live_sequences() const noexcept {
    return live_sequences_;
  }
  [[nodiscard]] std::span<std::uint32_t const> live_snapshots() const noexcept {
    return live_snapshots_;
  }
  /// In the order of their capture.
  [[nodiscard]] std::span<std::uint32_t const> live_entries() const noexcept {
    return live_entries_;
  }
  [[nodiscard]] std::uint32_t next_entry() const noexcept { return next_entry_; }
  [[nodiscard]] std::uint32_t next_sequence() const noexcept { return next_sequence_; }
  [[nodiscard]] std::uint32_t next_snapshot() const noexcept { return next_snapshot_; }
  /// First token that no operation has used.
  [[nodiscard]] Token next_token() const noexcept { return next_token_; }
  /// nullptr when the log is not kept or the token is unknown.
  [[nodiscard]] TokenRecord const* record_of(Token token) const noexcept;

 private:
  [[nodiscard]] Observation check_live(SequenceName name) const noexcept;
  [[nodiscard]] Observation check_at_rest(SequenceName name) const noexcept;
  [[nodiscard]] Observation stale_handle(SequenceName name) const noexcept;
  [[nodiscard]] Observation check_begin(SequenceName name,
                                        bool round,
                                        std::uint32_t rows,
                                        StateMode mode) const noexcept;
  [[nodiscard]] bool step_fits(std::span<StepPart const> items) const noexcept;
  [[nodiscard]] Observation check_step(StepParts const& items) const noexcept;
  [[nodiscard]] Observation check_whole(std::uint32_t step) const noexcept;
  [[nodiscard]] std::size_t open_steps() const noexcept;
  /// Whether an item is still open in its step.
  [[nodiscard]] bool is_in_step(StepPart const& item, std::uint32_t step) const noexcept;
  /// Whether an item's sequence is there, but tainted since.
  [[nodiscard]] bool is_lost(StepPart const& item, std::uint32_t step) const noexcept;
  void write_items(std::uint32_t step, WriteStyle const& style);
  void rewrite_item(StepPart const& item, WriteStyle const& style);
  [[nodiscard]] Observation check_unwritten(std::uint32_t step) const noexcept;
  /// Whether the captured graph may be replayed in a step.
  [[nodiscard]] Observation check_graph(std::uint32_t step) const noexcept;
  void note_captured(std::uint32_t step, WriteStyle const& style);
  Observation end_step(std::uint32_t step, bool dropped);
  /// Whether a handle is open that is no item of a step.
  [[nodiscard]] bool is_open_alone(SequenceName name) const noexcept;
  void write_first(SequenceName name, std::uint32_t rows, WriteStyle const& style);
  [[nodiscard]] std::uint32_t slots_held() const noexcept;
  [[nodiscard]] bool is_state_shared(std::uint32_t history) const noexcept;
  [[nodiscard]] std::uint32_t slots_of(StepPart const& part) const noexcept;
  /// The parts have open rows [first, end) written, but for what the plan leaves out.
  void note_written(SequenceName name,
                    std::uint32_t first,
                    std::uint32_t end,
                    WriteStyle const& style);
  void complete(SequenceName name);
  /// Says what was committed and what is to be appended again.
  void close_round(SequenceName name, std::uint32_t keep, Details::Item& says);
  /// Whether a sequence can start with so many rows of the entry.
  [[nodiscard]] bool is_usable(ModelEntry const& entry, std::uint32_t length) const noexcept;
  /// The first plane with which it cannot.
  [[nodiscard]] char const* refuser_of(ModelEntry const& entry,
                                       std::uint32_t length) const noexcept;
  /// What a look-up says of a hit of so many rows, or of a miss.
  void say_limit(PrefixQuery const& query,
                 std::span<TokenKey const> keys,
                 std::uint32_t length,
                 Details& says) const;
  /// Rows that the prompt and the entry have in common, at most the limit.
  [[nodiscard]] static std::uint32_t common_rows(ModelEntry const& entry,
                                                 std::span<TokenKey const> keys,
                                                 std::uint32_t limit) noexcept;
  [[nodiscard]] std::uint64_t payload_bytes(History const& history,
                                            std::uint32_t watermark) const noexcept;
  /// What a reload says of the entry and of its layout.
  void say_bytes(History const& history, Details& says) const noexcept;
  /// What is said of the handle that was just opened.
  void say_opened(SequenceName name, Details& says) const noexcept;
  [[nodiscard]] Observation missing_rows(OpenHandle const& open, std::uint32_t keep) const noexcept;
  void close_handle(SequenceName name, std::uint32_t keep);
  std::uint32_t take_history();
  void copy_history(std::uint32_t from, std::uint32_t to);
  void log_written(SequenceName name, Token token, std::uint32_t position);
  void log_removed(std::span<Token const> tokens);

  ModelShape shape_;
  std::vector<ModelSequence> sequences_;  // [kNameLimit]
  std::vector<ModelSnapshot> snapshots_;  // [kNameLimit]
  std::vector<ModelEntry> entries_;       // [kNameLimit]
  static constexpr std::uint32_t kNoStep = UINT32_MAX;
  static constexpr std::uint32_t kUnknownStep = UINT32_MAX - 1;
  std::vector<ModelStep> steps_;         // of the program, in order
  std::uint32_t mapped_step_ = kNoStep;  // whose rows the devices have a map of
  std::optional<StepParts> captured_;    // items of the last step that a graph captures
  std::vector<History> histories_;
  std::vector<std::uint32_t> free_histories_;
  std::vector<std::uint32_t> live_sequences_;
  std::vector<std::uint32_t> live_snapshots_;
  std::vector<std::uint32_t> live_entries_;
  std::vector<TokenRecord> log_;
  std::uint32_t next_sequence_ = 0;
  std::uint32_t next_snapshot_ = 0;
  std::uint32_t next_entry_ = 0;
  EntryName restored_from_;
  bool restored_from_pending_ = false;
  Token next_token_ = 1;
  std::uint32_t next_state_ = 1;
  std::uint32_t operation_ = 0;
  bool keeps_log_ = false;
  bool is_asynchronous_ = false;
};

}  // namespace holdfast::model
