// SPDX-License-Identifier: Apache-2.0
// The system under test: what operations call, what anyone can see of it, and whether it has
// internals to look at. models/systems.hpp lists those that there are.
#pragma once

#include <cstdint>
#include <optional>

#include "models/fault/fault_plan.hpp"
#include "models/observation.hpp"
#include "models/visible.hpp"
#include "models/write_style.hpp"

namespace holdfast::model {

class HoldfastSystem;

/// What becomes of a step whose rows are on their way.
struct StepFate {
  bool dropped = false;                 // whole, in place of being finished
  bool destroyed = false;               // by destroying its handle
  std::uint32_t released = UINT32_MAX;  // the item whose sequence is released before that
  Stream released_in;
};

/// One call an operation. Names are those of the program; a name that was never created answers
/// kStale.
class System {
 public:
  System() = default;
  System(System const&) = delete;
  System& operator=(System const&) = delete;
  virtual ~System() = default;

  virtual Observation create(SequenceName name) = 0;
  /// Opens an append or a round and writes its first `written` rows, tokens from `token` on, but for what
  /// the style's plan leaves out.
  virtual Observation begin(SequenceName name,
                            bool round,
                            std::uint32_t rows,
                            std::uint32_t written,
                            Token token,
                            WriteStyle style) = 0;
  virtual Observation rewrite(SequenceName name,
                              std::uint32_t first,
                              std::uint32_t count,
                              Token token,
                              WriteStyle style) = 0;
  /// Begins a step, writes its rows, and ends it as its fate says; what it lacks for that is written when
  /// the end was refused. Success counts the rows that were kept.
  virtual Observation step(StepParts const& items, WriteStyle style, StepFate fate) = 0;
  /// Opens a step and writes nothing of it. It is named by any sequence that it has or had.
  virtual Observation begin_step(StepParts const& items) = 0;
  /// Writes all rows of the items that are still there; of a step that is written what it lacks, and
  /// its rounds again.
  virtual Observation write_step(SequenceName name, WriteStyle style) = 0;
  /// Keeps what the items say. Success counts the rows that were kept.
  virtual Observation finish_step(SequenceName name) = 0;
  virtual Observation drop_step(SequenceName name, HandleEnd how) = 0;
  /// Writes what an open append lacks, through views where a plane has them. Success says its rows.
  virtual Observation fill(SequenceName name, bool view) = 0;
  virtual Observation commit(SequenceName name) = 0;
  /// Success is 0 when the drop was exact, 1 when it lost the state.
  virtual Observation drop(SequenceName name, HandleEnd how) = 0;
  /// Rows that the round advises to append again are appended at once.
  virtual Observation accept(SequenceName name, std::uint32_t keep) = 0;
  virtual Observation snapshot(SequenceName name, SnapshotName snapshot) = 0;
  virtual Observation drop_snapshot(SnapshotName snapshot) = 0;
  virtual Observation rollback(SequenceName name, SnapshotName snapshot) = 0;
  virtual Observation fork(SnapshotName snapshot, SequenceName name) = 0;
  virtual Observation can_truncate(SequenceName name, std::uint32_t length) = 0;
  virtual Observation truncate(SequenceName name, std::uint32_t length) = 0;
  virtual Observation release(SequenceName name, HandleEnd how) = 0;
  /// Moves every handle of a name to another place, and goes on with it there.
  virtual Observation move(SequenceName name) = 0;
  /// Publishes a snapshot under its tokens and `extra` more, which is wrong. Success says under which
  /// name the entry was captured first.
  virtual Observation capture(SnapshotName snapshot,
                              EntryName entry,
                              std::uint32_t scope,
                              std::uint32_t extra) = 0;
  /// Starts a sequence from the longest usable prefix. Success says how many rows it has.
  virtual Observation restore(PrefixQuery const& query, SequenceName name) = 0;
  virtual Observation erase(EntryName entry) = 0;
  /// Turns an entry into bytes, erases it, and loads the bytes; those by another stream when it has a
  /// name.
  virtual Observation reload(EntryName entry, std::optional<Stream> via) = 0;
  /// Loads an entry's bytes with something wrong about them.
  virtual Observation load_damaged(EntryName entry, Damage damage, std::uint32_t at) = 0;
  /// The calls that follow enqueue their work there.
  virtual Observation use_stream(Stream stream) = 0;
  /// Waits for all work of all streams.
  virtual Observation sync() = 0;
  /// What is enqueued in a stream of one device does not run by itself; nothing where it runs at once.
  virtual Observation delay(Stream stream, std::uint32_t device) = 0;
  /// From now on device calls fail as the plan says, and no longer as one before said.
  virtual Observation fault(FaultPlan const& plan) = 0;
  /// Every device call works again.
  virtual Observation heal() = 0;
  /// Tries to close the cache while it may have live handles; a program goes on only after kBusy.
  virtual Observation close() = 0;

  /// Drops every handle and entry, for the end of a program.
  virtual void drop_all() = 0;
  /// What anyone can see of it.
  [[nodiscard]] virtual Visible const& visible() const noexcept = 0;
  /// The library's own system, which has more to look at; nullptr for every other.
  [[nodiscard]] virtual HoldfastSystem* internals() noexcept { return nullptr; }
};

}  // namespace holdfast::model
