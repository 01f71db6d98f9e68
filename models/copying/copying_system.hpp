// SPDX-License-Identifier: Apache-2.0
// The copying system: what a cache means, with nothing that makes it fast. Every sequence, snapshot and
// entry has its rows and states by value; an open handle works on a copy of its sequence. Whatever
// meaning allows succeeds: only the counts of the layout are limits.
//
// It is the template for systems other than the library: operations, a look, and no internals.
#pragma once

#include <holdfast/layout.hpp>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/copying/copy.hpp"
#include "models/system.hpp"

namespace holdfast::model::copying {

[[nodiscard]] inline Observation ok(std::uint32_t value = 0) {
  return Observation::success(value);
}
[[nodiscard]] inline Observation no(ErrorCode code) {
  return Observation::failure(code);
}

/// The sequences, snapshots and entries of one program. Devices, streams and faults are nothing to it.
class CopyingSystem : public System, public Visible {
 public:
  /// The model says the layout's shape, and the tokens of prompts; it must outlive the system.
  explicit CopyingSystem(Model const& model);

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
  Observation capture(SnapshotName snapshot,
                      EntryName entry,
                      std::uint32_t scope,
                      std::uint32_t extra) override;
  Observation restore(PrefixQuery const& query, SequenceName name) override;
  Observation erase(EntryName entry) override;
  Observation reload(EntryName entry, std::optional<Stream> via) override;
  Observation load_damaged(EntryName entry, Damage damage, std::uint32_t at) override;
  Observation use_stream(Stream /*stream*/) override { return Observation::success(0); }
  Observation sync() override { return Observation::success(0); }
  Observation delay(Stream /*stream*/, std::uint32_t /*device*/) override {
    return Observation::success(0);
  }
  Observation fault(FaultPlan const& /*plan*/) override { return Observation::success(0); }
  Observation heal() override { return Observation::success(0); }
  Observation close() override;
  void drop_all() override;

  [[nodiscard]] Visible const& visible() const noexcept override { return *this; }
  [[nodiscard]] SequenceLook sequence(SequenceName name) const noexcept override;
  [[nodiscard]] PlaneLook plane(Label holder, std::uint32_t plane) const noexcept override;
  [[nodiscard]] bool read_rows(Label holder,
                               RowsWanted const& wanted,
                               std::span<float> out) const noexcept override;
  [[nodiscard]] bool read_state(Label holder,
                                std::uint32_t rank,
                                std::span<float> out) const noexcept override;
  [[nodiscard]] bool was_restored_from(EntryName entry) const noexcept override {
    return restored_from_ == entries_[entry.value].first_name;
  }

 private:
  /// An append or a round.
  struct Handle {
    bool round = false;
    bool in_step = false;  // and ends with it
    std::uint32_t rows = 0;
    std::uint32_t written = 0;
    std::uint32_t complete = 0;               // rows of which nothing is left out
    bool lacks_state = false;                 // a state is what was left out
    Token token = 0;                          // of row 0
    std::uint32_t draft_rows = 0;             // that draft planes may take, from the watermark on
    std::uint32_t drafted = 0;                // that they have taken
    Copy work;                                // with the rows that are written
    std::vector<std::vector<float>> columns;  // [1 + written]: the state after so many rows
  };
  struct Named {
    bool live = false;
    Copy copy;
    std::optional<Handle> open;
    std::optional<SnapshotName> shares;  // of a seeded bug: whose rows it writes as well
  };
  struct OpenStep {
    StepParts items;
    bool open = false;
    bool is_written = false;
  };
  struct Held {
    bool live = false;
    Copy copy;
  };
  struct Entry {
    bool live = false;
    std::uint32_t first_name = 0;
    std::uint32_t scope = 0;
    std::vector<TokenKey> keys;  // of its tokens
    Copy copy;
  };

  [[nodiscard]] Observation check_at_rest(SequenceName name) const noexcept;
  [[nodiscard]] Observation check_begin(SequenceName name,
                                        bool round,
                                        std::uint32_t rows,
                                        StateMode mode) const noexcept;
  [[nodiscard]] Observation check_step(StepParts const& items) const noexcept;
  [[nodiscard]] Observation open_items(OpenStep& step);
  [[nodiscard]] bool is_there(StepPart const& item) const noexcept;
  [[nodiscard]] OpenStep* step_of(SequenceName name) const noexcept;
  void write_items(OpenStep& step, WriteStyle const& style);
  Observation end_items(OpenStep& step, bool dropped);
  [[nodiscard]] static bool is_open_alone(Named const& named) noexcept {
    return named.live && named.open && !named.open->in_step;
  }
  [[nodiscard]] bool has_room() const noexcept;  // for one more sequence
  void write_first(Named& named, std::uint32_t rows, WriteStyle const& style);
  /// Writes open rows [first, first + count).
  void write(Named& named, std::uint32_t first, std::uint32_t count, Token token);
  void close_handle(Named& named, std::uint32_t keep);
  void start(SequenceName name, Copy copy);
  [[nodiscard]] bool is_usable(Copy const& copy, std::uint32_t length) const noexcept;
  [[nodiscard]] Copy const& copy_of(Label holder) const noexcept;
  /// Rows of the first draft plane; all draft planes have as many.
  [[nodiscard]] std::uint32_t watermark_of(Copy const& copy) const noexcept;

  Model const& model_;
  ModelShape const& shape_;
  std::vector<Named> sequences_;                  // [kNameLimit]
  std::vector<Held> snapshots_;                   // [kNameLimit]
  std::vector<Entry> entries_;                    // [kNameLimit]
  std::vector<std::shared_ptr<OpenStep>> steps_;  // [kNameLimit], the last that a name was in
  std::shared_ptr<OpenStep> mapped_;              // that was begun last
  std::optional<StepParts> captured_;             // items of the last that a graph captures
  std::vector<std::uint32_t> order_;              // live entries, the oldest first
  std::uint32_t restored_from_ = UINT32_MAX;
};

}  // namespace holdfast::model::copying
