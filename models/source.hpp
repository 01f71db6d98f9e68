// SPDX-License-Identifier: Apache-2.0
// Where generators take their choices from: a seeded generator, or the bytes of a fuzzer.
//
// Integer arithmetic only, so that one seed gives one program on every compiler.
#pragma once

#include <cstdint>
#include <span>

namespace holdfast::model {

/// Mixes two numbers into one; a bijection in `b` for fixed `a`.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t z = a + 0x9E3779B97F4A7C15U * (b + 1);  // splitmix64's increment and finalizer
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// A stream of choices.
class Source {
 public:
  /// Seeded: never ends.
  explicit Source(std::uint64_t seed) noexcept : state_{seed} {}
  /// Bytes: every choice takes one or more; after the last one all choices are 0.
  explicit Source(std::span<std::uint8_t const> bytes) noexcept : bytes_{bytes}, is_bytes_{true} {}

  /// A number in [0, count). Requires count > 0.
  [[nodiscard]] std::uint32_t below(std::uint32_t count) noexcept {
    if (is_bytes_) {
      std::uint32_t value = take_byte();
      if (count > 256) {
        value |= take_byte() << 8U;
      }
      if (count > 65536) {
        value |= take_byte() << 16U;
      }
      return value % count;
    }
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t const drawn = mix(0, state_) >> 32U;
    return static_cast<std::uint32_t>((drawn * count) >> 32U);
  }
  /// True once in `count` times.
  [[nodiscard]] bool one_in(std::uint32_t count) noexcept { return below(count) == 0; }
  /// A number in [first, last].
  [[nodiscard]] std::uint32_t between(std::uint32_t first, std::uint32_t last) noexcept {
    return first + below(last - first + 1);
  }

 private:
  std::uint32_t take_byte() noexcept {
    if (bytes_.empty()) {
      return 0;
    }
    std::uint32_t const byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  std::uint64_t state_ = 0;
  std::span<std::uint8_t const> bytes_;
  bool is_bytes_ = false;
};

}  // namespace holdfast::model
