// SPDX-License-Identifier: Apache-2.0
#include "models/shadow/tape.hpp"

#include <algorithm>

namespace holdfast::model {

void Ledger::remove(std::uint32_t device, Memory memory) {
  std::erase_if(memories_[device], [&](Memory const& known) { return known.base == memory.base; });
}

std::optional<TapePlace> Ledger::find(std::byte const* address) const {
  for (std::uint32_t device = 0; device < memories_.size(); ++device) {
    for (std::uint32_t memory = 0; memory < memories_[device].size(); ++memory) {
      Memory const& known = memories_[device][memory];
      if (address >= known.base && address < known.base + known.bytes) {
        return TapePlace{device, memory, static_cast<std::uint64_t>(address - known.base)};
      }
    }
  }
  return std::nullopt;
}

Memory const* Ledger::at(TapePlace const& place) const {
  auto const& own = memories_[place.device];
  return place.memory < own.size() && place.offset < own[place.memory].bytes ? &own[place.memory]
                                                                             : nullptr;
}

void Tape::add(TapePlace const& place, std::byte const* from, std::uint64_t bytes) {
  pieces_.push_back({place, bytes_.size(), bytes});
  bytes_.insert(bytes_.end(), from, from + bytes);
}

std::optional<std::vector<Tape::Piece>> Tape::next(Kernel const& kernel) {
  if (is_played() || launches_[next_].kernel != &kernel) {
    return std::nullopt;
  }
  std::size_t const first = launches_[next_++].first_piece;
  std::size_t const last = is_played() ? pieces_.size() : launches_[next_].first_piece;
  std::vector<Piece> pieces;
  for (Written const& piece : std::span{pieces_}.subspan(first, last - first)) {
    pieces.push_back({piece.place, {bytes_.data() + piece.first_byte, piece.bytes}});
  }
  return pieces;
}

void Tape::clear() {
  launches_.clear();
  pieces_.clear();
  bytes_.clear();
  next_ = 0;
}

Result<Memory> TapedDevice::allocate(std::uint64_t bytes, MemoryKind kind) noexcept {
  auto memory = inner().allocate(bytes, kind);
  if (memory) {
    ledger_.add(index_, *memory);
  }
  return memory;
}

void TapedDevice::free(Memory memory) noexcept {
  ledger_.remove(index_, memory);
  inner().free(memory);
}

Status TapedDevice::launch(Kernel const& kernel, void const* parameters, Stream stream) noexcept {
  if (is_of_library(kernel)) {
    return inner().launch(kernel, parameters, stream);
  }
  written_.clear();
  kernel.accesses(parameters, *this);  // before it runs: it may change what says where it writes
  Status const launched = inner().launch(kernel, parameters, stream);
  if (launched) {
    tape_.record(kernel);
    for (Range const& range : written_) {
      if (auto const place = ledger_.find(range.base); place) {
        tape_.add(*place, range.base, range.bytes);
      }
    }
  }
  return launched;
}

}  // namespace holdfast::model
