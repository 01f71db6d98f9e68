// SPDX-License-Identifier: Apache-2.0
// The shadow's devices, and the comparison.
#include "models/shadow/shadow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "models/ops/use_stream.hpp"
#include "models/recorder/recorder.hpp"

namespace holdfast::model {
namespace {

// Before and after device memory lies a guard, which nothing may write.
constexpr std::uint64_t kGuardBytes = 256;
constexpr auto kGuardByte = static_cast<std::byte>(0x6D);

std::uint64_t guard_bytes(MemoryKind kind) {
  return kind == MemoryKind::kDevice ? kGuardBytes : 0;
}

/// With its guards.
Memory guarded(Memory const& memory) {
  std::uint64_t const guard = guard_bytes(memory.kind);
  return {memory.base - guard, memory.bytes + 2 * guard, memory.kind};
}

Error off_the_tape(Kernel const& kernel) {
  return {.code = ErrorCode::kDeviceFailed,
          .text = "the shadow launched what the cache under test did not",
          .subject = kernel.name};
}

}  // namespace

ShadowPool::~ShadowPool() {
  for (One const& one : devices_) {
    for (Memory const& memory : one.spare) {
      one.device->free(guarded(memory));
    }
  }
}

ShadowPool::One& ShadowPool::at(std::uint32_t index) {
  while (devices_.size() <= index) {
    devices_.push_back({open_(static_cast<std::uint32_t>(devices_.size())), {}});
  }
  return devices_[index];
}

ShadowPool& cuda_pool_of_thread() {
  static thread_local ShadowPool pool{[](std::uint32_t index) -> std::unique_ptr<Device> {
    auto const count = cuda_device_count();
    if (!count || *count == 0) {
      throw std::runtime_error("no CUDA device: " +
                               (count ? "there is none" : describe(count.error())));
    }
    auto device = make_cuda_device(index % *count);
    if (!device) {
      throw std::runtime_error("no CUDA device: " + describe(device.error()));
    }
    return std::move(*device);
  }};
  return pool;
}

/// A device on which an engine's kernels are played from the tape.
class ShadowDevice final : public Device {
 public:
  /// `memory` of the index `place` in the ledger; all memory is pinned for an engine's scratch,
  /// which the host writes.
  ShadowDevice(ShadowPool& pool,
               std::uint32_t pool_index,
               std::uint32_t place,
               bool all_pinned,
               Tape& tape,
               Ledger& ledger)
      : pool_{pool},
        pool_index_{pool_index},
        place_{place},
        all_pinned_{all_pinned},
        tape_{tape},
        ledger_{ledger},
        own_{*pool.at(pool_index).device} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override {
    kind = all_pinned_ ? MemoryKind::kPinned : kind;
    auto& spare = pool_.at(pool_index_).spare;
    auto const known = std::find_if(spare.begin(), spare.end(), [&](Memory const& memory) {
      return memory.bytes == bytes && memory.kind == kind;
    });
    Result<Memory> memory = known == spare.end() ? allocate_guarded(bytes, kind) : *known;
    if (!memory) {
      return memory;
    }
    if (known != spare.end()) {
      spare.erase(known);
    }
    if (kind == MemoryKind::kDevice) {
      HOLDFAST_TRY(poison(memory->base, bytes));
    }
    ledger_.add(place_, *memory);
    return memory;
  }
  void free(Memory memory) noexcept override {
    ledger_.remove(place_, memory);
    pool_.at(pool_index_).spare.push_back(memory);
  }
  Status copy(std::span<CopySegment const> segments, Stream stream) noexcept override {
    return noted(own_.copy(segments, stream));
  }
  Status fill(std::span<FillSegment const> segments, Stream stream) noexcept override {
    return noted(own_.fill(segments, stream));
  }
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override {
    if (is_of_library(kernel)) {
      return noted(own_.launch(kernel, parameters, stream));
    }
    auto const pieces = tape_.next(kernel);
    if (!pieces) {
      return off_the_tape(kernel);
    }
    for (Tape::Piece const& piece : *pieces) {
      Memory const* const memory = ledger_.at(piece.place);
      if (memory == nullptr) {
        return off_the_tape(kernel);
      }
      std::byte* const to = memory->base + piece.place.offset;
      if (memory->kind == MemoryKind::kPinned) {
        std::memcpy(to, piece.bytes.data(), piece.bytes.size());  // taken anew, nobody reads it yet
        continue;
      }
      HOLDFAST_TRY(pool_.at(piece.place.device)
                       .device->host_write(to, piece.bytes.data(), piece.bytes.size(), stream));
    }
    return {};
  }
  Result<Event> record(Stream stream) noexcept override { return noted(own_.record(stream)); }
  Status wait(Stream stream, Event event) noexcept override {
    return noted(own_.wait(stream, event));
  }
  Result<bool> is_done(Event event) noexcept override { return noted(own_.is_done(event)); }
  Status await(Event event) noexcept override { return noted(own_.await(event)); }
  Status synchronize(Stream stream) noexcept override { return noted(own_.synchronize(stream)); }
  Status host_read(void* destination,
                   std::byte const* source,
                   std::uint64_t bytes,
                   Stream stream) noexcept override {
    return noted(own_.host_read(destination, source, bytes, stream));
  }
  Status host_write(std::byte* destination,
                    void const* source,
                    std::uint64_t bytes,
                    Stream stream) noexcept override {
    return noted(own_.host_write(destination, source, bytes, stream));
  }

