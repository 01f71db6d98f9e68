// SPDX-License-Identifier: Apache-2.0
// Holdfast as the system under test: the library's cache, driven by the toy engine.
#pragma once

#include <array>
#include <functional>
#include <holdfast/cache.hpp>
#include <optional>
#include <span>
#include <vector>

#include "models/system.hpp"

namespace holdfast::model {

/// One cache and the handles of one program.
class HoldfastSystem final : public System {
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
  Observation step(StepParts const& items, WriteStyle style) override;
  Observation commit(SequenceName name) override;
  Observation drop(SequenceName name) override;
  Observation accept(SequenceName name, std::uint32_t keep) override;
  Observation snapshot(SequenceName name, SnapshotName snapshot) override;
  Observation drop_snapshot(SnapshotName snapshot) override;
  Observation rollback(SequenceName name, SnapshotName snapshot) override;
  Observation fork(SnapshotName snapshot, SequenceName name) override;
  Observation can_truncate(SequenceName name, std::uint32_t length) override;
  Observation truncate(SequenceName name, std::uint32_t length) override;
  Observation release(SequenceName name) override;
  Observation close() override;

  /// Called in the middle of a step, when its rows are written and nothing is decided yet.
  void set_observer(std::function<void()> observer) { observer_ = std::move(observer); }
  [[nodiscard]] Inspection inspect() const noexcept { return cache_.inspect(); }
  /// Index and generation behind a name; {0, 0} when it was never created.
  [[nodiscard]] HandleId id(SequenceName name) const noexcept {
    return names_[name.value].sequence.id();
  }
  [[nodiscard]] HandleId id(SnapshotName name) const noexcept {
    return snapshots_[name.value].id();
  }
  /// Drops every handle; the cache stays open.
  void drop_all();

 private:
  [[nodiscard]] bool names_rows(Step const& step, StepParts const& items) const;
  [[nodiscard]] bool names_rows(Step const& step,
                                StepParts const& items,
                                std::uint32_t device) const;
  [[nodiscard]] Status append_again(Sequence& sequence,
                                    std::uint32_t position,
                                    std::span<Token const> tokens);

  struct Named {
    Sequence sequence;
    std::optional<Append> append;
    std::optional<Round> round;
    std::uint32_t position = 0;  // of the open handle's first row
    std::vector<Token> tokens;   // of its rows that are written
    StateMode mode = StateMode::kFresh;
  };

  std::vector<Named> names_;         // [kNameLimit]
  std::vector<Snapshot> snapshots_;  // [kNameLimit]
  std::function<void()> observer_;
  std::vector<Device*> devices_;
  ToyEngine& engine_;
  Cache cache_;
};

}  // namespace holdfast::model
