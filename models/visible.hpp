// SPDX-License-Identifier: Apache-2.0
// What anyone can see of a system under test, by the names of the program: positions, lengths, rows
// and states. Nothing here knows how a system stores them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/observation.hpp"

namespace holdfast::model {

/// A name of the program that becomes text only when there is something to report: a sequence, a
/// snapshot or a prefix entry.
struct Label {
  char prefix = 's';
  std::uint32_t value = 0;
  [[nodiscard]] std::string text() const { return prefix + std::to_string(value); }
  friend bool operator==(Label, Label) = default;
};
[[nodiscard]] inline Label label(SequenceName name) noexcept {
  return {'s', name.value};
}
[[nodiscard]] inline Label label(SnapshotName name) noexcept {
  return {'h', name.value};
}
[[nodiscard]] inline Label label(EntryName name) noexcept {
  return {'e', name.value};
}

/// One sequence, as its user sees it.
struct SequenceLook {
  bool live = false;  // the name still stands for it
  bool tainted = false;
  bool open = false;   // an append or a round is open
  bool round = false;  // the open handle is a round
  std::uint32_t position = 0;
  std::uint32_t open_rows = 0;
};

/// One plane of a holder. Its number is that of its class where a system has internals; elsewhere
/// planes have the numbers of ModelShape::planes, and all states together the number after them.
struct PlaneLook {
  std::uint32_t length =
      0;  // rows in the plane's own unit; of states the position that they are at
  std::uint32_t resident = 0;  // first row that is there
};

/// Rows of one layer of a plane on one rank.
struct RowsWanted {
  std::uint32_t plane = 0;
  std::uint32_t layer_index = 0;  // in the class; 0 where every plane is a layer's own
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t rank = 0;
};

/// The look of a system. A look changes nothing and does not allocate while all is well.
class Visible {
 public:
  Visible() = default;
  Visible(Visible const&) = delete;
  Visible& operator=(Visible const&) = delete;
  virtual ~Visible() = default;

  /// A sequence that was created once.
  [[nodiscard]] virtual SequenceLook sequence(SequenceName name) const noexcept = 0;
  /// One plane of a live sequence, snapshot or entry.
  [[nodiscard]] virtual PlaneLook plane(Label holder, std::uint32_t plane) const noexcept = 0;
  /// Copies rows as f32 [count, elements of the rank] into `out`. False when they are not all there.
  [[nodiscard]] virtual bool read_rows(Label holder,
                                       RowsWanted const& wanted,
                                       std::span<float> out) const noexcept = 0;
  /// Copies what a rank has of all states [ModelShape::shard_state_elements]. False without one.
  [[nodiscard]] virtual bool read_state(Label holder,
                                        std::uint32_t rank,
                                        std::span<float> out) const noexcept = 0;
  /// Whether the last restore that hit came from this entry.
  [[nodiscard]] virtual bool was_restored_from(EntryName entry) const noexcept = 0;
};

}  // namespace holdfast::model
