// SPDX-License-Identifier: Apache-2.0
// What an engine's kernels wrote on the host, to be written again into the memory of other devices.
//
// Both sides allocate in the same order, so that a place is a device, one of its live allocations
// and an offset, whatever the addresses are.
#pragma once

#include <holdfast/device.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/forwarding_device.hpp"

namespace holdfast::model {

/// Where bytes lie on either side.
struct TapePlace {
  std::uint32_t device = 0;
  std::uint32_t memory = 0;  // by order of allocation, freed ones left out
  std::uint64_t offset = 0;
};

/// The live allocations of one side.
class Ledger {
 public:
  explicit Ledger(std::uint32_t devices) : memories_(devices) {}

  void add(std::uint32_t device, Memory memory) { memories_[device].push_back(memory); }
  void remove(std::uint32_t device, Memory memory);
  void clear(std::uint32_t device) { memories_[device].clear(); }
  [[nodiscard]] std::span<Memory const> of(std::uint32_t device) const { return memories_[device]; }
  [[nodiscard]] std::optional<TapePlace> find(std::byte const* address) const;
  /// nullptr when there is no such allocation.
  [[nodiscard]] Memory const* at(TapePlace const& place) const;

 private:
  std::vector<std::vector<Memory>> memories_;
};

/// Launches of one operation, first in, first out.
class Tape {
 public:
  /// Bytes that a launch wrote.
  struct Piece {
    TapePlace place;
    std::span<std::byte const> bytes;
  };

  void record(Kernel const& kernel) { launches_.push_back({&kernel, pieces_.size()}); }
  /// Adds to the launch that was recorded last.
  void add(TapePlace const& place, std::byte const* from, std::uint64_t bytes);
  /// The next launch's pieces, when it was one of this kernel.
  [[nodiscard]] std::optional<std::vector<Piece>> next(Kernel const& kernel);
  [[nodiscard]] bool is_played() const noexcept { return next_ == launches_.size(); }
  void clear();

 private:
  struct Launch {
    Kernel const* kernel;
    std::size_t first_piece;
  };
  struct Written {
    TapePlace place;
    std::size_t first_byte;
    std::size_t bytes;
  };
  std::vector<Launch> launches_;
  std::vector<Written> pieces_;
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;
};

/// Whether the library has device code for it; all others are an engine's.
[[nodiscard]] inline bool is_of_library(Kernel const& kernel) {
  return std::string_view{kernel.name}.starts_with("holdfast.");
}

/// Forwards everything to a device that works at once, and tapes what engines' kernels write.
class TapedDevice final : public ForwardingDevice, private AccessSink {
 public:
  TapedDevice(Tape& tape, Ledger& ledger, Device& inner, std::uint32_t index)
      : ForwardingDevice{inner}, tape_{tape}, ledger_{ledger}, index_{index} {}

  Result<Memory> allocate(std::uint64_t bytes, MemoryKind kind) noexcept override;
  void free(Memory memory) noexcept override;
  Status launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept override;

 private:
  void read(void const* /*base*/, std::uint64_t /*bytes*/) noexcept override {}
  void write(void const* base, std::uint64_t bytes) noexcept override {
    written_.push_back({static_cast<std::byte const*>(base), bytes});
  }

  struct Range {
    std::byte const* base;
    std::uint64_t bytes;
  };
  Tape& tape_;
  Ledger& ledger_;
  std::uint32_t index_;
  std::vector<Range> written_;  // by the launch that is going on
};

}  // namespace holdfast::model
