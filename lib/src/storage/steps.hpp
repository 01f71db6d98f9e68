// SPDX-License-Identifier: Apache-2.0
// The device work of one call over all stages: one StepWork for each.
#pragma once

#include <array>
#include <holdfast/layout.hpp>

#include "storage/step.hpp"

namespace holdfast::internal::storage {

/// Step work of every stage; what is not about a plane goes to all of them.
class Steps {
 public:
  [[nodiscard]] bool create(StepLimits const& limits,
                            std::uint32_t stages,
                            std::uint32_t ranks) noexcept {
    HOLDFAST_ASSERT(stages != 0 && stages <= works_.size());
    HOLDFAST_ASSERT(ranks != 0);
    stages_ = stages;
    for (StepWork& stage : all()) {
      if (!stage.create(limits, ranks)) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] StepWork& of(std::uint32_t stage) noexcept {
    HOLDFAST_ASSERT(stage < stages_);
    return works_[stage];
  }
  [[nodiscard]] StepWork const& of(std::uint32_t stage) const noexcept {
    HOLDFAST_ASSERT(stage < stages_);
    return works_[stage];
  }
  [[nodiscard]] std::span<StepWork> all() noexcept { return {works_.data(), stages_}; }

  /// As StepWork::begin, on all stages.
  [[nodiscard]] Status begin() noexcept {
    for (StepWork& stage : all()) {
      HOLDFAST_TRY(stage.begin());
    }
    return {};
  }
  void discard() noexcept {
    for (StepWork& stage : all()) {
      stage.discard();
    }
  }
  void open_mirror() noexcept {
    for (StepWork& stage : all()) {
      stage.open_mirror();
    }
  }
  void run(RowRun const& run) noexcept {
    for (StepWork& stage : all()) {
      stage.run(run);
    }
  }
  /// One launch on every device. Returns the first error; the other devices are still told.
  [[nodiscard]] Status launch(Stream stream) noexcept {
    HOLDFAST_ASSERT(stages_ != 0);
    Status answer;
    for (StepWork& stage : all()) {
      if (Status const launched = stage.launch(stream); !launched && answer) {
        answer = launched.error();
      }
    }
    return answer;
  }

 private:
  std::array<StepWork, kLargestDeviceCount> works_;
  std::uint32_t stages_ = 0;
};

}  // namespace holdfast::internal::storage
