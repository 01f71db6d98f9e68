// SPDX-License-Identifier: Apache-2.0
#include "fuzz/point_watch.hpp"

#include <algorithm>

#include "fuzz/points.hpp"

namespace holdfast::fuzz {
namespace {

using model::History;
using model::Model;

/// Whether one history goes on from the other; tokens are unique, so that the last common one says.
bool is_same_line(History const& a, History const& b) noexcept {
  std::size_t const common = std::min(a.tokens.size(), b.tokens.size());
  return common == 0 || a.tokens[common - 1] == b.tokens[common - 1];
}

void meet_refusal(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return meet(HarnessPoint::kAnswerInvalidArgument);
    case ErrorCode::kUnsupported:
      return meet(HarnessPoint::kAnswerUnsupported);
    case ErrorCode::kStale:
      return meet(HarnessPoint::kAnswerStale);
    case ErrorCode::kBusy:
      return meet(HarnessPoint::kAnswerBusy);
    case ErrorCode::kTooLong:
      return meet(HarnessPoint::kAnswerTooLong);
    case ErrorCode::kIncomplete:
      return meet(HarnessPoint::kAnswerIncomplete);
    case ErrorCode::kRefused:
      return meet(HarnessPoint::kAnswerRefused);
    case ErrorCode::kExhausted:
      return meet(HarnessPoint::kAnswerExhausted);
    case ErrorCode::kTainted:
      return meet(HarnessPoint::kAnswerTainted);
    case ErrorCode::kMiss:
      return meet(HarnessPoint::kAnswerMiss);
    case ErrorCode::kDamaged:
      return meet(HarnessPoint::kAnswerDamaged);
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kDeviceFailed:
      return;  // no device fails here
  }
}

bool keeps_several(model::StepOp const& step) noexcept {
  return std::count_if(step.items.begin(), step.items.end(), [](model::StepPart const& item) {
           return item.deed != model::StepDeed::kPad && item.keep != 0;
         }) > 1;
}

}  // namespace

void PointWatch::start() noexcept {
  rolled_back_to_.fill(kNoSnapshot);
}

void PointWatch::before(model::AnyOp const& op, Model const& model) noexcept {
  if (auto const* rollback = std::get_if<model::RollbackOp>(&op)) {
    model::ModelSequence const& sequence = model.sequence(rollback->sequence);
    model::ModelSnapshot const& snapshot = model.snapshot_of(rollback->snapshot);
    is_foreign_ = sequence.live && snapshot.live &&
                  !is_same_line(model.history(sequence), model.history(snapshot));
  } else if (auto const* fork = std::get_if<model::ForkOp>(&op)) {
    model::ModelSnapshot const& snapshot = model.snapshot_of(fork->snapshot);
    auto const live = model.live_sequences();
    is_last_ =
        snapshot.live && std::none_of(live.begin(), live.end(), [&](std::uint32_t name) {
          return is_same_line(model.history(model.sequence({name})), model.history(snapshot));
        });
  }
}

void PointWatch::after(model::AnyOp const& op, model::Observation const& got) noexcept {
  if (!got.ok) {
    meet_refusal(got.code);
    return;
  }
  if (auto const* rollback = std::get_if<model::RollbackOp>(&op)) {
    std::uint32_t& last = rolled_back_to_[rollback->sequence.value];
    if (last == rollback->snapshot.value) {
      meet(HarnessPoint::kRolledBackTwice);
    }
    last = rollback->snapshot.value;
    if (is_foreign_) {
      meet(HarnessPoint::kRolledBackForeign);
    }
  } else if (std::holds_alternative<model::ForkOp>(op)) {
    if (is_last_) {
      meet(HarnessPoint::kForkOutlivesSource);
    }
  } else if (auto const* step = std::get_if<model::StepOp>(&op); step && keeps_several(*step)) {
    meet(HarnessPoint::kStepOfSeveral);
  }
}

}  // namespace holdfast::fuzz