  /// What the device said when it failed first; empty when it never did.
  [[nodiscard]] std::string const& error() const noexcept { return error_; }

  [[nodiscard]] Status poison(std::byte* base, std::uint64_t bytes) noexcept {
    FillSegment const fill{
        .destination = base, .bytes = bytes, .value = static_cast<std::byte>(kPoisonByte)};
    HOLDFAST_TRY(own_.fill({&fill, 1}, Stream{}));
    return own_.synchronize(Stream{});
  }

 private:
  Result<Memory> allocate_guarded(std::uint64_t bytes, MemoryKind kind) noexcept {
    std::uint64_t const guard = guard_bytes(kind);
    auto const all = own_.allocate(bytes + 2 * guard, kind);
    HOLDFAST_TRY(all);
    Memory const memory{all->base + guard, bytes, kind};
    if (guard != 0) {
      FillSegment const guards[] = {{all->base, guard, kGuardByte},
                                    {memory.base + bytes, guard, kGuardByte}};
      HOLDFAST_TRY(own_.fill(guards, Stream{}));
      HOLDFAST_TRY(own_.synchronize(Stream{}));
    }
    return memory;
  }
  template <typename T>
  Result<T> noted(Result<T> result) {
    if (!result && error_.empty()) {
      error_ = describe(result.error());
    }
    return result;
  }

