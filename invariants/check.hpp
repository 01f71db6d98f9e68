// SPDX-License-Identifier: Apache-2.0
// What an invariant sees: the system as anyone sees it, the reference model, and what the last
// operation did; of the library its read-only window, too. An invariant changes nothing, and says what
// it needs: one whose needs a system lacks is not judged there.
#pragma once

#include <cstdint>
#include <holdfast/inspect.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/engine/holdfast_system.hpp"
#include "models/ops/op_list.hpp"
#include "models/recorder/cost_device.hpp"
#include "models/recorder/free_storage.hpp"
#include "models/recorder/rank_device.hpp"
#include "models/reference/model.hpp"
#include "models/sim/sim_device.hpp"
#include "models/systems.hpp"
#include "models/visible.hpp"

namespace holdfast::invariant {

using model::label;
using model::Label;

/// One broken statement, with the values that show it.
struct Violation {
  char const* id = "";         // invariant
  char const* plane = "";      // plane name, "" when it is not about one
  std::int64_t layer = -1;     // model layer
  std::int64_t position = -1;  // token position (of a pool key: of its first row)
  std::string holder;          // "s0", "h2"
  std::string text;            // what was found against what must be
};

/// A plane class of the library, tied to the model's planes; of a system without internals one plane of
/// the model, or all states, with nothing in `info` that has to do with pages.
struct PlaneBinding {
  PlaneInfo info;
  std::uint32_t index = 0;                           // of Visible, and in the inspection
  std::uint64_t arena_bytes = 0;                     // on one rank
  std::vector<std::byte const*> bases;               // of the arena, by rank
  std::vector<std::uint32_t> model_planes;           // by layer index; empty for recurrent planes
  model::ReferencePlane const* reference = nullptr;  // nullptr for recurrent planes
  /// Whether its length is a watermark that may lag behind the sequence.
  [[nodiscard]] bool is_draft() const noexcept { return rule_of(info.kind) == PlaneRule::kDraft; }
  /// Its meaning, when only the last rows stay; else nullptr.
  [[nodiscard]] model::ReferenceWindow const* window() const noexcept {
    return reference == nullptr ? nullptr : reference->window;
  }
  /// Rows that a holder with `length` rows is sure of: of a windowed plane those that this length needs.
  [[nodiscard]] model::RowRange needed_rows(model::ModelShape const& shape,
                                            std::uint32_t length) const noexcept {
    return {window() == nullptr
                ? 0
                : window()->first_needed(shape.planes[model_planes.front()], length),
            units(length)};
  }
  /// Page in the order of rows, and the table entry where it lies.
  [[nodiscard]] std::uint32_t entry_of_row(std::uint32_t row) const noexcept {
    return (info.ring_rows == 0 ? row : row % info.ring_rows) / info.page_rows;
  }
  /// Rows that the plane must have of a history.
  [[nodiscard]] std::uint32_t rows_of(model::History const& history) const noexcept {
    return is_draft() ? history.watermark
                      : units(static_cast<std::uint32_t>(history.tokens.size()));
  }
  /// Rows of the plane for so many tokens, when it does not lag.
  [[nodiscard]] std::uint32_t units(std::uint32_t tokens) const noexcept {
    return tokens / info.unit_tokens;
  }
  /// Rows from the watermark `length` on that a handle of `rows` rows takes from a draft plane.
  [[nodiscard]] static std::uint32_t draft_rows(model::ModelShape const& shape,
                                                std::uint32_t length,
                                                std::uint32_t position,
                                                std::uint32_t rows) noexcept {
    std::uint32_t const behind = position - length;
    std::uint32_t const lag = shape.draft_lag();
    return rows == 0 ? 0 : rows + (behind < lag ? behind : lag);
  }
};

/// State of the operation's sequence before the operation.
struct Before {
  bool live = false;               // for the model
  SequenceInfo sequence;           // of the record that its id names, whoever has it now
  std::vector<PlaneState> planes;  // by plane
  std::vector<std::vector<std::uint32_t>>
      pages;  // by plane: the last page; where rows wrap around, all
};

/// Rows of one page, or a state slot, that the last operation wrote.
struct Place {
  PlaneBinding const* plane = nullptr;
  std::uint32_t page = 0;       // or state slot
  std::uint32_t first_row = 0;  // of the page
  std::uint32_t last_row = 0;   // one past
  // In the table of the operation's sequence, from the page on that may be written:
  std::uint32_t entry = UINT32_MAX;  // UINT32_MAX: the page is not there
  bool alone = false;                // nobody else holds the page or its chunk
  bool open = false;                 // a state slot that only the open handle held when it wrote
  bool gone = false;                 // free before or its own, and given back in the operation
};

/// Everything a check may read.
struct Check {
  model::Visible const& visible;
  model::HoldfastSystem const* internals;  // nullptr for a system that has none
  Inspection inspection;                   // of internals only
  std::span<PlaneBinding const> planes;
  model::Model const& model;
  std::span<Place const> places;                   // that the last operation wrote, each page once
  std::span<model::ByteRange const> poison_reads;  // of the operation
  std::span<std::unique_ptr<model::RankDevice> const> rank_devices;  // when there are several
  std::span<model::FreeCounts const> free_before{};  // by plane, before the operation
  // Of the operation's sequence, by plane; valid when it is live. Lengths and what is resident always,
  // the rest of internals only.
  std::span<PlaneState const> now;
  Before const& before;
  model::AnyOp const* op = nullptr;
  std::uint32_t op_index = 0;
  model::Observation want;
  model::Observation got;
  std::optional<model::SequenceName> subject;   // the operation's sequence
  std::optional<model::SnapshotName> snapshot;  // the operation's snapshot
  std::optional<model::EntryName> entry;        // the operation's prefix entry, if it is alive
  std::uint32_t touched_first = 0;              // committed rows that the operation touched
  std::uint32_t touched_last = 0;
  model::SimWorld const* sim = nullptr;  // of simulated devices
  model::Cost const* cost =
      nullptr;  // of the library's calls in the operation, on simulated devices
  std::byte const* undeclared = nullptr;  // that was written, though nobody declared to
  std::uint32_t failed_calls = 0;         // device calls that failed in the operation
  bool left_unknown = false;              // they left a sequence tainted, or given up and released
  bool settled = true;                    // no work is pending, so that memory is what it will be
  bool touched = false;  // the subject is live, at rest, and was changed by the operation
  bool drained = false;  // the program is over and every handle is gone

