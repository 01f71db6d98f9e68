// SPDX-License-Identifier: Apache-2.0
#include "fuzz/point_watch.hpp"

#include <algorithm>

#include "fuzz/points.hpp"

namespace holdfast::fuzz {
namespace {

using model::History;
using model::Model;
using model::Thing;

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

bool keeps_several(model::StepParts const& items) noexcept {
  return std::count_if(items.begin(), items.end(), [](model::StepPart const& item) {
           return item.deed != model::StepDeed::kPad && item.keep != 0;
         }) > 1;
}

}  // namespace

void PointWatch::start() noexcept {
  rolled_back_to_.fill(kNoSnapshot);
}

void PointWatch::before(model::AnyOp const& op, Model const& model) noexcept {
  model::Effects const effects = model::effects_of(op);
  loads_ = effects.loads.has(Thing::kSnapshot);
  if (!loads_) {
    return;
  }
  names_ = model::names_of(op);
  forks_ = effects.makes.has(Thing::kSequence);
  model::ModelSnapshot const& snapshot = model.snapshot_of(*names_.snapshot);
  model::ModelSequence const& sequence = model.sequence(names_.sequences().front());
  auto const is_same = [&](model::ModelSequence const& other) {
    return is_same_line(model.history(other), model.history(snapshot));
  };
  auto const live = model.live_sequences();
  is_foreign_ = !forks_ && sequence.live && snapshot.live && !is_same(sequence);
  is_last_ = forks_ && snapshot.live && std::none_of(live.begin(), live.end(), [&](auto name) {
               return is_same(model.sequence({name}));
             });
}

void PointWatch::after(model::AnyOp const& op, model::Observation const& got) noexcept {
  if (!got.ok) {
    meet_refusal(got.code);
    return;
  }
  if (loads_ && forks_) {
    if (is_last_) {
      meet(HarnessPoint::kForkOutlivesSource);
    }
  } else if (loads_) {
    std::uint32_t& last = rolled_back_to_[names_.sequences().front().value];
    if (last == names_.snapshot->value) {
      meet(HarnessPoint::kRolledBackTwice);
    }
    last = names_.snapshot->value;
    if (is_foreign_) {
      meet(HarnessPoint::kRolledBackForeign);
    }
  } else if (auto const* const items = model::step_items(op); items && keeps_several(*items)) {
    meet(HarnessPoint::kStepOfSeveral);
  }
}

}  // namespace holdfast::fuzz
