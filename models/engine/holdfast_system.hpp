// SPDX-License-Identifier: Apache-2.0
// Holdfast as the system under test: the library's cache, driven by the toy engine.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <holdfast/cache.hpp>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/engine/toy_engine.hpp"
#include "models/fault/fault_device.hpp"
#include "models/system.hpp"

namespace holdfast::model {

/// One cache and the handles of one program.
class HoldfastSystem final : public System, public Visible {
 public:
  /// Throws InputError when the layout is refused.
  HoldfastSystem(Layout const& layout, std::span<Device* const> devices, ToyEngine& engine);

  Observation create(SequenceName name) override;
  Observation begin(SequenceName name,
                    bool round,
                    std::uint32_t rows,
                    std::uint32_t written,
                    Token token,
                    WriteStyle style) override;
  Observation rewrite(SequenceName name,
                      std::uint32_t first,
                      std::uint32_t count,
                      Token token,
                      WriteStyle style) override;
  Observation step(StepParts const& items, WriteStyle style, StepFate fate) override;
  Observation begin_step(StepParts const& items) override;
  Observation write_step(SequenceName name, WriteStyle style) override;
  Observation finish_step(SequenceName name) override;
  Observation drop_step(SequenceName name, HandleEnd how) override;
  Observation fill(SequenceName name, bool view) override;
  Observation commit(SequenceName name) override;
  Observation drop(SequenceName name, HandleEnd how) override;
  Observation accept(SequenceName name, std::uint32_t keep) override;
  Observation snapshot(SequenceName name, SnapshotName snapshot) override;
  Observation drop_snapshot(SnapshotName snapshot) override;
  Observation rollback(SequenceName name, SnapshotName snapshot) override;
  Observation fork(SnapshotName snapshot, SequenceName name) override;
  Observation can_truncate(SequenceName name, std::uint32_t length) override;
  Observation truncate(SequenceName name, std::uint32_t length) override;
  Observation release(SequenceName name, HandleEnd how) override;
  Observation move(SequenceName name) override;
  Observation close() override;
  Observation capture(SnapshotName snapshot,
                      EntryName entry,
                      std::uint32_t scope,
                      std::uint32_t extra) override;
  Observation restore(PrefixQuery const& query, SequenceName name) override;
  Observation erase(EntryName entry) override;
  Observation reload(EntryName entry, std::optional<Stream> via) override;
  Observation load_damaged(EntryName entry, Damage damage, std::uint32_t at) override;
  Observation use_stream(Stream stream) override;
  Observation sync() override;
  Observation delay(Stream stream, std::uint32_t device) override;
  Observation fault(FaultPlan const& plan) override;
  Observation heal() override;

  [[nodiscard]] Visible const& visible() const noexcept override { return *this; }
  [[nodiscard]] HoldfastSystem* internals() noexcept override { return this; }
  [[nodiscard]] SequenceLook sequence(SequenceName name) const noexcept override;
  [[nodiscard]] PlaneLook plane(Label holder, std::uint32_t plane) const noexcept override;
  [[nodiscard]] bool read_rows(Label holder,
                               RowsWanted const& wanted,
                               std::span<float> out) const noexcept override;
  [[nodiscard]] bool read_state(Label holder,
                                std::uint32_t rank,
                                std::span<float> out) const noexcept override;
  [[nodiscard]] bool was_restored_from(EntryName entry) const noexcept override {
    return restored_from_ == id(entry);
  }

