// SPDX-License-Identifier: Apache-2.0
// Simulated devices: what is enqueued runs later, in an order that a seed chooses among all that
// streams and events allow. Copies run in pieces, with other work between them. Same seed, same
// calls: same order.
//
// A device wraps another one that does the work at once; the order check looks on.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "models/recorder/written_parts.hpp"
#include "models/sim/order.hpp"
#include "models/source.hpp"

namespace holdfast::model {

class OrderLog;
class SimDevice;

/// Most bytes of a kernel's parameters that need no memory of their own.
inline constexpr std::size_t kParameterLimit = 384;

/// All devices of one cache, their streams, and the host that calls them.
class SimWorld {
 public:
  SimWorld() = default;
  SimWorld(SimWorld const&) = delete;
  SimWorld& operator=(SimWorld const&) = delete;

  /// Begins another program: nothing is pending, nothing was touched.
  void start(std::uint64_t seed);
  void set_order_check(bool on) noexcept { is_checking_ = on; }
  /// From the next program on, what happens is kept there too; nullptr: nowhere.
  void set_log(OrderLog* log) noexcept { log_ = log; }
  /// What the program is doing, for reports.
  void set_operation(std::uint32_t operation) noexcept {
    operation_ = operation;
    used_ = 0;
  }
  /// Runs everything that is pending; the host has seen it.
  void settle();
  /// While it is on, the host reads what memory has right now: nothing runs, nothing is noted.
  void set_peeking(bool on) noexcept { is_peeking_ = on; }
  [[nodiscard]] bool is_idle() const noexcept { return pending_ == 0; }
  /// Whether kernels, copies or fills were enqueued in several streams since set_operation().
  [[nodiscard]] bool is_in_streams() const noexcept { return (used_ & (used_ - 1)) != 0; }
  [[nodiscard]] OrderCheck const& order() const noexcept { return order_; }
  /// The first work that found its parameters in pinned memory written again before it ran.
  [[nodiscard]] std::optional<WorkNote> const& overwritten() const noexcept { return overwritten_; }
  /// Which waits can never end; empty when all do. The work behind them is dropped.
  [[nodiscard]] std::string const& deadlock() const noexcept { return deadlock_; }
  /// "device 0 stream 2", "the host".
  [[nodiscard]] std::string name_of_line(std::uint32_t line) const;

 private:
  friend class SimDevice;

  /// One piece of work of a stream.
  struct Work {
    enum class Kind : std::uint8_t { kKernel, kCopy, kFill, kRecord, kWait, kLook };
    Kind kind = Kind::kKernel;
    Kernel const* kernel = nullptr;
    alignas(16) std::array<std::byte, kParameterLimit> parameters;
    CopySegment copy;
    FillSegment fill;
    std::vector<std::byte>
        bounce;  // of host writes: the copy's source; parameters that are long; of a
                 // look: its ranges
    std::uint32_t event_line = 0;    // of a wait
    std::uint32_t event_number = 0;  // of a wait or record
    std::uint64_t pinned = 0;        // digest of what a kernel reads in pinned memory; 0: nothing
    std::uint32_t operation = 0;
    std::uint64_t number = 0;  // of all work, as it was enqueued
    std::size_t seen = 0;      // index of what the host had seen
  };
  /// Works in order. Those that are done are used again: they are large, and few at a time.
  class Works {
   public:
    [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
    [[nodiscard]] Work& front() noexcept { return ring_[head_ % ring_.size()]; }
    [[nodiscard]] Work const& front() const noexcept { return ring_[head_ % ring_.size()]; }
    void pop_front() noexcept { ++head_; }
    void clear() noexcept { head_ = tail_ = 0; }
    /// One more at the end, with what an earlier one left in it.
    [[nodiscard]] Work& extend() {
      if (tail_ - head_ == ring_.size()) {
        std::rotate(
            ring_.begin(),
            ring_.begin() + static_cast<std::ptrdiff_t>(ring_.empty() ? 0 : head_ % ring_.size()),
            ring_.end());
        tail_ = ring_.size();
        head_ = 0;
        ring_.resize(ring_.empty() ? 4 : 2 * ring_.size());
      }
      return ring_[tail_++ % ring_.size()];
    }

   private:
    std::vector<Work> ring_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
  };
  struct Line {
    SimDevice* device = nullptr;
    Stream stream;
    Works works;
    Clock clock{};
    std::vector<Clock> events;  // by number: the clock there
    std::uint32_t recorded = 0;
    std::uint32_t speed = 1;  // weight when the next work is chosen
    bool stalled = false;     // nothing of it runs until the host waits and nothing else can run
  };

