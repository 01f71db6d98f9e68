// SPDX-License-Identifier: Apache-2.0
// Memory in which an engine puts what its kernels read later: taken piece by piece, and written
// again only when all of it is taken back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <holdfast/device.hpp>
#include <span>

namespace holdfast::model {

/// Grows when it is empty; never while a piece is taken.
class Scratch {
 public:
  /// Pieces begin at multiples of it, in bytes.
  static constexpr std::uint64_t kUnit = 16;

  explicit Scratch(Device& device) noexcept : device_{device} {}
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  ~Scratch() {
    if (memory_.base != nullptr) {
      device_.free(memory_);
    }
  }

  [[nodiscard]] Memory memory() const noexcept { return memory_; }
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return taken_ + bytes <= memory_.bytes;
  }
  /// Makes it so large, when it is not yet. False when there is no memory.
  [[nodiscard]] bool grow(std::uint64_t bytes) noexcept {
    if (bytes <= memory_.bytes) {
      return true;
    }
    auto larger = device_.allocate(bytes, MemoryKind::kDevice);
    if (!larger) {
      return false;
    }
    if (memory_.base != nullptr) {
      device_.free(memory_);
    }
    memory_ = *larger;
    return true;
  }
  void take_back() noexcept { taken_ = 0; }

  /// Room for `count` values. Requires has_room().
  template <typename T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    std::byte* const base = memory_.base + taken_;
    taken_ += (count * sizeof(T) + kUnit - 1) / kUnit * kUnit;
    return reinterpret_cast<T*>(base);
  }
  /// A copy for kernels that run later.
  template <typename T>
  [[nodiscard]] T const* keep(std::span<T const> values) noexcept {
    T* const kept = take<T>(values.size());
    if (!values.empty()) {
      std::memcpy(static_cast<void*>(kept), values.data(), values.size_bytes());
    }
    return kept;
  }

 private:
  Device& device_;
  Memory memory_{};
  std::uint64_t taken_ = 0;
};

}  // namespace holdfast::model