  /// Where prompts are read from; needed before the first capture, as an engine knows its tokens.
  void read_prompts_of(Model const& model) noexcept { prompts_ = &model; }
  /// What plans go to; without it nothing ever fails.
  void fail_with(FaultSwitch& faults) noexcept { faults_ = &faults; }
  /// What delays a stream of a device; without it nothing is ever late.
  void delay_with(std::function<void(Stream stream, std::uint32_t device)> delay) {
    delay_ = std::move(delay);
  }
  /// Sequences that the last operation gave up on when a device call failed in its middle: each is
  /// tainted, or at rest where it was, and is to be released.
  [[nodiscard]] std::span<SequenceName const> given_up() const noexcept { return given_up_; }
  /// Drops what is open on a sequence, and gives up on it.
  void let_go(SequenceName name) { let_go(name, stream_); }
  void let_go(SequenceName name, Stream stream);
  void clear_given_up() noexcept {
    given_up_.clear();
    last_stream_.reset();
  }
  /// The stream of the last call on what an operation left at rest: that of all calls, unless a handle was
  /// destroyed.
  [[nodiscard]] Stream last_stream() const noexcept { return last_stream_.value_or(stream_); }
  /// Rows of a sequence that were committed, as its engine knows.
  [[nodiscard]] std::size_t rows_of(SequenceName name) const noexcept {
    return name.value < sequences_.size() ? sequences_[name.value].history.size() : 0;
  }
  /// Whether an entry is there.
  [[nodiscard]] bool has_entry(EntryName name) const noexcept {
    return static_cast<bool>(cache_.entry_bytes(entries_[name.value]));
  }
  /// Called in the middle of a step, when its rows are written and nothing is decided yet.
  void set_observer(std::function<void()> observer) { observer_ = std::move(observer); }
  /// Steps that are given up, or that a sequence leaves, are written whole every other time: no
  /// operation says so, and the rows are the same.
  void vary_writes() noexcept { varies_writes_ = true; }
  [[nodiscard]] Inspection inspect() const noexcept { return cache_.inspect(); }
  /// Index and generation behind a name; {0, 0} when it was never created.
  [[nodiscard]] HandleId id(SequenceName name) const noexcept {
    return name.value < sequences_.size() ? sequences_[name.value].sequence.id() : HandleId{};
  }
  [[nodiscard]] HandleId id(SnapshotName name) const noexcept {
    return name.value < snapshots_.size() ? snapshots_[name.value].snapshot.id() : HandleId{};
  }
  [[nodiscard]] EntryId id(EntryName name) const noexcept { return entries_[name.value]; }
  /// A name's holder, as the inspection names it.
  [[nodiscard]] Holder holder(Label name) const noexcept {
    switch (name.prefix) {
      case 's':
        return {HolderKind::kSequence, id(SequenceName{name.value}).index};
      case 'h':
        return {HolderKind::kSnapshot, id(SnapshotName{name.value}).index};
      default:
        return {HolderKind::kSnapshot, id(EntryName{name.value}).index};
    }
  }
  /// The cache itself, for what no operation does.
  [[nodiscard]] Cache& cache() noexcept { return cache_; }
  /// Size of an entry, as the library says it.
  [[nodiscard]] EntryBytes bytes(EntryName name) const noexcept;
  /// The cache stays open.
  void drop_all() override;

 private:
  /// Under which name an entry was captured first; nothing for what no name stands for.
  [[nodiscard]] std::optional<EntryName> first_name_of(EntryId entry) const noexcept;
  /// Writes the entry as bytes, and says how many there are of it.
  [[nodiscard]] Status write_bytes(EntryName entry, Details& says);
  [[nodiscard]] Status ask_layout(std::uint32_t rows, Details& says) const;
  /// A step, and what its engine knows of it.
  struct OpenStep {
    std::optional<Step> handle;  // as long as it is the engine's
    StepParts items;
    std::array<std::uint32_t, kStepItemLimit> positions{};
    std::array<std::uint32_t, kStepItemLimit> sequences{};  // in the devices' maps; 0: padding
    std::array<Stream, kStepItemLimit> streams{};  // of the last call on each item's sequence
    Stream begun_in;
    WritePlan plan;  // of the write that left some out
    bool is_written = false;
  };
  /// The step of a name; nullptr when it never was in one, or when the engine let go of it.
  [[nodiscard]] OpenStep* step_of(SequenceName name);
  [[nodiscard]] Status check_open(OpenStep& step) const;
  /// Success says which items could be dropped as if they had never been.
  [[nodiscard]] Observation open_step(OpenStep& step, StepParts const& items);
  [[nodiscard]] Status write_items(OpenStep& step, WriteStyle style);
  [[nodiscard]] Status write_item(OpenStep& step, std::uint32_t item, WriteStyle style);
  [[nodiscard]] Status write_whole(OpenStep& step, WriteStyle style);
  /// Declares that the captured graph runs in a step; what it writes the engine writes through views.
  [[nodiscard]] Status replay(OpenStep& step, WriteStyle& style);
  [[nodiscard]] Status capture_graph(OpenStep& step);
  /// Makes the mistakes of a step's plan that are about no part.
  [[nodiscard]] Status err_step(OpenStep& step, WriteStyle const& style);
  /// What the items lack for what is kept of them is written.
  [[nodiscard]] Status fill_step(OpenStep& step, WriteStyle style);
  [[nodiscard]] bool lacks_rows(OpenStep const& step, std::uint32_t item, std::uint32_t rows) const;
  [[nodiscard]] Status finish(OpenStep& step, std::span<Accepted> accepted);
  /// Takes over what was kept, and appends what is to be appended again.
  [[nodiscard]] Observation keep_items(OpenStep& step,
                                       std::span<Accepted const> accepted,
                                       Observation answer);
  [[nodiscard]] Observation drop(OpenStep& step, HandleEnd how, Observation const& answer);
  Observation give_up(OpenStep& step, Status const& status);
  /// Whether the item's sequence is still there, and as it was.
  [[nodiscard]] bool is_there(StepPart const& item) const;
  [[nodiscard]] bool are_all_there(StepParts const& items) const;
  /// Whether the step's arrays on all devices name the sequence of every row, and 0 for padding.
  [[nodiscard]] Status names_rows(OpenStep const& step) const;
  [[nodiscard]] Status names_rows(OpenStep const& step, std::uint32_t device) const;
  [[nodiscard]] Status append_again(SequenceName name,
                                    std::uint32_t position,
                                    std::span<Token const> tokens);
  void observe_middle() const;
  /// Whether no device failed while a handle was destroyed.
  [[nodiscard]] bool was_destroyed() const;
  void note_kept(SequenceName name, std::span<Token const> tokens);
  [[nodiscard]] bool is_tainted(SequenceName name) const noexcept {
    return inspect().sequence(id(name).index).tainted;
  }
  /// Work goes there as well, and sync() waits for it.
  void note_stream(Stream stream);
  void note_via(WritePlan const& plan);
  /// Waits on all devices.
  [[nodiscard]] Status wait_for(Stream stream);
  /// Answers for a sequence whose operation is at its end: one that is tainted has no handle any more;
  /// one whose handle stays open goes on when the call's stream is done.
  Observation fail(SequenceName name, Status const& status);
  /// Answers for one whose operation failed in the middle: drops what is open, and gives up on it
  /// when a device call failed.
  Observation give_up(SequenceName name, Status const& status);