  /// Holder of a name, as the inspection names it.
  [[nodiscard]] Holder holder(model::SequenceName name) const noexcept {
    return {HolderKind::kSequence, internals->id(name).index};
  }
  [[nodiscard]] Holder holder(Label name) const noexcept { return internals->holder(name); }
};

/// What is known of a sequence, of internals or as it is visible.
[[nodiscard]] SequenceInfo info_of(Check const& check, model::SequenceName name);
/// What is known of one plane of a holder, likewise.
[[nodiscard]] PlaneState state_of(Check const& check, Label name, std::uint32_t plane);
/// The same of all planes; `out` [check.planes].
void states_of(Check const& check, Label name, std::span<PlaneState> out);

/// Collects the violations of one step.
class Report {
 public:
  void add(Violation violation) { violations_.push_back(std::move(violation)); }
  [[nodiscard]] bool is_clean() const noexcept { return violations_.empty(); }
  [[nodiscard]] std::vector<Violation> const& violations() const noexcept { return violations_; }
  void clear() noexcept { violations_.clear(); }

 private:
  std::vector<Violation> violations_;
};

/// One invariant.
struct Invariant {
  char const* id;
  char const* area;
  char const* statement;
  model::Facets needs;  ///< without all of them it is not judged
  model::Facets more;   ///< facets that it looks at as well, where there are any
  /// After every operation: O(planes + rows touched). nullptr for none.
  void (*cheap)(Check const& check, Report& report);
  /// Every 32nd operation and at the end: O(everything). nullptr for none.
  void (*deep)(Check const& check, Report& report);
};

/// OWNER, for who must be judged in the middle of an operation: a sequence that is released in it.
void check_owner(Check const& check, Report& report);

/// What is compared with the model: nothing while work is pending, unless somebody insists that it
/// is done.
enum class When : std::uint8_t { kSettled, kNow };

/// Compares rows [first, last) of one plane on every rank, in its own unit, for one holder against
/// the model; adds at most one violation under `id`, and one under FIRST when it is poison that is
/// there. False when there was one.
bool check_rows(Check const& check,
                Report& report,
                char const* id,
                PlaneBinding const& plane,
                Label name,
                model::History const& history,
                model::RowRange rows,
                When when = When::kSettled);

/// check_rows for the rows that the operation touched, on every plane that `is_mine` names.
void check_touched_rows(Check const& check,
                        Report& report,
                        char const* id,
                        bool (*is_mine)(PlaneBinding const& plane) noexcept);

/// check_rows for all rows of all live sequences, likewise.
void check_all_rows(Check const& check,
                    Report& report,
                    char const* id,
                    bool (*is_mine)(PlaneBinding const& plane) noexcept);

/// Compares the recurrent state of a holder on every rank against the model, likewise.
bool check_state(Check const& check,
                 Report& report,
                 char const* id,
                 Label name,
                 model::History const& history,
                 When when = When::kSettled);

/// Says whose row it is: the operation that wrote the token, and the one that should have removed
/// it. Token 0 is that of no row.
std::string describe_token(model::Model const& model, model::Token token);

/// First model layer of a plane; -1 when it is about none in particular.
[[nodiscard]] inline std::int64_t layer_of(PlaneBinding const& plane) {
  return plane.info.layers.empty() ? -1 : std::int64_t{plane.info.layers.front()};
}

/// Pages that so many rows of a plane take.
[[nodiscard]] inline std::uint32_t pages_for(PlaneBinding const& plane,
                                             std::uint32_t rows) noexcept {
  return (rows + plane.info.page_rows - 1) / plane.info.page_rows;
}

/// Whose row makes the difference between the length that a plane reports and the one that it must
/// have: the first stale row that it still counts, or the first row that it lacks. Starts with ";
/// ".
std::string describe_length(Check const& check,
                            PlaneBinding const& plane,
                            Label name,
                            model::History const& history,
                            std::uint32_t found,
                            std::uint32_t must);

/// "s3", "h3".
std::string name_of(model::SequenceName name);
std::string name_of(model::SnapshotName name);

/// Adds the place of a written range to `places`; ranges outside the planes' arenas are left out.
void add_place(std::span<PlaneBinding const> planes,
               model::ByteRange const& range,
               std::vector<Place>& places);

/// Calls `visit(name, history)` for each live sequence; `visit(label, history)` for each prefix entry; or
/// for everything that is held unchanged: snapshots and prefix entries.
template <typename Visit>
void for_each_sequence(Check const& check, Visit visit) {
  for (std::uint32_t const value : check.model.live_sequences()) {
    model::SequenceName const name{value};
    visit(name, check.model.history(check.model.sequence(name)));
  }
}
template <typename Visit>
void for_each_entry(Check const& check, Visit visit) {
  for (std::uint32_t const value : check.model.live_entries()) {
    model::EntryName const name{value};
    visit(label(name), check.model.entry(name).history);
  }
}
template <typename Visit>
void for_each_held(Check const& check, Visit visit) {
  for (std::uint32_t const value : check.model.live_snapshots()) {
    model::SnapshotName const name{value};
    visit(label(name), check.model.history(check.model.snapshot_of(name)));
  }
  for_each_entry(check, visit);
}

}  // namespace holdfast::invariant
