// SPDX-License-Identifier: Apache-2.0
// The toy engine's scratch memory: what a write takes, and when it may be written again.
#include <algorithm>
#include <new>

#include "models/engine/toy_engine.hpp"

namespace holdfast::model {
namespace {

constexpr std::uint64_t kWrites = 4;  // that may be pending before the engine waits

}  // namespace

ToyEngine::ToyEngine(ModelShape const& shape, Device& memory, std::span<Device* const> devices)
    : shape_{shape},
      scratch_{memory},
      devices_(devices.begin(), devices.end()),
      parts_(shape.states.size()),
      stash_views_(shape.states.size()) {
  constexpr std::uint64_t kRows = 1024;
  std::uint64_t const rows = std::uint64_t{shape.capacity.tokens} + 2;
  if (!scratch_.grow(kWrites * need_of(std::min(rows, kRows)))) {
    throw std::bad_alloc{};
  }
}

/// Scratch memory that one write of so many rows takes at most.
std::uint64_t ToyEngine::need_of(std::uint64_t rows) const noexcept {
  constexpr std::uint64_t kUnit = Scratch::kUnit;
  std::uint64_t bytes = rows * sizeof(Token) + kUnit;
  for (PlaneShape const& plane : shape_.planes) {
    bool const lags = rule_of(plane.kind) == PlaneRule::kDraft;
    std::uint64_t const most = rows + (lags ? shape_.draft_lag() : 0);
    bytes += shape_.ranks * (most * (plane.elements * sizeof(float) + sizeof(Token)) + 2 * kUnit);
  }
  return bytes + shape_.ranks * (shape_.states.size() + 1) *
                     (sizeof(SlotPart) + sizeof(StashView) + 2 * kUnit);
}

Status ToyEngine::make_room(std::uint64_t need, Stream stream) noexcept {
  if (!scratch_.has_room(need)) {
    for (Device* const device : devices_) {
      for (Stream const used : streams_) {
        HOLDFAST_TRY(device->synchronize(used));
      }
    }
    streams_.clear();
    scratch_.take_back();
    if (!scratch_.has_room(need) && !scratch_.grow(kWrites * need)) {
      return Error{
          .code = ErrorCode::kOutOfMemory, .text = "no memory for rows", .subject = "engine"};
    }
  }
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) {
    streams_.push_back(stream);
  }
  return {};
}

}  // namespace holdfast::model
