// SPDX-License-Identifier: Apache-2.0
// Writes the items of a step as the toy engine writes single handles, and reads all that a sequence
// shows.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <holdfast/cache.hpp>
#include <vector>

#include "tests/support/status.hpp"
#include "tests/support/toy_engine.hpp"

namespace holdfast::test {

/// One item of a step with what is written and kept. Padding has no sequence.
struct StepPart {
  StepKind kind = StepKind::kPad;
  Sequence* sequence = nullptr;
  History* history = nullptr;  // grows by what is kept
  History tokens;              // of padding only their number counts
  std::uint32_t keep = 0;
};

inline StepPart append_part(Sequence& sequence, History& history, History tokens) {
  auto const rows = static_cast<std::uint32_t>(tokens.size());
  return {StepKind::kAppend, &sequence, &history, std::move(tokens), rows};
}
inline StepPart verify_part(Sequence& sequence,
                            History& history,
                            History tokens,
                            std::uint32_t keep) {
  return {StepKind::kVerify, &sequence, &history, std::move(tokens), keep};
}
inline StepPart pad_part(std::uint32_t rows) {
  return {.kind = StepKind::kPad, .tokens = History(rows)};
}

/// The parts as items.
inline std::vector<StepItem> items_of(std::vector<StepPart> const& parts) {
  std::vector<StepItem> items;
  for (StepPart const& part : parts) {
    items.push_back({.sequence = part.sequence,
                     .kind = part.kind,
                     .rows = static_cast<std::uint32_t>(part.tokens.size())});
  }
  return items;
}
inline std::vector<std::uint32_t> keeps_of(std::vector<StepPart> const& parts) {
  std::vector<std::uint32_t> keeps;
  for (StepPart const& part : parts) {
    keeps.push_back(part.keep);
  }
  return keeps;
}

/// The rows of one item, as ToyEngine::write_views wants an open handle.
class ItemRows {
 public:
  ItemRows(Step& step, std::uint32_t item) noexcept : step_{step}, item_{item} {}
  Result<RowsView> rows(PlaneKind plane, std::uint32_t layer) {
    return step_.rows(item_, plane, layer);
  }
  Result<StateView> state(std::uint32_t layer) { return step_.state(item_, layer); }
  Result<HeldView> held(std::uint32_t layer) { return step_.held(item_, layer); }

 private:
  Step& step_;
  std::uint32_t item_;
};

/// Writes rows through Step::write.
inline void write_rows(Cache const& cache, Step& step, std::uint32_t item, StepPart const& part) {
  ToyEngine const engine{cache};
  auto const position = static_cast<std::uint32_t>(part.history->size());
  auto const count = static_cast<std::uint32_t>(part.tokens.size());
  Inspection const look = cache.inspect();
  for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
    PlaneInfo const plane = look.plane(index);
    for (std::uint32_t const layer : plane.layers) {
      if (plane.page_rows != 0 && plane.unit_tokens == 1) {
        auto const source = engine.rows(plane, layer, position, part.tokens);
        EXPECT_TRUE(IsOk(step.write(item, plane.kind, layer, source.data(), 0, count)));
      }
    }
  }
}

/// Writes rows, and states through views.
inline void write_item(Cache const& cache, Step& step, std::uint32_t item, StepPart const& part) {
  write_rows(cache, step, item, part);
  ItemRows open{step, item};
  ToyEngine{cache}.write_states(open, part.tokens, part.kind == StepKind::kVerify);
}

inline void write_items(Cache const& cache, Step& step, std::vector<StepPart> const& parts) {
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind != StepKind::kPad) {
      write_item(cache, step, i, parts[i]);
    }
  }
}

/// The histories grow by what the step kept.
inline void note_kept(std::vector<StepPart> const& parts) {
  for (StepPart const& part : parts) {
    if (part.history != nullptr) {
      *part.history = joined(*part.history, first_of(part.tokens, part.keep));
    }
  }
}

/// Begins, writes and finishes a step.
inline void run_step(Cache& cache, std::vector<StepPart> const& parts) {
  auto step = cache.begin(items_of(parts));
  ASSERT_TRUE(IsOk(step));
  write_items(cache, *step, parts);
  std::vector<Accepted> accepted(parts.size());
  ASSERT_TRUE(IsOk(step->finish(keeps_of(parts), accepted)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(accepted[i].committed, parts[i].keep) << "item " << i;
    EXPECT_EQ(accepted[i].rows_to_append, 0U) << "item " << i;
  }
  note_kept(parts);
}

/// Everything that a sequence shows: lengths, resident rows of every plane and layer, its state.
struct Visible {
  std::vector<std::uint32_t> lengths;
  std::vector<float> values;
  friend bool operator==(Visible const&, Visible const&) = default;
};

inline Visible visible_of(Cache const& cache, Sequence const& sequence) {
  Inspection const look = cache.inspect();
  Holder const holder{HolderKind::kSequence, sequence.id().index};
  Visible visible;
  visible.lengths.push_back(look.sequence(holder.index).position);
  for (std::uint32_t index = 0; index < look.plane_count(); ++index) {
    PlaneInfo const plane = look.plane(index);
    PlaneState const state = look.state(holder, index);
    visible.lengths.push_back(state.length);
    visible.lengths.push_back(state.lo);
    for (std::uint32_t i = 0; plane.page_rows != 0 && i < plane.layers.size(); ++i) {
      std::vector<float> rows(std::size_t{state.length - state.lo} * plane.row_elements);
      EXPECT_TRUE(IsOk(look.read_rows(holder, index, i, state.lo, state.length - state.lo, rows)));
      visible.values.insert(visible.values.end(), rows.begin(), rows.end());
    }
    if (plane.page_rows == 0) {
      std::vector<float> slot(plane.page_bytes / sizeof(float));
      EXPECT_TRUE(IsOk(look.read_state(holder, slot)));
      visible.values.insert(visible.values.end(), slot.begin(), slot.end());
    }
  }
  return visible;
}

/// The sequence index of each row of a step.
inline std::vector<std::uint32_t> row_map(Device& device, Step const& step, std::uint32_t rows) {
  auto const array = step.row_sequences();
  EXPECT_TRUE(IsOk(array));
  std::vector<std::uint32_t> map(rows, UINT32_MAX);
  if (array) {
    EXPECT_TRUE(IsOk(device.host_read(map.data(),
                                      reinterpret_cast<std::byte const*>(*array),
                                      rows * sizeof(std::uint32_t),
                                      Stream{})));
  }
  return map;
}

}  // namespace holdfast::test
