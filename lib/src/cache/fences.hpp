// SPDX-License-Identifier: Apache-2.0
// Order between streams. Work of one stream needs nothing; before a call touches what another
// stream's work may still be using, its own stream waits for an event at that stream's end. Events
// are recorded when somebody has to wait, so that one stream costs none.
//
// Who waits for whom:
//   owner   a call on a sequence waits for the stream of the sequence's last call
//   take    a call that takes storage waits for the last call of every stream, and for the work of
//           sequences that were released: what it takes, copies or shares is written, and not in use
//   read    serialize waits for the stream in which the entry was written
//   map     the next step's row map waits for the stream of the step before
#pragma once

#include <array>
#include <cstdint>
#include <holdfast/device.hpp>
#include <holdfast/layout.hpp>
#include <span>

namespace holdfast::internal::cache {

/// The stream that last worked on something. Everything earlier precedes that stream's work.
struct Mark {
  std::uint32_t stream = 0;  ///< index in Fences
};

/// All streams that a cache has seen, on all of its devices.
class Fences {
 public:
  /// The devices must outlive this. Stream 0 has cleared the memory already.
  void create(std::span<Device* const> devices) noexcept {
    devices_ = devices;
    used_[0] = ++now_;
    streams_[0] = Stream{};
    stream_count_ = 1;
  }
  /// Begins a call whose work goes to `stream`. Errors: kExhausted (too many streams).
  [[nodiscard]] Status enter(Stream stream) noexcept;
  /// Whether a call whose work goes to `stream`, on what is marked, has nothing to wait for.
  [[nodiscard]] bool is_current(Stream stream, Mark mark) const noexcept {
    return streams_[current_] == stream && mark.stream == current_;
  }
  /// The call's stream waits for the end of the marked one.
  [[nodiscard]] Status wait_for(Mark mark) noexcept;
  /// The call's stream waits for every use of storage that was noted in other streams.
  [[nodiscard]] Status wait_for_uses() noexcept;
  /// Events at the end of the marked stream, one for each device.
  [[nodiscard]] Status note_end(Mark mark, std::span<Event> events) noexcept;
  /// What the call's stream works on from now on.
  [[nodiscard]] Mark here() const noexcept { return {current_}; }
  /// Work that uses storage was enqueued in the marked stream until now.
  void note_use(Mark mark) noexcept { used_[mark.stream] = ++now_; }

 private:
  [[nodiscard]] Status wait_for_stream(std::uint32_t stream) noexcept;

  std::span<Device* const> devices_;
  std::array<Stream, kLargestStreamCount> streams_{};
  /// By stream: when a use was last noted.
  std::array<std::uint64_t, kLargestStreamCount> used_{};
  /// [by stream]: when it last waited for the end of the other.
  std::array<std::array<std::uint64_t, kLargestStreamCount>, kLargestStreamCount> waited_{};
  std::uint64_t now_ = 0;
  std::uint32_t stream_count_ = 0;
  std::uint32_t current_ = 0;
};

}  // namespace holdfast::internal::cache