  ShadowPool& pool_;
  std::uint32_t pool_index_;
  std::uint32_t place_;
  bool all_pinned_;
  Tape& tape_;
  Ledger& ledger_;
  Device& own_;
  std::string error_;
};

Shadow::Shadow(Layout const& layout,
               ModelShape const& shape,
               std::uint32_t devices,
               ShadowPool& pool)
    : layout_{layout}, device_count_{devices}, host_{devices + 1}, own_{devices + 1} {
  std::vector<Device*> engine_devices;
  for (std::uint32_t i = 0; i < devices; ++i) {
    devices_.push_back(std::make_unique<ShadowDevice>(pool, i, i, false, tape_, own_));
    engine_devices.push_back(devices_.back().get());
  }
  scratch_ = std::make_unique<ShadowDevice>(pool, 0, devices, true, tape_, own_);
  engine_ = std::make_unique<ToyEngine>(shape, *scratch_, engine_devices);
}

Shadow::~Shadow() = default;

Device& Shadow::tape_device(std::uint32_t index, Device& inner) {
  taped_.push_back(std::make_unique<TapedDevice>(tape_, host_, inner, index));
  return *taped_.back();
}

Device& Shadow::tape_engine(Device& inner) {
  return tape_device(device_count_, inner);
}

void Shadow::start(Model const& model) {
  tape_.clear();
  engine_->settle();
  std::vector<Device*> devices;
  for (auto const& device : devices_) {
    devices.push_back(device.get());
  }
  system_ = std::make_unique<HoldfastSystem>(layout_, devices, *engine_);
  system_->read_prompts_of(model);
  system_->set_observer([this] { settle(); });
  system_->vary_writes();
}

Observation Shadow::run(AnyOp const& op) {
  Observation const answer = std::visit([&](auto const& known) { return known.run(*system_); }, op);
  settle();
  return answer;
}

/// Waits for everything, so that scratch memory may be written again.
void Shadow::settle() {
  for (auto const& device : devices_) {
    for (std::uint32_t stream = 0; stream < kStreamNames; ++stream) {
      static_cast<void>(device->synchronize(Stream{stream}));  // what failed shows as a difference
    }
  }
  engine_->settle();
}

std::string Shadow::error() const {
  for (auto const& device : devices_) {
    if (!device->error().empty()) {
      return device->error();
    }
  }
  return "";
}

std::string Shadow::difference(Inspection const& inspection) {
  if (!tape_.is_played()) {
    return "the cache on the CUDA device launched less";
  }
  tape_.clear();
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    for (std::uint32_t i = 0; i < host_.of(device).size(); ++i) {
      Memory const& here = host_.of(device)[i];
      if (here.kind != MemoryKind::kDevice) {
        continue;
      }
      Memory const& there = own_.of(device)[i];
      Memory const all = guarded(there);
      bytes_.resize(all.bytes);
      if (Status const read =
              devices_[device]->host_read(bytes_.data(), all.base, all.bytes, Stream{});
          !read) {
        return describe(read.error());
      }
      std::byte const* const first = bytes_.data();
      std::byte const* const found = first + kGuardBytes;
      auto const is_guard = [](std::byte value) { return value == kGuardByte; };
      if (!std::all_of(first, found, is_guard) ||
          !std::all_of(found + here.bytes, first + all.bytes, is_guard)) {
        return fmt::format("device {}: memory before or after an allocation was written", device);
      }
      if (std::memcmp(found, here.base, here.bytes) == 0) {
        continue;
      }
      auto const at = static_cast<std::uint64_t>(
          std::mismatch(found, found + here.bytes, here.base).first - found);
      std::string where = fmt::format("byte {} of its records and tables", at);
      for (std::uint32_t plane = 0; plane < inspection.plane_count(); ++plane) {
        PlaneInfo const info = inspection.plane(plane);
        std::byte const* const base =
            inspection.base(plane, device % std::max(inspection.ranks(), 1U));
        if (info.stage == device / std::max(inspection.ranks(), 1U) && here.base + at >= base &&
            here.base + at < base + info.pages * info.page_bytes) {
          auto const in_plane = static_cast<std::uint64_t>(here.base + at - base);
          where = fmt::format("byte {} of page {} of {}",
                              in_plane % info.page_bytes,
                              in_plane / info.page_bytes,
                              info.name);
        }
      }
      return fmt::format("device {}: {} is {:#04x} on the host, {:#04x} on the CUDA device",
                         device,
                         where,
                         std::to_integer<unsigned>(here.base[at]),
                         std::to_integer<unsigned>(found[at]));
    }
  }
  return "";
}

void Shadow::poison(std::byte const* base, std::uint64_t bytes) {
  auto const place = host_.find(base);
  Memory const* const memory = place ? own_.at(*place) : nullptr;
  if (memory != nullptr) {
    static_cast<void>(devices_[place->device]->poison(memory->base + place->offset, bytes));
  }
}

void Shadow::end() {
  settle();
  system_.reset();
  for (std::uint32_t device = 0; device < device_count_; ++device) {
    host_.clear(device);  // the cache under test may be lost
  }
}

}  // namespace holdfast::model
