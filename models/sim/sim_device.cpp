// SPDX-License-Identifier: Apache-2.0
// Streams that run later.
#include "models/sim/sim_device.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "models/sim/witness.hpp"

namespace holdfast::model {
namespace {

constexpr std::uint32_t kLastBit = 63;

bool holds(Memory const& memory, std::byte const* place) noexcept {
  return place >= memory.base && place < memory.base + memory.bytes;
}

/// Whether a kernel reads lists that the host wrote. What other kernels access may depend on device
/// memory, and is known only when they run.
bool reads_lists(Kernel const& kernel) noexcept {
  return std::string_view{kernel.name} == "holdfast.step";
}

/// Digests what is read in some memory.
struct PinnedReader final : AccessSink {
  std::span<Memory const> pinned;
  std::uint64_t digest = 0;

  explicit PinnedReader(std::span<Memory const> memory) : pinned{memory} {}
  void read(void const* base, std::uint64_t bytes) noexcept override {
    auto const* const place = static_cast<std::byte const*>(base);
    if (bytes != 0 && std::any_of(pinned.begin(), pinned.end(), [&](Memory const& memory) {
          return holds(memory, place);
        })) {
      digest = mix(digest, XXH3_64bits(base, bytes)) | 1U;
    }
  }
  void write(void const* /*base*/, std::uint64_t /*bytes*/) noexcept override {}
};

}  // namespace

void SimWorld::start(std::uint64_t seed) {
  start_ = order_.start();
  for (Line& line : lines_) {
    line.works.clear();
    spare_works_.push_back(std::move(line.works));
  }
  lines_.clear();
  lines_.emplace_back();
  seen_.assign(1, start_);
  source_ = Source{mix(seed, 0x73696DU)};
  constexpr std::uint32_t kLaziness[] = {1, 2, 4, 16, 1U << 20U};
  laziness_ = kLaziness[source_.below(std::size(kLaziness))];
  operation_ = 0;
  pending_ = 0;
  seed_ = seed;
  enqueued_ = 0;
  pinned_.clear();
  overwritten_.reset();
  deadlock_.clear();
  if (log_ != nullptr) {
    log_->clear();
  }
}

std::uint32_t SimWorld::line_of(SimDevice& device, Stream stream) {
  for (std::uint32_t line = 1; line < lines_.size(); ++line) {
    if (lines_[line].device == &device && lines_[line].stream == stream) {
      return line;
    }
  }
  if (lines_.size() == kLineLimit) {
    throw std::length_error("more streams than a simulation has lines");
  }
  Line& line = lines_.emplace_back();
  line.device = &device;
  line.stream = stream;
  line.speed = speed_of(device) << source_.below(4);
  line.clock = start_;
  if (!spare_works_.empty()) {
    line.works = std::move(spare_works_.back());
    spare_works_.pop_back();
  }
  return static_cast<std::uint32_t>(lines_.size() - 1);
}

std::uint32_t SimWorld::speed_of(SimDevice const& device) const noexcept {
  // Of one device it changes no choice: only what is between devices matters.
  constexpr std::uint64_t kSpeeds = 7;
  return 1U << mix(seed_, 0x736B6577U + device.index()) % kSpeeds;
}

std::string SimWorld::name_of_line(std::uint32_t line) const {
  if (line == 0 || line >= lines_.size()) {
    return "the host";
  }
  return "device " + std::to_string(lines_[line].device->index()) + " stream " +
         std::to_string(lines_[line].stream.value);
}

SimWorld::Work& SimWorld::enqueue(std::uint32_t line, Work::Kind kind) {
  Work& work = lines_[line].works.extend();
  if (kind <= Work::Kind::kFill) {
    used_ |= std::uint64_t{1} << std::min(lines_[line].stream.value, kLastBit);
  }
  work.kind = kind;
  work.bounce.clear();
  work.operation = operation_;
  work.number = ++enqueued_;
  work.seen = seen_.size() - 1;
  return work;
}

void SimWorld::queued() {
  ++pending_;
  run_some();
}

void SimWorld::run_some() {
  if (source_.one_in(laziness_)) {
    std::uint32_t left = source_.below(4) == 0 ? 16 : 1 + source_.below(3);
    while (left-- != 0 && run_one()) {
    }
  }
}

bool SimWorld::can_run(Line const& line) const {
  if (line.works.empty() || line.stalled) {
    return false;
  }
  Work const& work = line.works.front();
  return work.kind != Work::Kind::kWait || is_done(work.event_line, work.event_number);
}

bool SimWorld::run_one() {
  std::uint32_t weights = 0;
  for (Line const& line : lines_) {
    weights += can_run(line) ? line.speed : 0;
  }
  if (weights == 0) {
    return false;
  }
  std::uint32_t drawn = source_.below(weights);
  for (std::uint32_t index = 0; index < lines_.size(); ++index) {
    std::uint32_t const speed = can_run(lines_[index]) ? lines_[index].speed : 0;
    if (drawn < speed) {
      run_front(index);
      return true;
    }
    drawn -= speed;
  }
  return false;
}

/// One piece of a copy; the rest stays in front.
void SimWorld::run_copy(Line& line) {
  Work& work = line.works.front();
  constexpr std::uint64_t kUnit = 16;  // pieces end at multiples of it
  std::uint64_t bytes = work.copy.bytes;
  if (bytes > kUnit && source_.one_in(2)) {
    bytes = kUnit * source_.between(1, static_cast<std::uint32_t>((bytes - 1) / kUnit));
  }
  CopySegment const piece{work.copy.destination, work.copy.source, bytes};
  if (is_checking_) {
    if (work.bounce.empty()) {
      order_.read(piece.source, bytes);
    }
    order_.write(piece.destination, bytes);
  }
  Device& device = line.device->inner_;
  static_cast<void>(work.bounce.empty()
                        ? device.copy({&piece, 1}, line.stream)
                        : device.host_write(piece.destination, piece.source, bytes, line.stream));
  work.copy = {piece.destination + bytes, piece.source + bytes, work.copy.bytes - bytes};
}

void SimWorld::run_front(std::uint32_t index) {
  Line& line = lines_[index];
  Work& work = line.works.front();
  join(line.clock, seen_[work.seen]);
  if (work.kind == Work::Kind::kWait) {
    join(line.clock, lines_[work.event_line].events[work.event_number]);
    if (log_ != nullptr) {
      log_->waited(note_of(work, index, "wait"), work.seen, work.event_line, work.event_number);
    }
  } else if (work.kind == Work::Kind::kRecord) {
    line.events.push_back(line.clock);
    if (log_ != nullptr) {
      log_->recorded(note_of(work, index, "record"), work.seen);
    }
  } else {
    ++line.clock[index];
    char const* const name = work.kind == Work::Kind::kKernel ? work.kernel->name
                             : work.kind == Work::Kind::kCopy ? "copy"
                                                              : "fill";
    WorkNote const note = note_of(work, index, name);
    if (is_checking_) {
      order_.begin(note, line.clock);
    }
    if (log_ != nullptr) {
      log_->ran(note, work.seen);
    }
    if (work.kind == Work::Kind::kCopy) {
      run_copy(line);
      if (work.copy.bytes != 0) {
        return;
      }
    } else if (work.kind == Work::Kind::kFill) {
      if (is_checking_) {
        order_.write(work.fill.destination, work.fill.bytes);
      }
      static_cast<void>(line.device->inner_.fill({&work.fill, 1}, line.stream));
    } else {
      void const* const parameters =
          work.bounce.empty() ? work.parameters.data() : work.bounce.data();
      if (is_checking_) {
        line.device->declare(*work.kernel, parameters);
      }
      if (work.pinned != 0 && !overwritten_ &&
          pinned_digest(*work.kernel, parameters) != work.pinned) {
        overwritten_ = note;
      }
      static_cast<void>(line.device->inner_.launch(*work.kernel, parameters, line.stream));
    }
  }
  lines_[index].works.pop_front();
  --pending_;
  run_looks(index);
}

void SimWorld::run_looks(std::uint32_t index) {
  Line& line = lines_[index];
  for (; !line.works.empty() && line.works.front().kind == Work::Kind::kLook;
       line.works.pop_front()) {
    Work const& work = line.works.front();
    join(line.clock, seen_[work.seen]);
    ++line.clock[index];
    WorkNote const note = note_of(work, index, "the new owner's look");
    order_.begin(note, line.clock);
    for (std::size_t at = 0; at < work.bounce.size(); at += sizeof(ByteRange)) {
      ByteRange range;
      std::memcpy(&range, work.bounce.data() + at, sizeof range);
      order_.read(range.base, range.bytes);
    }
    if (log_ != nullptr) {
      log_->ran(note, work.seen);
    }
  }
}

WorkNote SimWorld::note_of(Work const& work, std::uint32_t line, char const* name) const {
  return {.name = name,
          .operation = work.operation,
          .line = line,
          .time = lines_[line].clock[line],
          .number = work.number};
}

void SimWorld::see(Clock const& clock, std::uint32_t line, std::uint32_t event) {
  Clock next = seen_.back();
  join(next, clock);
  if (next == seen_.back()) {
    return;
  }
  seen_.push_back(next);
  if (log_ != nullptr) {
    log_->saw({.name = "a wait", .operation = operation_, .number = ++enqueued_}, line, event);
  }
}

void SimWorld::note_host_read(std::byte const* source, std::uint64_t bytes) {
  Clock next = seen_.back();
  std::uint32_t const time = ++next[0];
  WorkNote const note{
      .name = "host read", .operation = operation_, .time = time, .number = ++enqueued_};
  seen_.push_back(next);
  order_.begin(note, next);
  order_.read(source, bytes);
  if (log_ != nullptr) {
    log_->read(note);
  }
}

std::uint64_t SimWorld::pinned_digest(Kernel const& kernel, void const* parameters) const {
  if (!reads_lists(kernel)) {
    return 0;
  }
  PinnedReader reader{pinned_};
  kernel.accesses(parameters, reader);
  return reader.digest;
}

void SimWorld::note_deadlock(std::uint32_t line) {
  if (!deadlock_.empty()) {
    return;
  }
  deadlock_ = "the host waits for " + name_of_line(line);
  std::uint32_t passed = 0;
  while (!lines_[line].works.empty()) {
    if ((passed & 1U << line) != 0) {
      deadlock_ += ": a cycle";
      return;
    }
    passed |= 1U << line;
    Work const& work = lines_[line].works.front();
    line = work.event_line;
    deadlock_ += ", which waits for event " + std::to_string(work.event_number) + " of " +
                 name_of_line(line);
  }
  deadlock_ += ", which is never recorded";
}

bool SimWorld::run_one_for_host() {
  if (run_one()) {
    return true;
  }
  for (Line& line : lines_) {
    line.stalled = false;
  }
  return run_one();
}

void SimWorld::await(std::uint32_t line, std::uint32_t event) {
  while (!is_done(line, event)) {
    if (!run_one_for_host()) {
      note_deadlock(line);
      return;
    }
  }
  see(lines_[line].events[event], line, event);
}

void SimWorld::drain(std::uint32_t line) {
  while (!lines_[line].works.empty()) {
    if (!run_one_for_host()) {
      note_deadlock(line);
      return;
    }
  }
  see(lines_[line].clock, line, OrderLog::kEnd);
}

void SimWorld::settle() {
  for (std::uint32_t line = 1; line < lines_.size(); ++line) {
    drain(line);
  }
}

Result<Memory> SimDevice::allocate(std::uint64_t bytes, MemoryKind kind) noexcept {
  auto memory = inner_.allocate(bytes, kind);
  if (memory && kind == MemoryKind::kDevice) {
    world_.order_.add_memory(*memory);
  } else if (memory) {
    world_.pinned_.push_back(*memory);
  }
  return memory;
}

void SimDevice::free(Memory memory) noexcept {
  world_.settle();
  world_.order_.remove_memory(memory);
  std::erase_if(world_.pinned_, [&](Memory const& known) { return known.base == memory.base; });
  inner_.free(memory);
}

Status SimDevice::copy(std::span<CopySegment const> segments, Stream stream) noexcept {
  std::uint32_t const line = world_.line_of(*this, stream);
  for (CopySegment const& segment : segments) {
    if (segment.bytes != 0) {
      world_.enqueue(line, Kind::kCopy).copy = segment;
      world_.queued();
    }
  }
  return {};
}

Status SimDevice::fill(std::span<FillSegment const> segments, Stream stream) noexcept {
  std::uint32_t const line = world_.line_of(*this, stream);
  for (FillSegment const& segment : segments) {
    world_.enqueue(line, Kind::kFill).fill = segment;
    world_.queued();
  }
  return {};
}

Status SimDevice::launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept {
  auto const* const bytes = static_cast<std::byte const*>(parameters);
  SimWorld::Work& work = world_.enqueue(world_.line_of(*this, stream), Kind::kKernel);
  work.kernel = &kernel;
  if (kernel.parameter_bytes > kParameterLimit) {
    work.bounce.assign(bytes, bytes + kernel.parameter_bytes);
  } else {
    std::copy_n(bytes, kernel.parameter_bytes, work.parameters.begin());
  }
  work.pinned = world_.is_checking_ ? world_.pinned_digest(kernel, parameters) : 0;
  world_.queued();
  return {};
}

Result<Event> SimDevice::record(Stream stream) noexcept {
  std::uint32_t const line = world_.line_of(*this, stream);
  std::uint32_t const number = world_.lines_[line].recorded++;
  world_.enqueue(line, Kind::kRecord).event_number = number;
  world_.queued();
  return Event{stream, number};
}

Status SimDevice::wait(Stream stream, Event event) noexcept {
  std::uint32_t const event_line = world_.line_of(*this, event.stream);
  SimWorld::Work& work = world_.enqueue(world_.line_of(*this, stream), Kind::kWait);
  work.event_line = event_line;
  work.event_number = event.number;
  world_.queued();
  return {};
}

Result<bool> SimDevice::is_done(Event event) noexcept {
  std::uint32_t const line = world_.line_of(*this, event.stream);
  world_.run_some();  // who asks again and again must see it come
  bool const done = world_.is_done(line, event.number);
  if (done) {
    world_.see(world_.lines_[line].events[event.number], line, event.number);
  }
  return done;
}

Status SimDevice::await(Event event) noexcept {
  world_.await(world_.line_of(*this, event.stream), event.number);
  return {};
}

Status SimDevice::synchronize(Stream stream) noexcept {
  world_.drain(world_.line_of(*this, stream));
  return {};
}

Status SimDevice::host_read(void* destination,
                            std::byte const* source,
                            std::uint64_t bytes,
                            Stream stream) noexcept {
  if (world_.is_peeking_) {
    return inner_.host_read(destination, source, bytes, stream);
  }
  world_.drain(world_.line_of(*this, stream));
  if (world_.is_checking_) {
    world_.note_host_read(source, bytes);
  }
  return inner_.host_read(destination, source, bytes, stream);
}

Status SimDevice::host_write(std::byte* destination,
                             void const* source,
                             std::uint64_t bytes,
                             Stream stream) noexcept {
  if (bytes == 0) {
    return {};
  }
  auto const* const from = static_cast<std::byte const*>(source);
  SimWorld::Work& work = world_.enqueue(world_.line_of(*this, stream), Kind::kCopy);
  work.bounce.assign(from, from + bytes);
  work.copy = {destination, work.bounce.data(), bytes};
  world_.queued();
  return {};
}

void SimDevice::look(std::span<ByteRange const> ranges, Stream stream) {
  if (ranges.empty() || !world_.is_checking_) {
    return;
  }
  std::uint32_t const line = world_.line_of(*this, stream);
  auto const* const bytes = reinterpret_cast<std::byte const*>(ranges.data());
  world_.enqueue(line, Kind::kLook).bounce.assign(bytes, bytes + ranges.size_bytes());
  world_.run_looks(line);
}

std::string describe(SimWorld const& world, Conflict const& conflict) {
  auto const side = [&](WorkNote const& note, bool writes) {
    return name_of(note) + " on " + world.name_of_line(note.line) +
           (writes ? ", which writes" : ", which reads");
  };
  return side(conflict.first, conflict.first_writes) + ", and " +
         side(conflict.second, conflict.second_writes) +
         " the same bytes, are not ordered: nothing on " +
         world.name_of_line(conflict.second.line) + " waits for " +
         world.name_of_line(conflict.first.line) + " between them";
}

}  // namespace holdfast::model