  struct Named {
    Sequence sequence;
    std::optional<Append> append;
    std::optional<Round> round;
    std::uint32_t position = 0;  // of the open handle's first row
    std::vector<Token> tokens;   // of its rows that are written
    std::uint32_t rows = 0;      // that are open
    Token token = 0;             // of the first
    WritePlan plan;              // that left some out
    StateMode mode = StateMode::kFresh;
    Stream stream;                   // of the open handle
    bool failed_elsewhere = false;   // a call on the handle did, in another stream
    std::vector<Token> history;      // committed
    std::shared_ptr<OpenStep> step;  // the last that it was an item of
  };

  struct Held {
    Snapshot snapshot;
    std::vector<Token> history;
  };

  /// What is kept of a name; references stay valid. Most programs have few.
  [[nodiscard]] Named& kept(SequenceName name) {
    sequences_.resize(std::max(sequences_.size(), std::size_t{name.value} + 1));
    return sequences_[name.value];
  }
  [[nodiscard]] Held& kept(SnapshotName name) {
    snapshots_.resize(std::max(snapshots_.size(), std::size_t{name.value} + 1));
    return snapshots_[name.value];
  }

  Layout layout_;
  std::vector<Named> sequences_;            // of the names so far; room for kNameLimit
  std::vector<Held> snapshots_;             // likewise
  std::vector<EntryId> entries_;            // [kNameLimit]
  std::vector<std::uint32_t> first_names_;  // [kNameLimit], under which entries were captured first
  std::vector<std::byte> bytes_;            // of one entry
  EntryId restored_from_;
  std::function<void()> observer_;
  bool varies_writes_ = false;
  FaultSwitch* faults_ = nullptr;
  std::function<void(Stream stream, std::uint32_t device)> delay_;
  std::vector<SequenceName> given_up_;
  std::optional<Stream> last_stream_;  // of the last operation, if not stream_
  Model const* prompts_ = nullptr;
  OpenStep const* mapped_ = nullptr;  // the step that was begun last
  struct Graph {
    GraphSignature signature;
    StepParts items;
  };
  std::optional<Graph> graph_;             // the last that was captured
  Stream stream_;                          // of the calls that follow
  std::vector<Stream> streams_{Stream{}};  // that work went to
  std::vector<Device*> devices_;
  ToyEngine& engine_;
  Cache cache_;
};

}  // namespace holdfast::model
