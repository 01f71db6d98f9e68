// SPDX-License-Identifier: Apache-2.0
// Abstract states, from the model and the library's inspection.
#include "models/lineage/abstract_state.hpp"

#include <algorithm>

namespace holdfast::model {
namespace {

constexpr char const* kLives[] = {"nothing",
                                  "gone",
                                  "at rest",
                                  "tainted",
                                  "append open",
                                  "append open in place",
                                  "round open",
                                  "round open in place",
                                  "round open rescan",
                                  "snapshot",
                                  "snapshot gone",
                                  "entry",
                                  "entry gone"};
static_assert(std::size(kLives) == kLifeCount);
constexpr char const* kEdges[] = {"empty", "page edge", "pool edge", "inside a pool"};
static_assert(std::size(kEdges) == kEdgeCount);

Life life_of(ModelSequence const& sequence) {
  if (!sequence.live) {
    return Life::kGone;
  }
  if (sequence.tainted) {
    return Life::kTainted;
  }
  if (!sequence.open.open) {
    return Life::kAtRest;
  }
  bool const in_place = sequence.open.mode == StateMode::kInPlace;
  if (!sequence.open.round) {
    return in_place ? Life::kAppendInPlace : Life::kAppend;
  }
  return in_place                                   ? Life::kRoundInPlace
         : sequence.open.mode == StateMode::kRescan ? Life::kRoundRescan
                                                    : Life::kRound;
}

Edge edge_of(ModelShape const& shape, std::uint32_t length) {
  if (length == 0) {
    return Edge::kEmpty;
  }
  if (length % shape.page_rows == 0) {
    return Edge::kPageEdge;
  }
  std::uint32_t const pool = shape.windows.empty() ? 1 : shape.windows.front().plane.window_rows;
  return length % pool == 0 ? Edge::kPoolEdge : Edge::kInside;
}

Lap lap_of(ModelShape const& shape, History const& history) {
  if (shape.windows.empty()) {
    return Lap::kFirst;
  }
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  std::uint32_t const rows = shape.windows.front().plane.kept_rows;
  std::uint32_t const first = length > rows ? length - rows : 0;
  if (history.lo[0] > first) {
    return Lap::kShort;
  }
  return length > rows ? Lap::kLater : Lap::kFirst;
}

void note_history(Model const& model, History const& history, AbstractState& state) {
  auto const length = static_cast<std::uint32_t>(history.tokens.size());
  state.edge = edge_of(model.shape(), length);
  state.lap = lap_of(model.shape(), history);
  state.drafts_lag = model.shape().has_draft() && history.watermark < length;
}

/// Where other histories stand that share all their tokens with this one, or the other way round.
/// Tokens are unique in a program, so that the last common one decides.
void note_others(Model const& model, History const& own, AbstractState& state) {
  auto const note = [&](History const& other) {
    if (&other == &own) {
      return;
    }
    std::size_t const common = std::min(own.tokens.size(), other.tokens.size());
    if (common != 0 && own.tokens[common - 1] != other.tokens[common - 1]) {
      return;
    }
    bool const is_ahead = other.tokens.size() > own.tokens.size();
    state.others = std::max(state.others, is_ahead ? Others::kAhead : Others::kBehind);
  };
  for (std::uint32_t const value : model.live_snapshots()) {
    note(model.history(model.snapshot_of({value})));
  }
  for (std::uint32_t const value : model.live_entries()) {
    note(model.entry({value}).history);
  }
}

void note_sharing(HoldfastSystem const* system, Label name, AbstractState& state) {
  if (system == nullptr) {
    return;
  }
  Holder const holder = system->holder(name);
  Inspection const inspection = system->inspect();
  std::uint32_t const count = inspection.plane_count();
  for (std::uint32_t plane = 0; plane < count; ++plane) {
    PlaneInfo const info = inspection.plane(plane);
    PlaneState const now = inspection.state(holder, plane);
    if (info.page_rows == 0) {
      state.slot_shared =
          state.slot_shared || (now.slot != 0 && inspection.page_references(plane, now.slot) > 1);
    } else if (info.chunk_pages != 0 && now.pages != 0) {
      std::uint32_t const last = now.pages - 1;
      std::uint32_t const chunk = inspection.chunk(holder, plane, last / info.chunk_pages);
      state.page_shared =
          state.page_shared || inspection.chunk_references(plane, chunk) > 1 ||
          inspection.page_references(plane, inspection.page(holder, plane, last)) > 1;
    }
  }
}

}  // namespace

std::uint32_t AbstractState::key() const noexcept {
  std::uint32_t key = static_cast<std::uint32_t>(life);
  key = key * kEdgeCount + static_cast<std::uint32_t>(edge);
  key = key * kLapCount + static_cast<std::uint32_t>(lap);
  key = key * kOthersCount + static_cast<std::uint32_t>(others);
  for (bool const bit : {page_shared, slot_shared, drafts_lag}) {
    key = key * 2 + (bit ? 1 : 0);
  }
  return key;
}

AbstractState AbstractState::from_key(std::uint32_t key) noexcept {
  AbstractState state;
  for (bool* const bit : {&state.drafts_lag, &state.slot_shared, &state.page_shared}) {
    *bit = key % 2 != 0;
    key /= 2;
  }
  state.others = static_cast<Others>(key % kOthersCount);
  key /= kOthersCount;
  state.lap = static_cast<Lap>(key % kLapCount);
  key /= kLapCount;
  state.edge = static_cast<Edge>(key % kEdgeCount);
  key /= kEdgeCount;
  state.life = static_cast<Life>(key % kLifeCount);
  return state;
}

char const* outcome_name(std::uint32_t outcome) noexcept {
  return outcome == 0 ? "ok" : name_of(static_cast<ErrorCode>(outcome - 1));
}

std::string text_of(AbstractState const& state) {
  std::string text = kLives[static_cast<std::uint32_t>(state.life)];
  switch (state.life) {
    case Life::kNone:
    case Life::kGone:
    case Life::kTainted:
    case Life::kSnapshotGone:
    case Life::kEntryGone:
      return text;
    default:
      break;
  }
  text += std::string{", "} + kEdges[static_cast<std::uint32_t>(state.edge)];
  text += state.lap == Lap::kLater ? ", later lap" : state.lap == Lap::kShort ? ", short ring" : "";
  text += state.page_shared ? ", page shared" : "";
  text += state.slot_shared ? ", slot shared" : "";
  text += state.others == Others::kBehind  ? ", others behind"
          : state.others == Others::kAhead ? ", others ahead"
                                           : "";
  text += state.drafts_lag ? ", drafts lag" : "";
  return text;
}

AbstractState abstract_state(Model const& model,
                             HoldfastSystem const* system,
                             SequenceName name) noexcept {
  ModelSequence const& sequence = model.sequence(name);
  AbstractState state{.life = life_of(sequence)};
  if (state.life == Life::kGone || state.life == Life::kTainted) {
    return state;
  }
  History const& history = model.history(sequence);
  note_history(model, history, state);
  note_others(model, history, state);
  note_sharing(system, label(name), state);
  return state;
}

AbstractState abstract_state(Model const& model,
                             HoldfastSystem const* system,
                             SnapshotName name) noexcept {
  ModelSnapshot const& snapshot = model.snapshot_of(name);
  if (!snapshot.live) {
    return {.life = Life::kSnapshotGone};
  }
  AbstractState state{.life = Life::kSnapshot};
  note_history(model, model.history(snapshot), state);
  note_sharing(system, label(name), state);
  return state;
}

AbstractState abstract_state(Model const& model,
                             HoldfastSystem const* system,
                             EntryName name) noexcept {
  ModelEntry const& entry = model.entry(name);
  if (!model.is_created(name) || !entry.live) {
    return {.life = Life::kEntryGone};
  }
  AbstractState state{.life = Life::kEntry};
  note_history(model, entry.history, state);
  note_sharing(system, label(name), state);
  return state;
}

}  // namespace holdfast::model
