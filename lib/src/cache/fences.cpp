// SPDX-License-Identifier: Apache-2.0
// Waits between streams.
#include "cache/fences.hpp"

#include "base/mutants.hpp"

namespace holdfast::internal::cache {

Status Fences::enter(Stream stream) noexcept {
  if (streams_[current_] == stream) {
    return {};
  }
  std::uint32_t index = 0;
  while (index < stream_count_ && !(streams_[index] == stream)) {
    ++index;
  }
  if (index == kLargestStreamCount) {
    return Error{.code = ErrorCode::kExhausted,
                 .text = "the cache was used in as many streams as it can tell apart",
                 .subject = "stream",
                 .got = std::int64_t{index} + 1,
                 .limit = kLargestStreamCount};
  }
  if (index == stream_count_) {
    streams_[stream_count_++] = stream;
  }
  current_ = index;
  return {};
}

Status Fences::wait_for_stream(std::uint32_t stream) noexcept {
  if (HOLDFAST_MUTANT(kWaitNotedEarly)) {
    waited_[current_][stream] = now_ + 1;
  }
  for (Device* const device : devices_) {
    auto const event = device->record(streams_[stream]);
    HOLDFAST_TRY(event);
    Status const waits = device->wait(streams_[current_], *event);
    if (!waits && !HOLDFAST_MUTANT(kFailedWaitIgnored)) {
      if (device != devices_.front() && HOLDFAST_MUTANT(kHalfWaitCounts)) {
        waited_[current_][stream] = ++now_;
      }
      return waits;
    }
  }
  waited_[current_][stream] = ++now_;
  return {};
}

Status Fences::wait_for(Mark mark) noexcept {
  return mark.stream == current_ ? Status{} : wait_for_stream(mark.stream);
}

Status Fences::note_end(Mark mark, std::span<Event> events) noexcept {
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    auto const event = devices_[device]->record(streams_[mark.stream]);
    HOLDFAST_TRY(event);
    events[device] = *event;
  }
  return {};
}

Status Fences::wait_for_uses() noexcept {
  for (std::uint32_t stream = 0; stream < stream_count_; ++stream) {
    if (stream != current_ && used_[stream] > waited_[current_][stream]) {
      HOLDFAST_TRY(wait_for_stream(stream));
    }
  }
  return {};
}

}  // namespace holdfast::internal::cache