  [[nodiscard]] std::uint32_t line_of(SimDevice& device, Stream stream);
  /// How fast a device is beside the others of this program.
  [[nodiscard]] std::uint32_t speed_of(SimDevice const& device) const noexcept;
  /// Another piece of work of a line, to be filled in; then queued().
  [[nodiscard]] Work& enqueue(std::uint32_t line, Work::Kind kind);
  void queued();
  /// Now and then some of what is pending runs by itself.
  void run_some();
  /// Runs one piece of work of any line. False when nothing can run.
  bool run_one();
  [[nodiscard]] bool can_run(Line const& line) const;
  void run_front(std::uint32_t line);
  void run_copy(Line& line);
  /// Looks that nothing is before on their line are had at once: no look takes a turn.
  void run_looks(std::uint32_t line);
  [[nodiscard]] bool is_done(std::uint32_t line, std::uint32_t event) const noexcept {
    return lines_[line].events.size() > event;
  }
  /// Runs one piece of work; streams that stand still go on when nothing else can.
  bool run_one_for_host();
  void await(std::uint32_t line, std::uint32_t event);
  void drain(std::uint32_t line);
  /// The host has seen what the clock has seen: of a line at one of its events, or at its end.
  void see(Clock const& clock, std::uint32_t line, std::uint32_t event);
  /// The host reads memory itself, after all that it enqueued before.
  void note_host_read(std::byte const* source, std::uint64_t bytes);
  [[nodiscard]] WorkNote note_of(Work const& work, std::uint32_t line, char const* name) const;
  /// Digest of what a kernel reads in pinned memory as it is now; 0 when it reads nothing there.
  [[nodiscard]] std::uint64_t pinned_digest(Kernel const& kernel, void const* parameters) const;
  /// The host waits for a line, and nothing can run.
  void note_deadlock(std::uint32_t line);

  std::vector<Line> lines_;  // 0 is the host
  std::vector<Works> spare_works_;
  Clock start_{};            // of every line
  std::vector<Clock> seen_;  // what the host had seen, by change
  OrderCheck order_;
  OrderLog* log_ = nullptr;
  Source source_{0};
  std::uint32_t laziness_ = 2;  // one in so many calls lets something run
  std::uint32_t operation_ = 0;
  std::uint64_t used_ =
      0;  // streams that the operation enqueued work in, by number; the last bit is for all
          // above
  std::size_t pending_ = 0;
  bool is_checking_ = true;
  bool is_peeking_ = false;
  std::vector<Memory> pinned_;
  std::optional<WorkNote> overwritten_;
  std::uint64_t seed_ = 0;
  std::uint64_t enqueued_ = 0;  // so far
  std::string deadlock_;
};

/// One device of a world.
class SimDevice final : public Device, private AccessSink {
 public:
  /// Runs work on `inner`, which does it at once; `index` is for reports.
  SimDevice(SimWorld& world, Device& inner, std::uint32_t index)
      : world_{world}, inner_{inner}, index_{index} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override;
  void free(Memory memory) noexcept override;
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override;
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override;
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override;
  Result<Event> record(Stream stream) noexcept override;
  Status wait(Stream stream, Event event) noexcept override;
  Result<bool> is_done(Event event) noexcept override;
  Status await(Event event) noexcept override;
  Status synchronize(Stream stream) noexcept override;
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override;
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override;
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Whoever reads these bytes in the stream from here on must find them ordered, whether or not somebody
  /// does: for the order check they are read now. Nothing else changes, and no work runs earlier or later.
  void look(std::span<ByteRange const> ranges, Stream stream);
  /// The stream stands still until the host waits for what cannot come without it.
  void stall(Stream stream) { world_.lines_[world_.line_of(*this, stream)].stalled = true; }

 private:
  friend class SimWorld;
  using Kind = SimWorld::Work::Kind;
  void read(void const* base, std::uint64_t bytes) noexcept override {
    world_.order_.read(base, bytes);
  }
  void write(void const* base, std::uint64_t bytes) noexcept override {
    world_.order_.write(base, bytes);
  }
  void declare(Kernel const& kernel, void const* parameters) { kernel.accesses(parameters, *this); }

  SimWorld& world_;
  Device& inner_;
  std::uint32_t index_;
};

/// What a report says of a conflict: both accesses, their streams, and the edge that is missing.
[[nodiscard]] std::string describe(SimWorld const& world, Conflict const& conflict);

}  // namespace holdfast::model
